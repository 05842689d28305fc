"""Options of the tools that work on a job's features: how these are transformed."""

from pymavg.data.speaker_transforms import Transforms
from pymavg.gmm.job_data import JobData


def add_transform_options(parser):
    """Add --transform and --utt2spk."""
    parser.add_argument("--transform", metavar="FILE", help="matrix, or archive of speakers', applied to the features")
    parser.add_argument("--utt2spk", metavar="FILE", help="says that --transform holds a matrix for each speaker")


def read_job(args):
    """Return the JobData of the parsed arguments."""
    return JobData(args.job_dir, Transforms(args.transform, args.utt2spk) if args.transform else None)
