"""Reading and writing files so that nothing half-written ever carries a final name."""

import contextlib
import gzip
import io
import os
import zlib
from pathlib import Path

from pymavg.errors import PymavgError


@contextlib.contextmanager
def atomic_open(path, mode="w"):
    """Open a temporary file beside `path`; on a clean exit it takes the name `path`, after an error it is removed.

    Parameters
    ----------
    path : str or Path
        Final name; a name in .gz is compressed on the way. Its directory is made where it is missing.
    mode : {"w", "wb"}
        Text is UTF-8 with plain newlines.

    Raises
    ------
    PymavgError
        When the file cannot be written (disk full, no permission).
    """
    path = Path(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _open(temporary, path.suffix == ".gz", mode) as stream:
            yield stream
        temporary.replace(path)
    except OSError as error:
        reason = error.strerror or error
        raise PymavgError(f"{path}: cannot be written: {reason}; check disk space and permissions") from error
    finally:
        temporary.unlink(missing_ok=True)


def _open(path, compressed, mode):
    text = {} if "b" in mode else {"encoding": "utf-8", "newline": "\n"}
    if compressed:
        return gzip.open(path, mode if "b" in mode else mode + "t", compresslevel=4, **text)
    return open(path, mode, **text)


def decompress(data, path):
    """Return the content of a gzip file `data` (bytes); an error names `path` and how far it can be unpacked."""
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise gzip_error(path, data, error) from error


def gzip_error(path, data, error):
    """Return the PymavgError for a damaged gzip file `data` (bytes): how far it can be unpacked is found out here."""
    unpacked = 0
    try:
        with gzip.open(io.BytesIO(data)) as stream:
            while block := stream.read1(1024):
                unpacked += len(block)
    except (OSError, EOFError, zlib.error):
        pass
    return PymavgError(
        f"{path}: cannot be read: {error}, after byte {unpacked} of what is compressed; it is cut or damaged"
    )


def read_lines(path):
    """Return the lines of a UTF-8 text file, plain or .gz, without their newlines.

    Raises
    ------
    PymavgError
        When the file is missing, not readable, or not UTF-8.
    """
    path = Path(path)
    try:
        with _open(path, path.suffix == ".gz", "r") as stream:
            lines = stream.read().split("\n")
        return lines if lines[-1] else lines[:-1]  # the last line may lack its newline
    except FileNotFoundError:
        raise PymavgError(f"{path}: no such file") from None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        remedy = "convert it, for example: iconv -f latin1 -t utf-8"
        raise PymavgError(f"{path}:{line}: not UTF-8 text (byte {error.object[error.start]:#04x}); {remedy}") from None
    except (OSError, EOFError, zlib.error) as error:
        if path.suffix == ".gz" and path.is_file() and os.access(path, os.R_OK):
            raise gzip_error(path, path.read_bytes(), error) from error
        raise PymavgError(f"{path}: cannot be read: {error}") from error
