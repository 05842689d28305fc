"""Estimate fMLLR transforms of a job's speakers from alignments.

usage: pymavg gmm-est-fmllr [options] <model> <job-dir> <alignments> <transforms>
 e.g.: pymavg gmm-est-fmllr --silence-phones 1:2:3 --utt2spk data/train/split4/1/utt2spk
           exp/tri4/2.mdl exp/tri4/job.1 exp/tri4/ali.1.gz exp/tri4/2.trans.1

<alignments> is the job's archive, or a directory with the archives of all jobs, each for the same model. With
--transform, what the speakers have already, new transforms are estimated on top, and the composed ones written.
"""

from pathlib import Path

from pymavg.errors import PymavgError
from pymavg.gmm.adapt import aligned, speaker_transform
from pymavg.gmm.alignments import read_job_alignments
from pymavg.gmm.fmllr import FmllrOptions
from pymavg.gmm.job_options import add_transform_options, read_job
from pymavg.gmm.silence import add_silence_options, tid_weights
from pymavg.kaldi.gmm import read_model
from pymavg.kaldi.tables import MatrixWriter, read_int_vectors, read_token_map
from pymavg.options import Parser, real


def main(argv):
    """Run the tool."""
    parser = Parser("gmm-est-fmllr", __doc__)
    add_transform_options(parser)
    add_silence_options(parser, silence_weight=0.0)
    parser.add_argument("--max-missing", type=real, default=0.1, help="share that a directory may lack; default 0.1")
    parser.add_options_of(FmllrOptions())
    for name in ("model", "job_dir", "alignments", "transforms"):
        parser.add_argument(name, metavar=name.replace("_", "-"))
    args = parser.parse_args(argv)
    if not args.utt2spk:
        raise PymavgError("gmm-est-fmllr: --utt2spk FILE is needed")
    options = FmllrOptions.from_arguments(args)
    transitions, gmm = read_model(args.model)
    weights = tid_weights(transitions, args.silence_phones, args.silence_weight)
    job = read_job(args)
    if Path(args.alignments).is_dir():
        _, alignments = read_job_alignments(args.alignments, 1, job.frames(), job.path, args.max_missing)
    else:
        alignments = dict(read_int_vectors(f"ark:{args.alignments}"))
    utt2spk, of_speaker = read_token_map(args.utt2spk), {}
    for utterance, feats in job.items():
        pieces = of_speaker.setdefault(utt2spk[utterance], [])
        if utterance in alignments:
            pieces.append(aligned(feats, alignments[utterance], transitions.tid_pdf, weights))
    with MatrixWriter(args.transforms) as writer:
        for speaker, pieces in of_speaker.items():
            before = job.transforms and job.transforms.by_speaker[speaker]
            writer.write(speaker, speaker_transform(speaker, pieces, gmm, options, before=before))
