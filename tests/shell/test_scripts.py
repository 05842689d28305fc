"""The contract that every script keeps: usage, options, nothing run from a value. New scripts are found here."""

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCED = {"parse_options.sh"}


def executable_scripts():
    """Return every script a user can call, as (recipe directory, path within it)."""
    found = []
    for folder in ("steps", "utils"):
        found += [("egs/swbd", path.relative_to(ROOT)) for path in (ROOT / folder).rglob("*") if is_script(path)]
    for recipe in (ROOT / "egs").iterdir():
        found += [
            (f"egs/{recipe.name}", path.relative_to(recipe)) for path in recipe.glob("local/*") if is_script(path)
        ]
        found += [(f"egs/{recipe.name}", path.relative_to(recipe)) for path in recipe.glob("run.sh")]
    return sorted(found)


def is_script(path):
    return path.is_file() and path.suffix in (".sh", ".pl") and os.access(path, os.X_OK) and path.name not in SOURCED


SCRIPTS = executable_scripts()
PARSED = [(recipe, path) for recipe, path in SCRIPTS if "parse_options.sh" in (ROOT / recipe / path).read_text()]


def call(script, *arguments, **options):
    recipe, path = script
    command = ["bash", str(path), *arguments]
    return subprocess.run(
        command, cwd=ROOT / recipe, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL, **options
    )


def name_of(script):
    return str(script[1]) if script[0] == "egs/swbd" else "/".join(map(str, script))


def options_in(usage):
    """Return the options that a usage text tells, with their dashes."""
    told = dict.fromkeys(re.findall(r"(?<![\w-])--[a-z][a-z0-9-]*", usage))
    return [option for option in told if option not in ("--help", "--config")]


@pytest.mark.parametrize("script", SCRIPTS, ids=name_of)
def test_help_is_a_usage_and_exits_0(script):
    done = call(script, "--help")
    assert done.returncode == 0, done.stderr
    assert "usage:" in done.stdout.lower()


def test_help_of_networks_tells_the_defaults_of_options_handed_on():
    from pymavg.training.settings import PretrainOptions, TrainOptions

    for step, options in (("train", TrainOptions()), ("pretrain_dbn", PretrainOptions())):
        told = call(("egs/swbd", f"steps/nnet/{step}.sh"), "--help").stdout
        for name in ("splice", "minibatch_size", "lr_scaling", "average_period", "seed"):
            assert f"--{name.replace('_', '-')} {getattr(options, name)} " in told.replace("\n", " ")
        assert "--cmvn-opts TEXT" in told and "--restart false" in told


def test_one_script_under_two_names_tells_of_what_it_is_called_by():
    mmi, mpe = (call(("egs/swbd", f"steps/nnet/train_{name}.sh"), "--help").stdout for name in ("mmi", "mpe"))
    assert "train_mmi.sh --num-workers 4" in mmi and "exp/dnn_mmi" in mmi and "smbr" not in mmi
    assert "train_mpe.sh --num-workers 4" in mpe and "exp/dnn_smbr" in mpe and "--do-smbr true" in mpe


@pytest.mark.parametrize(
    "script", [s for s in SCRIPTS if s[1].name not in ("slurm.pl", "queue.pl", "run.pl")], ids=name_of
)
def test_unknown_options_and_empty_arguments_are_refused(script):
    done = call(script, "--no-such-option", "3", "a", "b")
    assert done.returncode != 0
    assert "--no-such-option" in done.stderr
    if script[1].name != "run.sh":  # run.sh of swbd takes no arguments
        done = call(script, "", "b", "c")
        assert done.returncode != 0
        assert done.stderr.strip()


@pytest.mark.parametrize("script", PARSED, ids=name_of)
def test_options_need_values_and_stand_before_arguments(script):
    options = options_in(call(script, "--help").stdout)
    if not options:
        pytest.skip("has no options")
    done = call(script, options[0])
    assert done.returncode != 0
    assert f"{options[0]} needs a value" in done.stderr
    done = call(script, "somewhere", options[0], "4")
    assert done.returncode != 0
    assert f"option {options[0]} must stand before the arguments" in done.stderr


def source_of(script):
    """Return the text of a script and of the parts of steps that it sources."""
    text = (ROOT / script[0] / script[1]).read_text()
    parts = re.findall(r'^\. "\$\(dirname "\$0"\)/(gmm/\w+\.sh)"', text, re.MULTILINE)
    return text + "".join((ROOT / "steps" / part).read_text() for part in parts)


@pytest.mark.parametrize("script", PARSED, ids=name_of)
def test_usage_tells_only_options_that_exist(script):
    usage = call(script, "--help").stdout
    source = source_of(script)
    for option in options_in(usage):
        variable = option[2:].replace("-", "_")
        assert re.search(rf"(^|\s){variable}=", source, re.MULTILINE) or "declare" in source, option


@pytest.mark.parametrize("script", PARSED, ids=name_of)
def test_values_are_never_run(script, tmp_path):
    """All options that take text get it in one call; that the last one is refused shows that all were parsed."""
    mark = tmp_path / "run"
    value = f"$(touch {mark})`touch {mark}`; touch {mark}; x[$(touch {mark})]"
    source = source_of(script)
    typed = {name.replace("_", "-") for name in re.findall(r"\b([a-z_0-9]+)=(?:[-+.0-9e]+|true|false)(?!\S)", source)}
    typed |= {"nj", "num-workers"}
    texts = [option for option in options_in(call(script, "--help").stdout) if option[2:] not in typed]
    done = call(script, *[word for option in texts for word in (option, value)], "--no-such-option", "1")
    assert "no option --no-such-option" in done.stderr
    assert not mark.exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--stage", "99"], "--stage 99 --stop-stage 15: a stage of 0 to 15 expected"),
        (["--stage", "5", "--stop-stage", "2"], "--stage 5 --stop-stage 2: a stage of 0 to 15 expected"),
        (["--corpus", "ldc"], "--corpus ldc needs --swbd DIR"),
        (["--corpus", "ldc", "--swbd", "d", "--eval2000", "d"], "--eval2000 'd': two directories expected"),
        (["--conf", "none.conf"], "--conf none.conf: no such file"),
        (["--num-workers", "0"], "--num-workers needs a whole number of at least 1, got '0'"),
        (["--use-gpu", "maybe"], "--use-gpu maybe: expected auto, yes or no"),
        (["--full-gmm", "maybe"], "--full-gmm maybe: expected true or false"),
    ],
)
def test_the_recipe_refuses_mistakes_before_any_work(arguments, message, tmp_path):
    done = call(("egs/swbd", "run.sh"), "--dir", str(tmp_path / "w"), *arguments)
    assert done.returncode == 1 and message in done.stderr
    assert not (tmp_path / "w").exists()


@pytest.mark.parametrize("step", [p for _, p in SCRIPTS if p.parts[0] == "steps"], ids=str)
def test_a_step_outside_of_a_recipe_says_where_to_run_it(step, tmp_path):
    done = subprocess.run([ROOT / step, "a", "b"], cwd=tmp_path, capture_output=True, text=True, timeout=20)
    assert done.returncode == 1
    assert done.stderr.startswith(f"{ROOT / step}: no path.sh in {tmp_path}: run it from a recipe's directory")
    assert done.stderr.count("\n") == 1 and list(tmp_path.iterdir()) == []


def test_scripts_have_the_run_bit():
    for path in (
        *ROOT.glob("steps/**/*.sh"),
        *ROOT.glob("utils/*"),
        *ROOT.glob("egs/*/local/*"),
        *ROOT.glob("egs/*/run.sh"),
    ):
        if path.is_file() and path.read_bytes().startswith(b"#!"):
            assert os.access(path, os.X_OK), path
