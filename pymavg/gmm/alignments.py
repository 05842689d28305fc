"""Archives of alignments: those of one job read from an alignment directory, and checked against its features."""

from pathlib import Path

from pymavg.data.labels import match_lengths
from pymavg.errors import PymavgError
from pymavg.kaldi.tables import IntVectorWriter, read_int_vectors
from pymavg.kaldi.transitions import read_transition_model


def read_job_alignments(ali_dir, job, frames, where, max_missing):
    """Return the model of an alignment directory and the alignments of a job's utterances.

    The archive of the same job is read first, then the others until all utterances are found: the directory may have
    been made with another number of jobs or for more data.

    Parameters
    ----------
    ali_dir : str or Path
        With final.mdl and ali.1.gz, ali.2.gz, …
    job : int
    frames : dict utterance -> int
        Frames of the job's utterances.
    where : str or Path
        What the utterances were read from, for messages.
    max_missing : float
        Largest share of utterances that may be without alignment of the right length.

    Returns
    -------
    (TransitionModel, dict utterance -> int32 (T,))

    Raises
    ------
    PymavgError
        When files or too many alignments are missing, or the alignments were made with another model.
    """
    first = Path(ali_dir, f"ali.{job}.gz")
    paths = sorted(Path(ali_dir).glob("ali.*.gz"), key=lambda path: (path != first, len(path.name), path.name))
    if not paths:
        raise PymavgError(f"{ali_dir}: no ali.*.gz; make them with steps/align_si.sh")
    transitions, found = read_transition_model(Path(ali_dir, "final.mdl")), {}
    for path in paths:
        for utterance, tids in read_int_vectors(f"ark:{path}"):
            if utterance in frames:
                _check(tids, transitions, f"{path}: utterance {utterance}", ali_dir)
                found[utterance] = tids
        if len(found) == len(frames):
            break
    usable = match_lengths(frames, found, f"{where} with {ali_dir}", tolerance=0, max_missing=max_missing)
    return transitions, {utterance: found[utterance] for utterance in usable}


def _check(tids, transitions, where, ali_dir):
    if len(tids) and not 1 <= tids.min() <= tids.max() <= transitions.num_tids:
        raise PymavgError(
            f"{where} has transition-ids {tids.min()} to {tids.max()}, {ali_dir}/final.mdl has 1 to "
            f"{transitions.num_tids}; the alignment was made with another model: align again"
        )


def write_alignments(path, alignments):
    """Write a dict utterance -> int32 (T,) as an archive."""
    with IntVectorWriter(path) as writer:
        for utterance, tids in alignments.items():
            writer.write(utterance, tids)
