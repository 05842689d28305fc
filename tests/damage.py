"""Random damage to the files of a Kaldi experiment, under a limit of time and of memory.

    python tests/damage.py --count 2000 --seed 1 ../shared/data/interop ../shared/golden/gmm ../shared/golden/graph

Every damaged file must give one clear error that names it, or be read whole: never an exception of another kind, a
hang, or an allocation beyond the limit. Files are read in a process apart, so that a crash of the interpreter is seen.
"""

import argparse
import gzip
import json
import random
import resource
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

SECONDS = 20  # of computing, for one file
MEMORY = 1 << 30  # bytes of address space beyond what the imports take
KINDS = ("truncate", "flip", "bytes", "size", "insert", "remove")


def damaged(data, kind, rng):
    """Return a damaged copy of `data`."""
    data, at = bytearray(data), rng.randrange(len(data))
    if kind == "truncate":
        return bytes(data[:at])
    if kind == "flip":
        for _ in range(rng.randrange(1, 4)):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    elif kind == "bytes":
        data[at : at + 8] = rng.randbytes(8)
    elif kind == "size":  # a size that is too large, small or negative, in the place of four bytes near the head
        at = rng.randrange(min(len(data), 400))
        data[at : at + 4] = rng.choice([b"\xff\xff\xff\x7f", b"\xff\xff\xff\xff", b"\0\0\0\0", b"\0\0\0\x10"])
    elif kind == "insert":
        data[at:at] = rng.randbytes(rng.randrange(1, 9))
    else:
        del data[at : at + rng.randrange(1, 9)]
    return bytes(data)


def worker():
    """Read the names of files on standard input; for each, print a line of JSON with what came of it."""
    from pymavg.errors import PymavgError
    from pymavg.formats.kinds import describe

    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
    for line in sys.stdin:
        path = line.rstrip("\n")
        signal.setitimer(signal.ITIMER_PROF, SECONDS)  # ends the process: seen by the parent
        try:
            outcome = ["read", describe(path)[0]]
        except PymavgError as error:
            outcome = ["refused", str(error)]
        except BaseException as error:  # noqa: BLE001
            outcome = ["exception", repr(error)]
        signal.setitimer(signal.ITIMER_PROF, 0)
        print(json.dumps(outcome), flush=True)


def start():
    """Start a worker."""
    return subprocess.Popen(
        [sys.executable, __file__, "--worker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def try_all(files, count, seed):
    """Damage `count` files, chosen from `files`; yield (file, kind of damage, seed, outcome, message)."""
    process = start()
    with tempfile.TemporaryDirectory() as folder:
        for number in range(count):
            rng = random.Random(f"{seed} {number}")
            source, kind = rng.choice(files), rng.choice(KINDS)
            data = source.read_bytes()
            inner = data[:2] == b"\x1f\x8b" and rng.random() < 0.7  # damage what is compressed, and not its hull
            bad = damaged(gzip.decompress(data) if inner else data, kind, rng)
            path = Path(folder, source.name)
            path.write_bytes(gzip.compress(bad, 1) if inner else bad)
            process.stdin.write(f"{path}\n")
            process.stdin.flush()
            answer = process.stdout.readline()
            if not answer:
                yield source, kind, number, "crash", f"exit status {process.wait()}"
                process = start()
                continue
            outcome, message = json.loads(answer)
            if outcome == "refused" and path.name not in message:
                outcome = "unnamed"
            yield source, kind, number, outcome, message
    process.stdin.close()
    process.wait()


def main():
    """Run by hand."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--worker", action="store_true")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("folders", nargs="*")
    args = parser.parse_args()
    if args.worker:
        worker()
        return 0
    files = sorted(p for folder in args.folders for p in Path(folder).rglob("*") if p.is_file() and p.stat().st_size)
    outcomes = {}
    for source, kind, number, outcome, message in try_all(files, args.count, args.seed):
        outcomes[outcome] = outcomes.get(outcome, 0) + 1
        if outcome not in ("read", "refused"):
            print(f"{outcome}: {source}, {kind} (seed {args.seed}, number {number}): {message}", flush=True)
    print(f"{args.count} files: " + ", ".join(f"{count} {name}" for name, count in sorted(outcomes.items())))
    return int(bool(outcomes.keys() - {"read", "refused"}))


if __name__ == "__main__":
    sys.exit(main())
