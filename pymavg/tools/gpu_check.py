"""Check training on this machine's GPU: right against NumPy, and how fast.

usage: pymavg gpu-check [options]        (under 5 minutes)
 e.g.: pymavg gpu-check --require-gpu true

One line for each check: its largest error beside the allowed one, ok or FAILED; one that fails stops no other. Then
frames/s at the paper's sizes beside the bare matrix products of a step, and beside PyTorch where it is installed. Exit
status 1 when a check failed. Without a GPU it says so and skips, unless --require-gpu is true.
"""

from pymavg.backend import array_module
from pymavg.options import Parser, boolean, log, real


def main(argv):
    """Run the tool."""
    parser = Parser("gpu-check", __doc__)
    parser.add_argument("--require-gpu", type=boolean, default=False, help="no GPU is an error; default false")
    parser.add_argument("--speed", type=boolean, default=True, help="measure speed, too; default true")
    parser.add_argument("--seconds", type=real, default=0.6, help="for each measure of speed; default 0.6")
    args = parser.parse_args(argv)
    xp = array_module("yes" if args.require_gpu else "auto")
    if xp.__name__ == "numpy":
        print("gpu-check\t-\t-\tskipped: no usable GPU", flush=True)
        return 0
    return int(not run(xp, args.speed, args.seconds))


def run(xp, speed, seconds):
    """Print all lines; return whether every check passed."""
    from pymavg.training import gpu_check, gpu_speed

    log(describe(xp))
    good = True
    for result in gpu_check.results(xp):
        print(result.line(), flush=True)
        good &= result.good
    for found in gpu_speed.speeds(xp, seconds) if speed else ():
        print(found.line(), flush=True)
        good &= not found.trouble.startswith("FAILED")
    return good


def describe(xp):
    """Return one line about device, driver and CuPy."""
    runtime = xp.cuda.runtime
    name = runtime.getDeviceProperties(xp.cuda.Device().id)["name"].decode()
    versions = f"driver for CUDA {runtime.driverGetVersion()}, runtime {runtime.runtimeGetVersion()}"
    return f"{name}, {versions}, CuPy {xp.__version__}"
