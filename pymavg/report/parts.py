"""A report file that several commands write, each its own part: the others' parts stay as they are."""

import re
from pathlib import Path

from pymavg.files import atomic_open

MARK = "<!-- part {}: written by a script, see its last lines -->"
ORDER = ("wer", "paper")


def write_part(path, name, text):
    """Replace the part `name` of the file, or add it; a file without marks is the part `wer`.

    Parameters
    ----------
    path : str or Path
    name : str
        One of ORDER, which is the order within the file.
    text : str
    """
    parts = read_parts(path)
    parts[name] = text.strip("\n") + "\n"
    with atomic_open(path) as stream:
        stream.write("\n".join(f"{MARK.format(n)}\n{parts[n]}" for n in ORDER if n in parts))


def read_parts(path):
    """Return {name: text} of a report file; {} where there is none."""
    if not Path(path).exists():
        return {}
    text = Path(path).read_text(encoding="utf-8")
    pieces = re.split("^" + re.escape(MARK).replace(r"\{\}", "{}").format(r"(\w+)") + "\n", text, flags=re.MULTILINE)
    parts = {"wer": pieces[0]} if pieces[0].strip() else {}
    parts.update(zip(pieces[1::2], pieces[2::2], strict=True))
    return {name: part.strip("\n") + "\n" for name, part in parts.items()}
