"""Compute the features of a data directory's utterances: MFCC, log-mel, PLP (all perhaps with pitch), spectrograms.

usage: pymavg make-feats [options] <data> <prefix>
 e.g.: pymavg make-feats --type mfcc --config conf/mfcc.conf data/train exp/make_mfcc/raw_mfcc_train.1

Reads wav.scp (wav, flac, sph, or commands ending in |) and segments, writes <prefix>.ark, <prefix>.scp and
<prefix>.lengths. The conf files are Kaldi's; dither is 0 unless it sets it (Kaldi: 1).
"""

from pymavg.data.feature_config import KINDS
from pymavg.data.feature_jobs import make_features
from pymavg.data.features import FeatureExtractor
from pymavg.data.pitch import PitchExtractor, WithPitch
from pymavg.options import Parser, boolean, positive, whole


def main(argv):
    """Run the tool."""
    parser = Parser("make-feats", __doc__)
    parser.add_argument("--type", choices=KINDS, default="mfcc", help="default mfcc")
    parser.add_argument("--config", help="Kaldi conf file, as conf/mfcc.conf")
    parser.add_argument("--pitch-config", help="append pitch, with the options of this conf file, as conf/pitch.conf")
    parser.add_argument("--pitch-postprocess-config", help="options of Kaldi's process-kaldi-pitch-feats")
    parser.add_argument(
        "--paste-length-tolerance", type=whole, default=2, help="frames that pitch may differ (default 2)"
    )
    parser.add_argument("--job", type=positive, default=1, help="which share of the utterances (default 1)")
    parser.add_argument("--num-jobs", type=positive, default=1, help="into how many shares they are split (default 1)")
    parser.add_argument("--compress", type=boolean, default=True, help="8 bits per number (default true)")
    parser.add_argument("--allow-downsample", type=boolean, default=False, help="default false, or what the conf says")
    parser.add_argument("--allow-upsample", type=boolean, default=False, help="default false, or what the conf says")
    parser.add_argument("--channel", type=int, help="channel of files with several, from 0")
    parser.add_argument("--root", help="directory that relative paths in wav.scp start from (default: the current one)")
    parser.add_argument("data", help="data directory")
    parser.add_argument("prefix", help="what the names of the output files start with")
    args = parser.parse_args(argv)
    extractor = FeatureExtractor(args.type, args.config)
    extractor.config.allow_downsample |= args.allow_downsample
    extractor.config.allow_upsample |= args.allow_upsample
    if args.channel is not None:
        extractor.config.channel = args.channel
    if args.pitch_config:
        pitch = PitchExtractor(args.pitch_config, args.pitch_postprocess_config)
        extractor = WithPitch(extractor, pitch, args.paste_length_tolerance)
    make_features(args.data, extractor, args.prefix, args.job, args.num_jobs, args.compress, args.root)
