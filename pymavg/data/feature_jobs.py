"""Features of a data directory, computed by parallel jobs and put together again.

A job writes PREFIX.ark, PREFIX.scp and PREFIX.lengths (lines `utterance frames seconds`); `collect` checks that the
jobs have all utterances between them, and only then writes feats.scp, utt2num_frames and utt2dur.
"""

from pathlib import Path

import numpy as np

from pymavg.data.audio import Utterances
from pymavg.errors import PymavgError
from pymavg.files import atomic_open, read_lines
from pymavg.kaldi.inputs import read_scp
from pymavg.kaldi.tables import MatrixWriter, read_token_map
from pymavg.options import log, warn

FRAMES_PER_SECOND = 100


def share(items, job, num_jobs):
    """Return the part of the list `items` that job `job` of `num_jobs` (from 1) does, a contiguous one."""
    if not 1 <= job <= num_jobs:
        raise PymavgError(f"job {job} of {num_jobs}: a number from 1 to {num_jobs} expected")
    if num_jobs > len(items):
        raise PymavgError(f"{num_jobs} jobs for {len(items)} utterances; ask for fewer jobs (--nj)")
    first, last = ((j * len(items)) // num_jobs for j in (job - 1, job))
    return items[first:last]


def make_features(data, extractor, prefix, job=1, num_jobs=1, compress=True, root=None):
    """Compute the features of one job's share of the utterances.

    Parameters
    ----------
    data : str or Path
        Data directory with wav.scp and, where utterances are parts of recordings, segments.
    extractor : FeatureExtractor
        What to compute.
    prefix : str
        PREFIX.ark, PREFIX.scp and PREFIX.lengths are written.
    job, num_jobs : int
        Which share, from 1.
    compress : bool
        Store 8 bits per number, as Kaldi's scripts do by default.
    root : str, optional
        Directory that relative paths in wav.scp start from.

    Raises
    ------
    PymavgError
        For audio that cannot be read or has another sampling rate, or features that are not finite.
    """
    channel = extractor.config.channel
    source = Utterances(data, channel if channel >= 0 else None, root)
    utterances = share(sorted(source.ids), job, num_jobs)
    lengths, short = [], []
    with MatrixWriter(f"{prefix}.ark", f"{prefix}.scp", compress) as writer:
        for utterance in utterances:
            samples, rate = source.read(utterance)
            features = extractor.compute(samples, rate, source.source(utterance))
            if not np.isfinite(features).all():
                raise PymavgError(f"{utterance}: features that are not finite; listen to {source.source(utterance)}")
            if not len(features):
                short.append(utterance)
                continue
            writer.write(utterance, features)
            lengths.append(f"{utterance} {len(features)} {len(samples) / rate:.3f}\n")
    with atomic_open(f"{prefix}.lengths") as stream:
        stream.writelines(lengths)
    source.report()
    if short:
        warn(f"{len(short)} utterances are shorter than one frame and left out; first: {short[0]}")
    log(f"{len(lengths)} utterances, {extractor.dim} dimensions, {extractor.config.path}")


def collect(data, prefix, num_jobs, max_loss=0.05):
    """Write feats.scp, utt2num_frames and utt2dur of a data directory from what its jobs wrote.

    Parameters
    ----------
    data : str or Path
        Data directory.
    prefix : str
        Files PREFIX.JOB.scp and PREFIX.JOB.lengths are read.
    num_jobs : int
        Number of jobs.
    max_loss : float
        Largest part of the utterances that may lack features (being too short); beyond, nothing is written.
    """
    entries, lengths = {}, {}
    for job in range(1, num_jobs + 1):
        entries |= {key: text for key, (_, text) in read_scp(f"{prefix}.{job}.scp").items()}
        lengths |= {w[0]: w[1:] for w in map(str.split, read_lines(f"{prefix}.{job}.lengths"))}
    wanted = read_token_map(Path(data, "utt2spk"))
    unknown = sorted(entries.keys() - wanted.keys())
    missing = sorted(wanted.keys() - entries.keys())
    if unknown or entries.keys() != lengths.keys():
        first = unknown or sorted(entries.keys() ^ lengths.keys())
        raise PymavgError(f"{prefix}.*: {first[0]} is not in {data}/utt2spk, or the jobs' files are of two runs")
    if len(missing) > max_loss * len(wanted):
        raise PymavgError(
            f"{data}: {len(missing)} of {len(wanted)} utterances have no features (first: {missing[0]}), more than "
            f"{max_loss:.0%}; see the logs, remove them from the data or raise --max-loss"
        )
    keys = sorted(entries)
    tables = {
        "feats.scp": [entries[key] for key in keys],
        "utt2num_frames": [lengths[key][0] for key in keys],
        "utt2dur": [lengths[key][1] for key in keys],
    }
    for name, values in tables.items():
        with atomic_open(Path(data, name)) as stream:
            stream.writelines(f"{key} {value}\n" for key, value in zip(keys, values, strict=True))
    kept = f"kept {len(keys)} of {len(wanted)}; first left out: {missing[0]}" if missing else f"{len(keys)} utterances"
    log(f"{data}/feats.scp: {kept}")


def write_pipeline(pipeline, prefix, job=1, num_jobs=1, compress=False):
    """Write one job's share of the features that a model wants, as `make_features` does.

    Parameters
    ----------
    pipeline : FeaturePipeline
    prefix, job, num_jobs, compress
        As in `make_features`; seconds are counted at 100 frames per second.
    """
    lengths = []
    with MatrixWriter(f"{prefix}.ark", f"{prefix}.scp", compress) as writer:
        for utterance in share(pipeline.utts, job, num_jobs):
            features = pipeline.get(utterance)
            if not len(features):
                raise PymavgError(f"{utterance}: no frames; remove it from the data directory")
            writer.write(utterance, features)
            lengths.append(f"{utterance} {len(features)} {len(features) / FRAMES_PER_SECOND:.3f}\n")
    with atomic_open(f"{prefix}.lengths") as stream:
        stream.writelines(lengths)
    log(f"{len(lengths)} utterances, {pipeline.dim} dimensions")
