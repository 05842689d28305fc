"""egs/swbd/local/stages.sh: a stage is done once, and never passes for one of other settings."""

import subprocess
from pathlib import Path

import pytest

STAGES = Path(__file__).parents[2] / "egs/swbd/local/stages.sh"
SCRIPT = f"""
set -euo pipefail
stage=0 stop_stage=15 dir=. corpus=mini swbd= eval2000= mini_hours= num_workers=2 seed=1 dnn_depth=3 dnn_dim=64
dbn_conf=dbn.conf dnn_conf=dnn.conf decode_opts=(--beam 10.0)
refuse() {{ echo "run.sh: $1" >&2; exit 1; }}
eval "$@"
. "{STAGES}"
for n in 0 11 12 14; do
  if stage "$n" title; then finish; fi
done
"""


@pytest.fixture
def recipe(tmp_path):
    (tmp_path / "dbn.conf").write_text("rbm_iter=2 # twice\n")
    (tmp_path / "dnn.conf").write_text("epochs=6\nlearn_rate=0.006\n")

    def call(settings=""):
        command = ["bash", "-c", SCRIPT, "run.sh", settings]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=20)
        ran = [line.split()[1] for line in done.stdout.splitlines() if " starts " in line]
        return done, ran

    done, ran = call()
    assert (done.returncode, ran) == (0, ["0", "11", "12", "14"]), done.stderr
    return call


@pytest.mark.parametrize("settings", ["", "use_gpu=no", "swbd=", "stage=12"])
def test_whole_stages_are_skipped(recipe, tmp_path, settings):
    (tmp_path / "dbn.conf").write_text("# another remark\nrbm_iter=2\n")
    done, ran = recipe(settings)
    assert (done.returncode, ran) == (0, []), done.stderr


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("mini_hours=0.5", "stage 0 (title) was made with other settings (was mini_hours=, now mini_hours=0.5)"),
        ("num_workers=4", "stage 11 (title) was made with other settings (was num_workers=2, now num_workers=4)"),
        ("seed=2 stage=12", "stage 12 (title) was made with other settings (was seed=1, now seed=2)"),
        ("decode_opts=(--beam 9)", "(was decode_opts=--beam 10.0, now decode_opts=--beam 9)"),
    ],
)
def test_other_options_are_refused(recipe, settings, message):
    done, ran = recipe(settings)
    assert (done.returncode, ran) == (1, [])
    assert message in done.stderr and "give the old ones or another --dir" in done.stderr


def test_an_edited_conf_is_refused_with_the_remedy(recipe, tmp_path):
    (tmp_path / "dnn.conf").write_text("epochs=8\nlearn_rate=0.006\n")
    done, ran = recipe()
    assert (done.returncode, ran) == (1, [])
    assert "stage 12 (title) was made with other settings (was epochs=6, now epochs=8)" in done.stderr
    assert done.stderr.endswith("remove what is old: rm -r ./exp/.done/12 ./exp/dnn\n")
    (tmp_path / "exp/.done/12").unlink()
    assert recipe()[1] == ["12", "14"]  # the later ones are stale


def test_settings_of_a_later_stage_are_looked_at_before_an_earlier_one_runs(recipe, tmp_path):
    (tmp_path / "exp/.done/11").unlink()
    done, ran = recipe("decode_opts=(--beam 9)")
    assert (done.returncode, ran) == (1, [])
    assert "stage 14 was made with other settings" in done.stderr
    assert (tmp_path / "exp/.done/12").exists()
    assert recipe("stop_stage=11 decode_opts=(--beam 9)")[1] == ["11"]
