"""Kaldi's compressed matrices, read and written.

All have a header without size bytes: smallest value (float32), range (float32), rows, columns (int32). Then
CM  : per column four uint16 (the 0th, 25th, 75th, 100th percentile, in steps of range/65535), and uint8 values, column
      after column, linear between the percentiles with 64, 128 and 63 steps;
CM2 : uint16 values in rows, steps of range/65535;    CM3 : uint8 values in rows, steps of range/255.
Source: Kaldi's matrix/compressed-matrix.cc.
"""

import struct

import numpy as np

COMPRESSED = ("CM", "CM2", "CM3")
BLOCK = 4096  # columns decoded together
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


def write_compressed(writer, matrix):
    """Write `matrix` (rows, columns) in Kaldi's default form: CM, or CM2 where there are 8 rows or fewer."""
    matrix = np.asarray(matrix, np.float32)
    low, high = (float(matrix.min()), float(matrix.max())) if matrix.size else (0.0, 0.0)
    high = high if high > low else low + 1.0 + abs(low)  # Kaldi's way out where all values are equal
    span = np.float32(high - low)
    header = _HEADER.pack(low, span, *matrix.shape)
    if matrix.shape[0] > 8:
        levels, codes = _column_levels(matrix, low, span)
        writer.token("CM")
        writer.raw(header + levels.tobytes() + codes.T.tobytes())
    else:
        writer.token("CM2")
        writer.raw(header + _steps(matrix, low, span).tobytes())


def _steps(values, low, span):
    """Return `values` in steps of span/65535 above `low`, rounded, as uint16."""
    return np.clip((values - np.float64(low)) / span * 65535 + 0.499, 0, 65535).astype("<u2")


def _column_levels(matrix, low, span):
    """Return the percentiles (columns, 4) as steps, kept apart by one at least, and the codes (rows, columns)."""
    rows = len(matrix)
    at = [0, rows // 4, 3 * (rows // 4), rows - 1]
    levels = _steps(np.partition(matrix, at, axis=0)[at].T, low, span).astype(np.int64)
    levels[:, 0] = np.minimum(levels[:, 0], 65532)
    for i, top in ((1, 65533), (2, 65534), (3, 65535)):
        levels[:, i] = np.minimum(np.maximum(levels[:, i], levels[:, i - 1] + 1), top)
    knots = low + span / 65535 * levels.astype(np.float64)
    codes = [np.interp(column, knot, [0, 64, 192, 255]) for column, knot in zip(matrix.T, knots, strict=True)]
    return levels.astype("<u2"), np.floor(np.array(codes).T + 0.5).astype(np.uint8)
