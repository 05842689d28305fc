"""The option parser of all tools."""

import pytest

from pymavg.errors import PymavgError
from pymavg.options import Parser, boolean, positive, real, whole


@pytest.fixture
def parser():
    parser = Parser("tool", "Does something.")
    parser.add_argument("--stage", type=whole, default=0)
    parser.add_argument("--rate", type=real, default=0.1)
    parser.add_argument("--use-gpu", type=boolean, default=False)
    parser.add_argument("--nj", type=positive, default=1)
    parser.add_argument("--opts", default="")
    parser.add_argument("--flag", action="store_true")
    parser.add_argument("data")
    parser.add_argument("more", nargs="*")
    return parser


def test_values(parser):
    args = parser.parse_args(
        ["--stage=-3", "--rate", "1e-4", "--use-gpu", "true", "--flag", "--nj", "4", "data", "x", "y"]
    )
    assert (args.stage, args.rate, args.use_gpu, args.flag, args.nj) == (-3, 1e-4, True, True, 4)
    assert (args.data, args.more) == ("data", ["x", "y"])
    assert parser.parse_args(["--opts", "--norm-vars=true", "data"]).opts == "--norm-vars=true"
    assert parser.parse_args(["--", "--odd"]).data == "--odd"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["data", "--stage"], "option --stage must stand before the arguments"),
        (["data", "--stage", "4"], "option --stage must stand before the arguments"),
        (["--stage"], "--stage: needs a value"),
        (["--stage", "abc", "data"], "--stage: needs a whole number, got 'abc'"),
        (["--rate", "nan", "data"], "--rate: needs a number, got 'nan'"),
        (["--rate", "inf", "data"], "--rate: needs a number, got 'inf'"),
        (["--use-gpu", "yes", "data"], "--use-gpu: needs true or false, got 'yes'"),
        (["--nj", "0", "data"], "--nj: needs a whole number of at least 1, got '0'"),
        (["--stge", "3", "data"], "no option --stge; did you mean --stage?"),
        (["--stge=3"], "no option --stge; did you mean --stage?"),
        ([""], "<data> is an empty string"),
        ([], "data"),
    ],
)
def test_mistakes_are_told_in_one_line(parser, arguments, message):
    with pytest.raises(PymavgError) as caught:
        parser.parse_args(arguments)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert str(caught.value).endswith("(see pymavg tool --help)")
