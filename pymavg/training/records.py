"""Reading the JSON-lines log of a training, as progress.Progress writes it."""

import json

from pymavg.errors import PymavgError
from pymavg.files import read_lines


def read_records(path):
    """Return the records of the last training in a log: what came before it was begun anew is left out.

    Parameters
    ----------
    path : str or Path
        Such as exp/log/train.jsonl.

    Returns
    -------
    records : list of dict
        Each with "event" (run, report or epoch) and "time" (seconds since 1970).

    Raises
    ------
    PymavgError
        When the file is missing, or a line that is not the last one is no record.
    """
    lines, records = read_lines(path), []
    for number, line in enumerate(lines, 1):
        try:
            record = json.loads(line)
            record["event"], record["time"] + 0.0
        except (ValueError, TypeError, KeyError):
            if number == len(lines):  # cut off while it was written
                break
            raise PymavgError(f"{path}:{number}: not a record of a training; is this its log?") from None
        if record["event"] == "run" and not record.get("continued"):
            records = []
        records.append(record)
    return records
