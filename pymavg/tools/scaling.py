"""Predict how training scales with the number of workers: time, speed-up, efficiency, the averages' share, cost.

usage: pymavg scaling [options]
 e.g.: pymavg scaling --check-paper
       pymavg scaling --frames 92.7e6 --frames-per-second 6071 --parameters 39928422 --network k20-fdr
       pymavg scaling --exp exp/dnn --network 10gbe --average-period 20 --overlap true
       pymavg scaling --exp exp/dnn --target-hours 2 --price 1.5
       pymavg scaling --check-runs "exp/dnn_1 exp/dnn_2 exp/dnn_2_period2"

What is not given is taken from --exp, else from the paper's training. The model (pymavg/simulate/scaling.py):
  seconds of an epoch on N workers = s F/(N r) + d + F/(N m p) · (wait + copies + reduction), on one: F/r
  F --frames, r --frames-per-second, m --minibatch-size, p --average-period, s --slowdown, d --fixed-seconds
  wait       for the slowest worker of a period: grows with N, by --jitter, and with --uneven shards
  copies     parameters' bytes (4 · --parameters) · --copies / --copy-bandwidth
  reduction  by --algorithm; ring: 2 (N − 1) (--latency + bytes / (N · --bandwidth)); hidden in part by --overlap
  speed-up = seconds on one worker / seconds on N; efficiency = speed-up / N; averages: the part of the time in
  wait, copies and reduction. --network is a preset of the links and the losses, options given beside it win.
--check-paper compares it with the paper's table; the exit status is 1 where a number is more than 10 % off.
--check-runs "ONE SEVERAL OTHER…" takes trainings of 1 worker and of several on the same data: the first gives the
speed, the second the losses, and all are compared with the model. A first one of several workers gives both.
"""

from dataclasses import replace

from pymavg.errors import PymavgError
from pymavg.options import Parser, boolean, positive, real
from pymavg.simulate import measured, paper, planning
from pymavg.simulate.networks import ALL_REDUCE, GB, NETWORKS, network
from pymavg.simulate.scaling import LARGEST, LOSSES, predict
from pymavg.training.combination import AveragingOptions
from pymavg.training.explain import FEWEST_AVERAGES
from pymavg.training.progress import duration

MAY_BE_ZERO = ("latency", "copies", "fixed_seconds", "jitter", "uneven", "price")
OPTION = {"parameter_bytes": "parameters", "minibatch": "minibatch_size", "period": "average_period"}


def main(argv):
    """Run the tool."""
    parser = _parser()
    args = parser.parse_args(argv)
    if args.check_paper:
        return check_paper()
    if args.check_runs:
        return check_runs(args.check_runs.split())
    training = _training(args)
    args.network = args.network or ("10gbe" if args.exp else "k20-fdr")
    net, loss = _network(args), _loss(args)
    _replaced(None, {"target_hours": args.target_hours, "price": args.price})
    AveragingOptions(reduce_type=args.reduce_type, overlap=args.overlap).check(2)
    if args.target_hours is not None:
        return target(training, net, loss, args)
    return table(training, net, loss, args)


def _parser():
    parser = Parser("scaling", __doc__)
    add = parser.add_argument
    add("--exp", help="experiment directory: frames/s of one worker, frames, parameters and settings from its log")
    add("--frames", type=real, help="frames of an epoch, all workers together")
    add("--frames-per-second", type=real, help="of one worker alone")
    add("--parameters", type=real, help="of the network, 4 bytes each")
    add("--minibatch-size", type=positive, help="frames (default 1024)")
    add("--average-period", type=positive, help="minibatches between two averages (default 10)")
    add("--reduce-type", default="allreduce", help="as of pymavg train (default allreduce)")
    add("--overlap", type=boolean, default=False, help="as of pymavg train; the table shows both (default false)")
    add("--network", help=f"{', '.join(NETWORKS)} (default k20-fdr, the paper's; with --exp 10gbe)")
    add("--algorithm", help=f"of the all-reduce: {', '.join(ALL_REDUCE)} (default ring)")
    add("--latency", type=real, help="seconds of a message, in place of the network's")
    add("--bandwidth", type=real, help="GB/s of a node in one direction, in place of the network's")
    add("--copies", type=int, help="passes between device and host memory for an average: 2, or 0 for none")
    add("--copy-bandwidth", type=real, help="GB/s of such a pass")
    add("--slowdown", type=real, help="time for a frame of one worker among many, beside one alone")
    add("--fixed-seconds", type=real, help="of an epoch on several workers")
    add("--jitter", type=real, help="standard deviation of the time of a minibatch, relative")
    add("--uneven", type=real, help="largest shard by the mean one, minus 1")
    add("--epochs", type=positive, default=15, help="default 15")
    add("--target-hours", type=real, help="tell the workers, period and cost that a training in this time needs")
    add("--price", type=real, help="of a worker for an hour")
    add("--check-paper", action="store_true", help="compare with the paper's table")
    add("--check-runs", help="experiment directories: 1 worker, several, others")
    return parser


def _training(args):
    training = paper.TRAINING
    if args.exp:
        run = measured.read_measured(args.exp)
        training = measured.alone(run).training
    given = {
        "frames": args.frames,
        "frames_per_second": args.frames_per_second,
        "parameter_bytes": _times(args.parameters, 4),
        "minibatch": args.minibatch_size,
        "period": args.average_period,
    }
    return _replaced(training, given)


def _network(args):
    if args.algorithm and args.algorithm not in ALL_REDUCE:
        raise PymavgError(f"--algorithm {args.algorithm}: expected one of {', '.join(ALL_REDUCE)}")
    given = {
        "latency": args.latency,
        "bandwidth": _times(args.bandwidth, GB),
        "copies": args.copies,
        "copy_bandwidth": _times(args.copy_bandwidth, GB),
        "algorithm": args.algorithm,
    }
    return _replaced(network(args.network), given)


def _loss(args):
    names = ("slowdown", "fixed_seconds", "jitter", "uneven")
    return _replaced(LOSSES[args.network], {name: getattr(args, name) for name in names})


def _replaced(values, given):
    """Return the dataclass instance `values` (None: no more than a check) with what is given in place of its own."""
    for name, value in given.items():
        least = "0 or more" if name in MAY_BE_ZERO else "more than 0"
        if isinstance(value, int | float) and (value < 0 or value == 0 and name not in MAY_BE_ZERO):
            raise PymavgError(f"--{OPTION.get(name, name).replace('_', '-')} {value:g}: expected {least}")
    given = {name: value for name, value in given.items() if value is not None}
    return values and replace(values, **given)


def _times(value, unit):
    return None if value is None else value * unit


def _clock(seconds):
    return f"{seconds:.2f} s" if seconds < 60 else duration(seconds)


def table(training, net, loss, args):
    """Print a line for each number of workers."""
    print(
        f"# {training.frames:,.0f} frames an epoch, {training.frames_per_second:,.0f} frames/s on one worker, "
        f"{training.parameter_bytes / 1e6:.1f} MB of parameters, an average every {training.period:g} minibatches of "
        f"{training.minibatch}; {args.reduce_type}, {args.network}"
    )
    print(f"{'workers':>7} {'epoch':>10} {'speed-up':>9} {'efficiency':>10} {'averages':>9}  {'with overlap':>22}")
    for workers in [2**k for k in range(LARGEST.bit_length())]:
        plain, hidden = (predict(training, net, loss, workers, args.reduce_type, overlap) for overlap in (False, True))
        other = f"{_clock(hidden.seconds):>12} {hidden.speed_up:>9.2f}" if args.reduce_type == "allreduce" else ""
        print(
            f"{workers:>7} {_clock(plain.seconds):>10} {plain.speed_up:>9.2f} {plain.efficiency:>10.1%} "
            f"{plain.share:>9.1%}  {other}"
        )


def target(training, net, loss, args):
    """Print the workers, period and cost that a training in --target-hours needs."""
    found = planning.plans(training, net, loss, args.epochs, args.target_hours, args.reduce_type, args.overlap)
    print(f"# {args.epochs} epochs within {args.target_hours:g} hours; {args.reduce_type}, {args.network}")
    print(f"{'period':>7} {'workers':>7} {'hours':>7} {'worker-hours':>12} {'averages an epoch':>18} {'cost':>10}")
    for plan in found:
        cost = "-" if args.price is None else f"{args.price * plan.worker_hours:.2f}"
        averages = "-" if plan.workers == 1 else f"{plan.averages:.0f}"
        numbers = f"{plan.period:>7g} {plan.workers:>7} {plan.hours:>7.2f} {plan.worker_hours:>12.1f}"
        print(f"{numbers} {averages:>18} {cost:>10}")
    print("# The first line is the answer; a longer period costs accuracy (docs/model-averaging.md).")
    if found[0].workers > 1 and found[0].averages < FEWEST_AVERAGES:
        print(
            f"# Fewer than {FEWEST_AVERAGES} averages an epoch: expect worse models; shorten the period or wait longer."
        )


def check_paper():
    """Print the paper's numbers beside the model's; return 1 where one is more than 10 % off."""
    rows = paper.check()
    fitted = f"fitted on N <= {paper.FITTED_ON}"
    print(f"{'':<34} {'N':>3} {'paper':>7} {'preset':>8} {'error':>7} {fitted:>16} {'error':>7}")
    for row in rows:
        numbers = (
            f"{row.paper:>7.2f} {row.preset:>8.2f} {row.errors[0]:>+7.1%} {row.fitted:>16.2f} {row.errors[1]:>+7.1%}"
        )
        print(f"{row.what:<34} {row.workers:>3} {numbers}")
    return _verdict(max(abs(e) for row in rows for e in row.errors))


def check_runs(names):
    """Print measured seconds of an epoch beside the model's; return 1 where one is more than 10 % off."""
    if len(names) < 2:
        raise PymavgError('--check-runs: expected "ONE SEVERAL OTHER…", at least two experiment directories')
    one, *runs = map(measured.read_measured, names)
    if one.workers > 1:
        print("# no run of one worker: its speed is that of reading and computing in the first run")
        one, runs = measured.alone(one), [one, *runs]
    net, loss = measured.calibrate(one, runs[0])
    print(
        f"# from {runs[0].exp}: slowdown {loss.slowdown:.3f}, jitter {loss.jitter:.3f}, "
        f"fixed {loss.fixed_seconds:.2f} s, {net.bandwidth / GB:.2f} GB/s"
    )
    print(
        f"{'workers':>7} {'period':>7} {'measured':>9} {'model':>9} {'error':>7} {'share':>7} {'model':>7}  experiment"
    )
    worst = 0.0
    for run, model in measured.beside(one, runs, net, loss):
        error = model.seconds / run.seconds - 1
        worst = max(worst, abs(error))
        share = sum(run.kinds[k] for k in ("wait", "copy", "reduce")) / run.seconds
        print(
            f"{run.workers:>7} {run.training.period:>7g} {run.seconds:>8.2f}s {model.seconds:>8.2f}s {error:>+7.1%} "
            f"{share:>7.1%} {model.share:>7.1%}  {run.exp}"
        )
    return _verdict(worst)


def _verdict(worst):
    ok = worst <= paper.TOLERANCE
    print(f"# largest error {worst:.1%}: {'within' if ok else 'more than'} {paper.TOLERANCE:.0%}")
    return 0 if ok else 1
