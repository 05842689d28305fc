"""What a value holds, in few words: sizes, ranges, and whether all numbers are finite."""

import numpy as np

NOT_FINITE = "finite: NO"


class Numbers:
    """Collects shape, range and finiteness of the numbers of an archive, entry after entry."""

    def __init__(self):
        self.count, self.bad, self.first_bad = 0, 0, ""
        self.low, self.high, self.total = np.inf, -np.inf, 0.0

    def add(self, values, where=""):
        """Take in an array; `where` is named if it is the first that is not finite."""
        values = np.asarray(values)
        finite = np.isfinite(values)
        self.count += values.size
        if not finite.all():
            if not self.bad:
                self.first_bad = where or f"place {np.argmin(finite)}"
            self.bad += int(values.size - finite.sum())
            values = values[finite]
        if values.size:
            self.low, self.high = min(self.low, float(values.min())), max(self.high, float(values.max()))
            self.total += float(values.sum(dtype=np.float64))

    def lines(self):
        """Return the lines that tell it."""
        told = []
        if self.count - self.bad:
            mean = self.total / (self.count - self.bad)
            told.append(f"values: {self.low:.6g} to {self.high:.6g}, mean {mean:.6g}")
        where = f", first in {self.first_bad}" if self.first_bad else ""
        told.append(f"{NOT_FINITE}, {self.bad} of {self.count} values are not{where}" if self.bad else "finite: yes")
        return told


def sizes(values):
    """Return '3', or '3 to 7' of the numbers given."""
    low, high = min(values), max(values)
    return f"{low}" if low == high else f"{low} to {high}"


def some(names, most=3):
    """Return 'a b c …' of a list of names."""
    names = list(names)
    return " ".join(map(str, names[:most])) + (" …" if len(names) > most else "")
