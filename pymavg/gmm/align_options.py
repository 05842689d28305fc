"""Options of alignment; apart from the search itself, so that a pass without alignment starts faster."""

from dataclasses import dataclass


@dataclass
class AlignOptions:
    """Options of alignment, with Kaldi's names.

    Attributes
    ----------
    acoustic_scale : float
    beam, retry_beam : float
        The second is tried where the first fails.
    boost_silence : float
        Factor of the silence phones' likelihoods.
    silence_phones : str
        Ids of these phones, separated by colons.
    max_failed : float
        Largest share of utterances that may fail.
    """

    acoustic_scale: float = 0.1
    beam: float = 10.0
    retry_beam: float = 40.0
    boost_silence: float = 1.0
    silence_phones: str = ""
    max_failed: float = 0.5

    HELP = {
        "retry_beam": "tried where --beam fails",
        "boost_silence": "factor of silence's likelihoods",
        "silence_phones": "ids separated by colons, for --boost-silence",
        "max_failed": "largest share of utterances that may fail",
    }

    @classmethod
    def from_arguments(cls, args):
        """Take the fields out of parsed arguments."""
        return cls(**{name: getattr(args, name) for name in vars(cls())})
