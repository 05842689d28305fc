"""egs/digits/run.sh on real recordings, from the folder to the word error rates of its three systems."""

import re
import subprocess
from pathlib import Path

import fsdd

RECIPE = Path(__file__).parents[2] / "egs/digits"
SPEAKERS, TAKES = {"george", "jackson", "lucas"}, range(15)
TEST_WORDS = 150  # takes 0 to 4 of ten digits and three speakers


def run(recordings, directory, *options):
    return subprocess.run(
        [RECIPE / "run.sh", "--quick", "true", "--dir", directory, *options, recordings],
        capture_output=True,
        text=True,
    )


def word_error_rates(output):
    """Return the last lines of a run as {system: (WER in %, words)}."""
    lines = re.findall(r"^(\w+)\t%WER ([\d.]+) \[ \d+ / (\d+),", output, re.MULTILINE)
    return {system: (float(wer), int(words)) for system, wer, words in lines}


def test_from_recordings_to_word_error_rates(shared, tmp_path):
    recordings = fsdd.make(shared("data/fsdd"), tmp_path, SPEAKERS, TAKES)
    made = run(recordings, tmp_path)
    assert made.returncode == 0, made.stderr[-2000:]
    rates = word_error_rates(made.stdout)
    assert list(rates) == ["mono", "tri1", "dnn"]
    for system, (wer, words) in rates.items():
        assert words == TEST_WORDS
        assert wer < 10, (
            system
        )  # of the speakers that it was trained on, in ten words: a working system has a few errors

    again = run(recordings, tmp_path)
    assert again.returncode == 0
    assert again.stdout.count("done before") == 6
    assert word_error_rates(again.stdout) == rates

    other = run(recordings, tmp_path, "--seed", "2")
    assert other.returncode == 1
    assert "was made with other settings" in other.stderr
