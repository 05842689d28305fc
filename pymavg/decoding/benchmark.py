"""How fast the decoder is beside LatticeSimpleDecoder of the package kaldi-decoder, at equal beams on equal input.

The input is generated: a loop over random words, each a chain of states with self-loops, and scores that favour the
states of a random sentence. Both make a lattice; both must find the same words, or there is nothing to compare.
"""

import numpy as np

from pymavg.decoding.decoder import Decoder, DecoderOptions
from pymavg.decoding.paths import best_path
from pymavg.errors import PymavgError
from pymavg.kaldi.fst import Fst, to_kaldifst
from pymavg.nnet.benchmark import Measure, compare

WORDS, PDFS, FRAMES, BEAM, LATTICE_BEAM = 1000, 500, 400, 13.0, 6.0
CONTRAST, SPREAD = 2.0, 1.5  # scores of the right states above the others', and their noise


def word_loop(rng, words, pdfs=PDFS):
    """Return (graph of a word loop whose input label i is pdf i - 1, pdfs of each word)."""
    chains = [rng.integers(0, pdfs, rng.integers(6, 24)) for _ in range(words)]
    rows, state = [], 1
    for word, chain in enumerate(chains, 1):
        cost = float(rng.random() * 4 + 4)
        for k, label in enumerate((chain + 1).tolist()):
            source = 0 if k == 0 else state + k - 1
            rows.append((source, label, word if k == 0 else 0, cost if k == 0 else 0.7, state + k))
            rows.append((state + k, label, 0, 0.7, state + k))
        state += len(chain)
        rows.append((state - 1, 0, 0, 0.7, 0))
    final = np.full(state, np.inf)
    final[0] = 0.0
    return Fst.from_arcs(0, final, *zip(*rows, strict=True)), chains


def scores(rng, chains, frames, pdfs=PDFS):
    """Return scaled log-likelihoods (T, P) float32 of a random sentence in which a state takes 1 to 5 frames."""
    path = []
    while len(path) < frames:
        for pdf in chains[rng.integers(len(chains))]:
            path += [pdf] * int(rng.integers(1, 6))
    found = rng.normal(size=(frames, pdfs)) * SPREAD
    found[np.arange(frames), path[:frames]] += CONTRAST * SPREAD
    return found.astype(np.float32)


def measures(words=WORDS, frames=FRAMES):
    """Yield the Measure of the decoder on a loop of so many words; skipped where kaldi-decoder is not installed."""
    name = "decoder/kaldi-decoder time"
    try:
        import kaldi_decoder
    except ImportError:
        yield Measure(name, None, 1.0, True)
        return
    rng = np.random.default_rng(1)
    graph, chains = word_loop(rng, words)
    matrix = scores(rng, chains, frames)
    options = DecoderOptions(beam=BEAM, lattice_beam=LATTICE_BEAM, min_active=0)
    decoder = Decoder(graph, np.arange(-1, PDFS), options)
    config = kaldi_decoder.LatticeSimpleDecoderConfig(beam=BEAM, lattice_beam=LATTICE_BEAM)
    library_graph = to_kaldifst(graph)

    def ours():
        return decoder.decode(matrix, 1.0)

    def other():
        theirs = kaldi_decoder.LatticeSimpleDecoder(library_graph, config)
        theirs.decode(kaldi_decoder.DecodableCtc(matrix))
        theirs.get_raw_lattice()
        return theirs.get_best_path()[1]

    _check(ours(), other())
    ratio, seconds = compare(ours, other)
    yield Measure(name, 1 / ratio, 1.0, True, frames / seconds)


def _check(lattice, path):
    """Raise where the words of our best path are not the library's."""
    import kaldifst

    found = best_path(lattice, lattice.costs()).words.tolist()
    expected = list(kaldifst.get_linear_symbol_sequence(path)[2])
    if found != expected:
        raise PymavgError(f"the decoder found {found[:5]} …, kaldi-decoder {expected[:5]} …; one of them is wrong")
