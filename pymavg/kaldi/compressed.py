"""Kaldi's compressed matrices, read and written.

All have a header without size bytes: smallest value (float32), range (float32), rows, columns (int32). Then
CM  : per column four uint16 (the 0th, 25th, 75th, 100th percentile, in steps of range/65535), and uint8 values, column
      after column, linear between the percentiles with 64, 128 and 63 steps;
CM2 : uint16 values in rows, steps of range/65535;    CM3 : uint8 values in rows, steps of range/255.
Kaldi's compression methods choose among them: 1 CM, but CM2 for 8 rows or fewer; 2 CM; 3 CM2; 5 CM3; and three with a
fixed range, whatever the values are: 4 CM2, whole numbers from -32768; 6 CM3, whole numbers to 255; 7 CM3, 0 to 1.
Source: Kaldi's matrix/compressed-matrix.cc.
"""

import struct

import numpy as np

COMPRESSED = ("CM", "CM2", "CM3")
BLOCK = 4096  # columns decoded together
METHODS = range(1, 8)
FIXED = {4: (-32768.0, 65535.0), 6: (0.0, 255.0), 7: (0.0, 1.0)}  # method -> (smallest value, range)
_HEADER = struct.Struct("<ffii")


def read_compressed(source, kind):
    """Return the float32 matrix (rows, columns) that follows the token `kind` in the ByteSource `source`."""
    low, span, rows, columns = _HEADER.unpack(source.take(_HEADER.size, "a compressed matrix's header"))
    if rows < 0 or columns < 0 or not (np.isfinite(low) and np.isfinite(span)):
        raise source.error(f"found a compressed matrix of {rows} x {columns}, range {span}; the file is damaged")
    low, span = np.float32(low), np.float32(span)
    if kind == "CM":
        percentiles = low + span * np.float32(1 / 65535) * source.array("<u2", (columns, 4), "percentiles")
        return _from_percentiles(source.array(np.uint8, (columns, rows), "bytes"), percentiles.astype(np.float32))
    step = span * np.float32(1 / (65535 if kind == "CM2" else 255))
    codes = source.array("<u2" if kind == "CM2" else np.uint8, (rows, columns), "codes")
    return low + step * codes.astype(np.float32)


def _from_percentiles(codes, percentiles):
    """Map codes (columns, rows) to values (rows, columns), in single precision as Kaldi does.

    Code 0 is the first percentile, 64 the second, 192 the third, 255 the last; between them values are linear.
    """
    if len(codes) > BLOCK:  # the tables of a damaged number of columns must not fill the memory
        blocks = [slice(i, i + BLOCK) for i in range(0, len(codes), BLOCK)]
        return np.hstack([_from_percentiles(codes[block], percentiles[block]) for block in blocks])
    code = np.arange(256, dtype=np.float32)
    tables = np.empty((len(percentiles), 256), np.float32)
    for i, (first, last) in enumerate(((0, 64), (64, 192), (192, 255))):
        low, high = percentiles[:, i, None], percentiles[:, i + 1, None]
        part = slice(first + (i > 0), last + 1)
        tables[:, part] = low + (high - low) * (code[part] - first) * np.float32(1 / (last - first))
    return np.ascontiguousarray(np.take_along_axis(tables, codes, axis=1).T)


def write_compressed(writer, matrix, method=1):
    """Write `matrix` (rows, columns) by one of Kaldi's compression methods, 1 to 7."""
    matrix = np.asarray(matrix, np.float32)
    low, span = FIXED.get(method) or _range(matrix)
    header = _HEADER.pack(low, span, *matrix.shape)
    if matrix.shape[0] > {1: 8, 2: 0}.get(method, np.inf):
        levels, codes = _column_levels(matrix, low, np.float32(span))
        writer.token("CM")
        writer.raw(header + levels.tobytes() + codes.T.tobytes())
    else:
        kind = "CM3" if method >= 5 else "CM2"
        writer.token(kind)
        writer.raw(header + _steps(matrix, low, span, kind).tobytes())


def _range(matrix):
    """Return (smallest value, range) of a matrix."""
    low, high = (float(matrix.min()), float(matrix.max())) if matrix.size else (0.0, 0.0)
    high = high if high > low else low + 1.0 + abs(low)  # Kaldi's way out where all values are equal
    return low, np.float32(high - low)


def _steps(values, low, span, kind="CM2"):
    """Return `values` in steps of span/65535 (CM3: /255) above `low`, as uint16 (uint8), in the precision of Kaldi's.

    The last digit hangs on it: all is single precision but for the sum that rounds.
    """
    last, dtype = (65535, "<u2") if kind == "CM2" else (255, np.uint8)
    part = np.clip((values - np.float32(low)) / np.float32(span), 0, 1)
    return ((part * np.float32(last)).astype(np.float64) + 0.499).astype(dtype)


def _column_levels(matrix, low, span):
    """Return the percentiles (columns, 4) as steps, kept apart by one at least, and the codes (rows, columns)."""
    rows = len(matrix)
    at = [0, rows // 4, 3 * (rows // 4), rows - 1] if rows >= 5 else [min(i, rows - 1) for i in range(4)]
    levels = _steps(np.partition(matrix, at, axis=0)[at].T, low, span).astype(np.int64)
    levels[:, 0] = np.minimum(levels[:, 0], 65532)
    for i, top in ((1, 65533), (2, 65534), (3, 65535)):
        levels[:, i] = np.minimum(np.maximum(levels[:, i], levels[:, i - 1] + 1), top)
    knots = low + span / 65535 * levels.astype(np.float64)
    codes = [np.interp(column, knot, [0, 64, 192, 255]) for column, knot in zip(matrix.T, knots, strict=True)]
    return levels.astype("<u2"), np.floor(np.array(codes).T + 0.5).astype(np.uint8)
