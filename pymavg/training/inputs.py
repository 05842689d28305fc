"""The files that a training hands on to decoding."""

import shutil
from pathlib import Path

from pymavg.data.feature_config import KINDS
from pymavg.data.labels import pdf_counts, write_counts
from pymavg.files import atomic_open
from pymavg.training import frontend

COUNTS = "ali_train_pdf.counts"
FROM_ALIGNMENT = ("final.mdl", "tree", "phones.txt")
FROM_DATA = tuple(
    f"conf/{name}.conf" for name in (*KINDS, "pitch", "pitch_process", "fmllr")
)  # how the features were made: pymavg transcribe asks for it


def write_inputs(exp, options, data, ali_dir, targets, anew=True):
    """Write into `exp` what decoding needs beside the network: feature transform, priors, transition model, tree.

    Parameters
    ----------
    exp : Path
    options : settings.TrainOptions
    data, ali_dir : str
        Of the training data.
    targets : targets.Targets
    anew : bool
        No training is continued: a feature transform that a broken start left is not to be relied on.
    """
    given = Path(options.feature_transform) if options.feature_transform else None
    beside = given.parent if given else Path(options.dbn).parent if options.dbn else None
    frontend.describe_features(exp, options.cmvn_opts, options.delta_opts, beside)
    if not given and beside and (beside / frontend.TRANSFORM).exists():
        given = beside / frontend.TRANSFORM
    source = frontend.FeaturePipeline(data, exp)
    frontend.prepare_transform(exp, given, source, sorted(targets.lengths), options.splice, anew)
    write_counts(exp / COUNTS, pdf_counts(targets.labels, targets.num_classes, targets.weights))
    for directory, names in ((ali_dir, FROM_ALIGNMENT), (data, FROM_DATA)):
        for origin, target in ((Path(directory, name), exp / name) for name in names):
            if origin.exists() and origin.resolve() != target.resolve():
                with atomic_open(target, "wb") as stream, open(origin, "rb") as original:
                    shutil.copyfileobj(original, stream)
