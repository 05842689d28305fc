"""The lines a user reads while it trains."""

import numpy as np
import pytest

from pymavg.training.learners import FrameLearner, RbmLearner
from pymavg.training.progress import KINDS, Progress


@pytest.mark.parametrize(
    ("learner", "expected"),
    [(FrameLearner, "loss 0.5000, accuracy 25.00 %, "), (RbmLearner, "mean squared error 0.5000, ")],
)
def test_a_report_tells_what_the_learner_measures(tmp_path, capsys, learner, expected):
    progress = Progress(tmp_path / "log.jsonl", seconds=0)
    progress.begin("part 1", 400, 0, learner.told)
    progress.update(100.0, 50.0, 200.0, 200, np.ones((1, len(KINDS))))
    progress.close()
    assert capsys.readouterr().err.startswith(f"part 1: 50%, {expected}")
