"""Grammars of Kaldi's formats, each told once: what is read is written again where a writer is given.

So `pymavg info` and `pymavg copy` read a format in one way, and a copy in the same form is equal to the byte.
Sources, by format: Kaldi's hmm/posterior.cc, tree/cluster-utils.cc and build-tree-questions.cc (questions),
tree/build-tree-utils.cc and clusterable-classes.cc (tree statistics), gmm/mle-am-diag-gmm.cc and mle-diag-gmm.cc,
transform/mllt.cc, fstext/context-fst.cc (ilabels).
"""

import struct

import numpy as np

from pymavg.kaldi.topology import read_count


class Copier:
    """Reads elements from a KaldiReader and hands each on to a KaldiWriter, in the precision it had.

    Parameters
    ----------
    reader : KaldiReader
    writer : KaldiWriter, optional
    """

    def __init__(self, reader, writer=None):
        self.reader, self.writer = reader, writer

    def _hand_on(self, method, value, *more):
        if self.writer is not None:
            getattr(self.writer, method)(value, *more)
        return value

    def token(self, *expected):
        """Copy a token, which must be one of those expected, and return it."""
        return self._hand_on("token", self.reader.expect(*expected))

    def newline(self):
        """Write the newline that Kaldi puts here in text."""
        self._hand_on("text", "\n")

    def int32(self):
        """Copy an integer."""
        return self._hand_on("int32", self.reader.int32())

    def count(self):
        """Copy the number of something; a damaged one is an error."""
        return self._hand_on("int32", read_count(self.reader))

    def uint32(self):
        """Copy an unsigned integer."""
        return self._hand_on("uint32", self.reader.uint32())

    def uint16(self):
        """Copy an unsigned integer of two bytes."""
        if not self.reader.binary:
            value = self.reader.int32()
        else:
            mark, value = struct.unpack("<bH", self.reader.source.take(3, "a number"))
            if mark != -2:
                raise self.reader.error(f"an unsigned number of two bytes expected, found the size byte {mark}")
        if self.writer is not None and self.writer.binary:
            self.writer.raw(struct.pack("<bH", -2, value))
        return value if self.writer is None or self.writer.binary else self._hand_on("text", f"{value} ")

    def flag(self):
        """Copy a truth value, the letter T or F."""
        letter = self.reader.source.take(1, "T or F") if self.reader.binary else self.reader.token().encode()
        if letter not in (b"T", b"F"):
            raise self.reader.error(f"T or F expected, found {letter!r}; the file is damaged")
        if self.writer is not None:
            self.writer.raw(letter if self.writer.binary else letter + b" ")
        return letter == b"T"

    def number(self):
        """Copy a number in single or double precision."""
        double = self.reader.binary and self.reader.source.starts_with(b"\x08")
        return self._hand_on("float64" if double else "float32", self.reader.float32())

    def int_vector(self):
        """Copy integers laid out by WriteIntegerVector."""
        return self._hand_on("int_vector", self.reader.int_vector())

    def integers(self):
        """Copy integers as in alignments."""
        return self._hand_on("basic_vector", self.reader.basic_vector())

    def vector(self):
        """Copy a vector."""
        value = self.reader.vector(None)
        return self._hand_on("vector", value, value.dtype == np.float64)

    def matrix(self):
        """Copy a matrix; a compressed one is written uncompressed."""
        value = self.reader.matrix(None)
        return self._hand_on("matrix", value, value.dtype == np.float64)

    def triangle(self):
        """Copy the lower triangle of a symmetric matrix: a flat array (n (n + 1) / 2,)."""
        return self._hand_on("triangle", self.reader.triangle())


def posteriors(copier):
    """Copy the posteriors of an utterance: a list of frames, each a list of (class, weight)."""
    frames = _text_posteriors(copier.reader) if not copier.reader.binary else _binary_posteriors(copier.reader)
    writer = copier.writer
    if writer is not None and writer.binary:
        writer.int32(len(frames))
        for frame in frames:
            writer.int32(len(frame))
            for number, weight in frame:
                writer.int32(number)
                writer.float32(weight)
    elif writer is not None:
        words = ("".join(f"{number} {np.float32(weight):.7g} " for number, weight in frame) for frame in frames)
        writer.text("".join(f"[ {frame}] " for frame in words) + "\n")
    return frames


def _binary_posteriors(reader):
    frames = range(read_count(reader))
    return [[(reader.int32(), reader.float32()) for _ in range(read_count(reader))] for _ in frames]


def _text_posteriors(reader):
    """Read `[ class weight … ] [ … ]` of one line."""
    frames = []
    for part in reader.source.line().split(b"]")[:-1]:
        words = part.split()
        try:
            if words[:1] != [b"["]:
                raise ValueError
            frames.append([(int(n), float(w)) for n, w in zip(words[1::2], words[2::2], strict=True)])
        except ValueError:
            raise reader.error("'[ class weight … ]' for each frame expected") from None
    return frames


def number_pairs(copier):
    """Copy pairs of numbers, as the times of a confusion network: float64 (n, 2)."""
    return np.array([(copier.number(), copier.number()) for _ in range(copier.count())], float).reshape(-1, 2)


def ilabels(copier):
    """Copy the context windows that the input labels of CLG stand for: a list of int32 arrays."""
    return [copier.int_vector() for _ in range(copier.count())]


def questions(copier):
    """Copy questions.qst; return the dict key -> list of sets of values."""
    asked = {}
    copier.token("<Questions>")
    while copier.token("<Key>", "</Questions>") == "<Key>":
        key = copier.int32()
        copier.token("<QuestionsForKey>")
        asked[key] = [copier.int_vector() for _ in range(copier.count())]
        copier.token("<RefineClustersOptions>")
        copier.int32()
        copier.int32()
        copier.token("</RefineClustersOptions>")
        copier.token("</QuestionsForKey>")
        copier.newline()
    return asked


def tree_statistics(copier):
    """Copy tree statistics; return a list of (event: dict key -> value, count, float64 (2, D) or None)."""
    stats = []
    copier.token("BTS")
    for _ in range(copier.uint32()):
        copier.newline()
        copier.token("EV")
        event = {copier.int32(): copier.int32() for _ in range(copier.uint32())}
        count, moments = 0.0, None
        if copier.flag():
            copier.token("GCL")
            count, _ = copier.number(), copier.number()
            moments = copier.matrix()
        stats.append((event, count, moments))
    return stats


def gmm_statistics(copier):
    """Copy the statistics of gmm-acc-stats; return (transition counts, occupancies by pdf, log-likelihood, frames)."""
    return copier.vector(), *mixtures(copier)


def mixtures(copier):
    """Copy what follows the counts of transition-ids; return (occupancies by pdf, log-likelihood, frames)."""
    copier.token("<NUMPDFS>")
    occupancies = [_mixture_statistics(copier) for _ in range(copier.count())]
    likelihood = frames = 0.0
    if not copier.reader.at_end:
        copier.token("<total_like>")
        likelihood = copier.number()
        copier.token("<total_frames>")
        frames = copier.number()
    return occupancies, likelihood, frames


def _mixture_statistics(copier):
    copier.token("<GMMACCS>")
    copier.token("<VECSIZE>")
    dim = copier.int32()
    copier.token("<NUMCOMPONENTS>")
    size = copier.int32()
    copier.token("<FLAGS>")
    copier.uint16()
    copier.token("<OCCUPANCY>")
    occupancy = copier.vector()
    copier.token("<MEANACCS>")
    means = copier.matrix()
    copier.token("<DIAGVARACCS>")
    variances = copier.matrix()
    copier.token("</GMMACCS>")
    for values, shape in ((occupancy, (size,)), (means, (size, dim)), (variances, (size, dim))):
        if values.size and values.shape != shape:
            raise copier.reader.error(
                f"statistics of {size} Gaussians, {dim} dimensions expected, found {values.shape}"
            )
    return occupancy


def mllt_statistics(copier):
    """Copy the statistics of MLLT; return (count, list of the lower triangles of G)."""
    copier.token("<MlltAccs>")
    beta, dim = copier.number(), copier.count()
    copier.token("<G>")
    triangles = [copier.triangle() for _ in range(dim)]
    copier.token("</MlltAccs>")
    return beta, triangles
