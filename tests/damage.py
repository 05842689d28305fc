"""Random damage to the files of a Kaldi experiment, under a limit of time and of memory.

    python tests/damage.py --count 2000 --seed 1 ../shared/data/interop ../shared/golden/gmm ../shared/golden/graph

Every damaged file must give one clear error that names it and the place, or be read whole: finite numbers, in the shape
of the original. Never an exception of another kind, a hang, or an allocation beyond the limit. Files are read in a
process apart, so that a crash of the interpreter is seen.

Two things cannot be told from the file alone, and are let pass: an archive that is cut just between two entries, and a
text without counts (a list, a table, an archive of text) that has a word or line less or another word.
"""

import argparse
import gzip
import json
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

SECONDS = 20  # of computing, for one file
MEMORY = 1 << 30  # bytes of address space beyond what the imports take
PLACE = re.compile(r":\d+\b|\b(byte|line|row|arc|state|place|utterance|id) \S|first in \S|is empty|no samples")
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
    from pymavg.formats.summary import NOT_FINITE

    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
    for line in sys.stdin:
        path = line.rstrip("\n")
        signal.setitimer(signal.ITIMER_PROF, SECONDS)  # ends the process: seen by the parent
        try:
            lines = describe(path)
            bad = [line for line in lines if line.startswith(f"  {NOT_FINITE}")]
            outcome = ["refused", f"{path}: {bad[0]}"] if bad else ["read", lines]
        except PymavgError as error:
            outcome = ["refused", str(error)]
        except BaseException as error:  # noqa: BLE001
            outcome = ["exception", repr(error)]
        signal.setitimer(signal.ITIMER_PROF, 0)
        print(json.dumps(outcome), flush=True)


def shape(lines, path):
    """Return the part of a description that no change of single values may change."""
    title = lines[0].partition(": ")[2]
    if not title.endswith(("(binary)", "(binary, gzip)")) and re.match(r"archive|vector|matrix|FST", title):
        return "text without counts"
    if "(" not in title or title.startswith("script file") or "(ctm)" in title:
        return "text without counts" if path.suffix not in (".int", ".csl") else "list of integers"
    kept = [line for line in lines[1:] if not re.match(r"  (values|keys|finite|sum|double|highest)|.*e frames", line)]
    values = (
        r", weight .*|; highest word.*|, \d+ final.*|(, )?[\d.e+-]+ frames( -.*|, log.*)?$|, frames .*|, .* Hz"
        r"|states, \d+ phones$"
    )
    return [title, *(re.sub(values, "", line) for line in kept)]


class Reader:
    """The process that reads the files."""

    def __init__(self):
        self.start()

    def start(self):
        """Start it."""
        command = [sys.executable, __file__, "--worker"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, path):
        """Return (outcome, message or description) of one file."""
        self.process.stdin.write(f"{path}\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if answer:
            return json.loads(answer)
        status = self.process.wait()
        self.start()
        return "crash", f"exit status {status}"

    def close(self):
        """End it."""
        self.process.stdin.close()
        self.process.wait()


def judged(outcome, told, path, kind, original):
    """Return (outcome, message): an outcome other than `read` and `refused` is a fault."""
    if outcome == "refused":
        if "\n" in told or str(path) not in told:
            return "unnamed", told
        return ("refused" if PLACE.search(told.replace(str(path), "", 1)) else "without a place"), told
    if outcome != "read" or original[0] != "read":
        return outcome, told
    before, after = shape(original[1], path), shape(told, path)
    counts = [re.match(r"archive of (\d+)", title[0]) for title in (before, after)]
    cut = kind == "truncate" and all(counts) and int(counts[1][1]) < int(counts[0][1])  # between two entries
    return ("read" if before == after or cut else "another shape"), f"{before} became {after}"


def try_all(groups, count, seed):
    """Damage `count` files, in turn from each group; yield (file, kind of damage, number, outcome, message)."""
    reader, whole = Reader(), {}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(count):
            rng = random.Random(f"{seed} {number}")
            source, kind = rng.choice(groups[number % len(groups)]), rng.choice(KINDS)
            data = source.read_bytes()
            if source not in whole:
                whole[source] = reader.ask(source)
            inner = data[:2] == b"\x1f\x8b" and rng.random() < 0.7  # damage what is compressed, and not its hull
            bad = damaged(gzip.decompress(data) if inner else data, kind, rng)
            path = Path(folder, source.name)
            path.write_bytes(gzip.compress(bad, 1) if inner else bad)
            yield source, kind, number, *judged(*reader.ask(path), path, kind, whole[source])
    reader.close()


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
    for source, kind, number, outcome, message in try_all([files], args.count, args.seed):
        outcomes[outcome] = outcomes.get(outcome, 0) + 1
        if outcome not in ("read", "refused"):
            print(f"{outcome}: {source}, {kind} (seed {args.seed}, number {number}): {message}", flush=True)
    print(f"{args.count} files: " + ", ".join(f"{count} {name}" for name, count in sorted(outcomes.items())))
    return int(bool(outcomes.keys() - {"read", "refused"}))


if __name__ == "__main__":
    sys.exit(main())
