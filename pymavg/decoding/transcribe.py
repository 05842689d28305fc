"""Words, times and confidences of plain audio files: no data directory, no speakers known.

Each channel of each file counts as one speaker: its features are normalised by its own mean (and variance, where the
system asks for it). Long recordings are cut at their quietest places. What is exactly silent, as after a noise gate,
gets noise: its log energies are so low that they alone would make the mean.
"""

import json
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from pymavg.data.containers import decode
from pymavg.data.feature_config import KINDS
from pymavg.data.features import FeatureExtractor
from pymavg.data.pipeline import FeaturePipeline
from pymavg.data.pitch import PitchExtractor, WithPitch
from pymavg.data.speaker_cmvn import compute_speaker_stats
from pymavg.decoding.acoustic import GmmAcoustic, NnetAcoustic
from pymavg.decoding.decoder import Decoder
from pymavg.decoding.determinize import determinize
from pymavg.decoding.mbr import mbr_decode
from pymavg.decoding.paths import best_path
from pymavg.decoding.word_times import WordTimer
from pymavg.errors import PymavgError
from pymavg.files import atomic_open
from pymavg.graph.lang import Lang
from pymavg.kaldi.fst import read_fst
from pymavg.kaldi.tables import MatrixWriter
from pymavg.options import log

LONGEST = 30.0  # seconds decoded in one piece
QUIET = 0.2  # seconds over which the energy is averaged to find a place to cut
HOP = 0.01  # seconds between two places


@dataclass
class Word:
    """One word: seconds from the start of the recording, and the probability that it is right."""

    word: str
    start: float
    end: float
    confidence: float


class Transcriber:
    """A finished system ready to transcribe.

    Parameters
    ----------
    exp : str or Path
        Directory of a network (final.nnet) or a GMM (final.mdl).
    graph : str or Path
        Directory with HCLG.fst, words.txt and phones/.
    extractor : FeatureExtractor
    options : DecoderOptions
    acwt : float
        Acoustic scale.
    use_gpu : str
    """

    def __init__(self, exp, graph, extractor, options, acwt, use_gpu="no"):
        self.exp, self.extractor, self.options, self.acwt = exp, extractor, options, acwt
        network = Path(exp, "final.nnet").exists()
        self.acoustic = NnetAcoustic(exp, use_gpu=use_gpu) if network else GmmAcoustic(Path(exp, "final.mdl"))
        self.decoder = Decoder(read_fst(Path(graph, "HCLG.fst")), self.acoustic.transitions.tid_pdf, options)
        self.lang = Lang(graph)
        self.timer = WordTimer(self.acoustic.transitions, self.lang)

    def __call__(self, samples, rate, name):
        """Return the list of Word of one channel, samples float32 (n,).

        Raises
        ------
        PymavgError
            When it is too short for one frame, or features and model do not fit together.
        """
        words = []
        samples = without_digital_silence(samples, rate, name)
        bounds = pieces(samples, rate)
        with tempfile.TemporaryDirectory(prefix="pymavg.") as folder:
            for key, feats in self._features(folder, [samples[a:b] for a, b in bounds], rate, name):
                offset = bounds[int(key[1:])][0] / rate
                words += self._words(self.acoustic.loglikes(feats), offset, f"{name} at {offset:.1f} s")
        return words

    def _features(self, folder, parts, rate, name):
        """Yield (key, features) of the pieces as the model wants them: one speaker, whose pieces lie in `folder`."""
        found = [self.extractor.compute(part, rate, name) for part in parts]
        keys = [f"p{i:06d}" for i, feats in enumerate(found) if len(feats)]
        if not keys:
            raise PymavgError(f"{name}: shorter than one frame; speech expected")
        with MatrixWriter(f"{folder}/feats.ark", f"{folder}/feats.scp") as writer:
            for key in keys:
                writer.write(key, found[int(key[1:])])
        with atomic_open(Path(folder, "utt2spk")) as stream:
            stream.writelines(f"{key} speaker\n" for key in keys)
        compute_speaker_stats(folder, f"{folder}/cmvn.ark", f"{folder}/cmvn.scp", say=False)
        yield from FeaturePipeline(folder, self.exp)

    def _words(self, loglikes, offset, name):
        lattice = self.decoder.decode(loglikes, self.acwt, name)
        if lattice is None:
            log(f"WARNING: {name}: nothing was recognised; a larger --beam may find something")
            return []
        lattice = determinize(lattice, self.acwt, self.options.lattice_beam, name, margin=0.0)
        cost = lattice.costs(acoustic_scale=self.acwt)
        path = best_path(lattice, cost)
        sure = mbr_decode(lattice, cost, choose=False).confidences
        spans = self.timer.times(path.tids, path.words[path.words > 0], name)
        names = self.lang.words.symbols([word for *_, word in spans], name)
        shift = self.extractor.frame_shift
        return [
            Word(text, round(offset + begin * shift, 3), round(offset + end * shift, 3), round(float(p), 3))
            for (begin, end, _), text, p in zip(spans, names, sure, strict=True)
        ]


def without_digital_silence(samples, rate, name):
    """Return the samples (n,) with every 0.01 s that is constant replaced by noise of the recording itself.

    The noise is a quiet 0.1 s (of all stretches that are not constant, the one at the fifth percentile of energy), over
    and over, forwards and backwards: so it has the spectrum that the system hears between words.
    """
    hop, width = max(1, round(HOP * rate)), 10
    blocks = samples[: len(samples) // hop * hop].reshape(-1, hop)
    silent = np.ptp(blocks, axis=1) == 0 if len(blocks) else np.zeros(0, bool)
    stretches = np.flatnonzero(np.convolve(silent, np.ones(width), "valid") == 0) if len(blocks) >= width else []
    if not silent.any() or not len(stretches):
        return samples
    energy = np.convolve(np.square(blocks, dtype=np.float64).sum(axis=1), np.ones(width), "valid")[stretches]
    first = stretches[np.argsort(energy)[len(energy) // 20]]
    noise = blocks[first : first + width].ravel()
    noise = np.concatenate([noise, noise[::-1]])
    filled = samples.copy()
    places = np.flatnonzero(np.repeat(silent, hop))
    filled[places] = noise[places % len(noise)]
    log(f"{name}: {100 * silent.mean():.0f} % is digital silence, filled with noise from a quiet place")
    return filled


def pieces(samples, rate, longest=LONGEST):
    """Return [(first, last) sample] of pieces of at most `longest` seconds, cut where it is quietest.

    The place is looked for in the second half of each piece: the middle of the 0.2 s with the least energy.
    """
    hop, width = max(1, round(HOP * rate)), round(QUIET / HOP)
    energy = np.square(samples[: len(samples) // hop * hop].reshape(-1, hop), dtype=np.float64).sum(axis=1)
    smooth = np.convolve(energy, np.ones(width), "same")
    bounds, start = [], 0
    while len(samples) - start > longest * rate:
        first, last = (int((start + share * longest * rate) // hop) for share in (0.5, 1.0))
        cut = (first + int(np.argmin(smooth[first:last]))) * hop
        bounds.append((start, cut))
        start = cut
    return [*bounds, (start, len(samples))]


def find_extractor(exp, kind="", conf=""):
    """Return the extractor that an experiment's features were made with: as <exp>/conf says, or as given.

    Raises
    ------
    PymavgError
        When the experiment does not say it and nothing is given, or it wants features adapted to the speaker.
    """
    refuse_adapted(exp)
    given = Path(conf) if conf else None
    if given and not kind:
        kind = next((k for k in KINDS if k in given.name), "")
    found = [k for k in KINDS if Path(exp, "conf", f"{k}.conf").exists()]
    if given is None and len(found) == 1 and kind in ("", found[0]):
        kind, given = found[0], Path(exp, "conf", f"{found[0]}.conf")
    if not kind or given is None:
        raise PymavgError(
            f"{exp}/conf does not say which features the system was trained on; give --type {'|'.join(KINDS)} and "
            "--config CONF, as to steps/make_mfcc.sh"
        )
    extractor = FeatureExtractor(kind, given)
    extractor.config.allow_downsample = extractor.config.allow_upsample = True
    if not Path(exp, "conf/pitch.conf").exists():
        return extractor
    process = Path(exp, "conf/pitch_process.conf")
    return WithPitch(extractor, PitchExtractor(Path(exp, "conf/pitch.conf"), process if process.exists() else None))


def refuse_adapted(exp):
    """Raise PymavgError where a system wants features adapted to the speaker, whose transforms are not at hand here."""
    if Path(exp, "conf/fmllr.conf").exists():  # left by make_fmllr_feats.sh
        found, step = "trained on features of steps/nnet/make_fmllr_feats.sh", "steps/nnet/decode.sh on such features"
    elif Path(exp, "final.alimdl").exists() and not Path(exp, "final.nnet").exists():
        found, step = "a speaker-adaptive GMM (train_sat.sh)", "steps/decode_fmllr.sh on a data directory"
    else:
        return
    raise PymavgError(
        f"{exp}: {found}; plain audio files have no fMLLR transforms: use {step}, or a system without adaptation"
    )


def find_graph(exp):
    """Return the directory of a graph that belongs to an experiment: in it, or beside a system of the same tree.

    Raises
    ------
    PymavgError
        When there is none, or more than one.
    """
    exp = Path(exp).resolve()
    tree = exp / "tree"
    owners = [exp]
    if tree.exists():
        owners += [p for p in exp.parent.iterdir() if p != exp and (p / "tree").is_file() and _equal(p / "tree", tree)]
    graphs = sorted(path.parent for owner in owners for path in owner.glob("graph*/HCLG.fst"))
    if len(graphs) != 1:
        found = (
            f"found {', '.join(map(str, graphs))}" if graphs else f"found none in {exp} or beside a system of its tree"
        )
        raise PymavgError(f"{found}; give --graph DIR, made by utils/mkgraph.sh")
    return graphs[0]


def _equal(one, other):
    return one.read_bytes() == other.read_bytes()


def channels(path):
    """Return (channels, each float32 (n,); rate) of an audio file."""
    try:
        data = Path(path).read_bytes()
    except FileNotFoundError:
        raise PymavgError(f"{path}: no such file") from None
    except OSError as error:
        raise PymavgError(f"{path}: cannot be read: {error.strerror or error}") from error
    samples, rate = decode(data, str(path))
    return list(samples.T), rate


def formatted(form, path, channel, words):
    """Return the lines for one channel of one file: `text`, `ctm` or `json`."""
    if form == "text":
        return [f"{path} {' '.join(w.word for w in words)}".rstrip()]
    if form == "json":
        return [json.dumps({"file": str(path), "channel": channel, "words": [asdict(w) for w in words]})]
    name = Path(path).stem.replace(" ", "_")
    return [
        f"{name} {channel} {w.start:.2f} {w.end - w.start:.2f} {w.word} {min(1.0, max(0.0, w.confidence)):.2f}"
        for w in words
    ]
