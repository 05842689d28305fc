# Everything starts here; PYTHON names the interpreter (3.11 or newer) that .venv is made from.
PYTHON ?= python3
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
SCRIPTS = $$(find .ci path.sh cmd.sh egs steps utils -type f \( -name '*.sh' -o -name '*.pl' -o -path '.ci/run' \))

.PHONY: run demo paper test bench gpu-check lint venv doctor clean
.DEFAULT_GOAL := run

run: venv      ## set up, then from the corpus to the word error rate (egs/swbd/run.sh)
	egs/swbd/run.sh

demo: venv     ## the same on a quarter of an hour of speech, in egs/swbd/demo
	egs/swbd/run.sh --mini-hours 0.25 --conf conf/demo.conf --dir demo

paper: venv    ## the paper's ablations in small, on the corpus that `make run` made (about an hour on two cores)
	egs/swbd/local/paper/run.sh

test: venv     ## set up, then all tests, ruff and ShellCheck among them
	. ./path.sh && python -m pytest

bench: venv    ## speed of training beside its matrix products and, where installed, PyTorch (12 minutes, one thread)
	. ./path.sh && OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 pymavg bench

gpu-check: venv ## training on a GPU: right against NumPy, and how fast (under 5 minutes; skips without a GPU)
	. ./path.sh && pymavg gpu-check

lint: venv     ## ruff and ShellCheck
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/shellcheck -x $(SCRIPTS)

venv:          ## .venv with all packages; instant when it is whole
	@utils/setup.sh "$(PYTHON)"

doctor: venv   ## what is there, what is missing, and the remedy
	. ./path.sh && pymavg doctor

clean:         ## remove .venv and caches; data and experiments stay
	rm -rf .venv .cache .pytest_cache .ruff_cache pymavg.egg-info
