import math

import pytest

from pymavg.errors import PymavgError
from pymavg.training.schedules import (
    Exponential,
    Newbob,
    advance,
    begin,
    exponential_rate,
    make_rule,
    warm_up,
)


def run(rule, measures, initial=(4.0, 10.0), rate=0.008):
    """Return [(learning rate used, accepted)] over the epochs until the rule ends it."""
    state, story = begin(rate, *initial), []
    for loss, accuracy in measures:
        used = state.learn_rate
        state, accepted = advance(rule, state, loss, accuracy)
        story.append((used, accepted))
        if state.finished:
            break
    return story, state


def test_newbob_on_loss_as_nnet1_decides():
    losses = [2.0, 1.9, 1.89, 1.95, 1.85, 1.8499]  # gains 50 %, 5 %, 0.5 % (halve), rejected, 2.1 %, 0.005 % (stop)
    story, state = run(Newbob(end_halving_impr=0.0001), [(x, 0.0) for x in losses])
    assert story == [(0.008, True), (0.008, True), (0.008, True), (0.004, False)]
    assert state.finished and state.loss == 1.89
    story, state = run(Newbob(end_halving_impr=0.0001), [(x, 0.0) for x in losses[:3] + losses[4:]])
    assert story == [(0.008, True), (0.008, True), (0.008, True), (0.004, True), (0.002, True)]
    assert state.finished and state.loss == 1.8499


def test_newbob_on_accuracy_uses_percent_points():
    rule = make_rule("newbob", "accuracy", {})
    assert (rule.start_halving_impr, rule.end_halving_impr) == (0.5, 0.1)
    story, state = run(rule, [(9.0, 40.0), (9.0, 40.4), (9.0, 40.6), (1.0, 40.65)])
    assert story == [(0.008, True), (0.008, True), (0.004, True), (0.002, True)]
    assert state.finished


def test_keep_lr_iters_accepts_without_looking():
    story, state = run(Newbob(keep_lr_iters=2), [(5.0, 0), (6.0, 0), (3.0, 0)])
    assert story == [(0.008, True), (0.008, True), (0.008, True)]
    assert not state.halving


def test_min_iters_goes_on_where_it_would_stop():
    worse = [(5.0, 0.0)] * 10
    story, _ = run(Newbob(), worse)
    assert len(story) == 2 and not any(accepted for _, accepted in story)
    story, _ = run(Newbob(min_iters=4), worse)
    assert len(story) == 5 and [accepted for _, accepted in story] == [True] * 4 + [False]


def test_max_iters_ends():
    story, state = run(Newbob(max_iters=3), [(4.0 / (i + 2), 0.0) for i in range(9)])
    assert len(story) == 3 and state.finished


@pytest.mark.parametrize("rule", [Newbob(min_iters=5, keep_lr_iters=5), Exponential(epochs=3)])
def test_nan_is_never_accepted(rule):
    state, accepted = advance(rule, begin(0.1, 4.0, 0.0), math.nan, 0.0)
    assert not accepted and state.loss == 4.0


def test_exponential_reaches_a_hundredth_in_15_epochs():
    story, state = run(Exponential(), [(9.0, 0.0)] * 30, rate=0.32)
    assert len(story) == 15 and all(accepted for _, accepted in story)
    assert story[0][0] == 0.32
    assert story[-1][0] == pytest.approx(0.0032)
    assert story[7][0] == pytest.approx(0.032)
    assert exponential_rate(Exponential(epochs=1), 0.1, 1) == 0.1


def test_warm_up_is_linear():
    assert [warm_up(0.1, 0.9, f, 100) for f in (0, 50, 100, 500)] == pytest.approx([0.1, 0.5, 0.9, 0.9])
    assert warm_up(0.1, 0.9, 0, 0) == 0.9


def test_senseless_rules_are_refused():
    with pytest.raises(PymavgError, match="halving_factor"):
        make_rule("newbob", "loss", {"halving_factor": 1.0})
    with pytest.raises(PymavgError, match="final_factor"):
        make_rule("exponential", "loss", {"final_factor": 0.0})
