"""Pronunciations guessed from the spelling, by a model trained on a dictionary: for words that it lacks.

The library is phonetisaurus (J. Novak et al., "Phonetisaurus: exploring grapheme-to-phoneme conversion with joint
n-gram models in the WFST framework", 2016), an optional one: pip install 'pymavg[g2p]'.
"""

import re
import subprocess
import tempfile
from pathlib import Path

from pymavg.errors import PymavgError
from pymavg.options import log

_SPELLED = re.compile(r"[a-z']+")


def _library():
    try:
        import phonetisaurus
    except ImportError:
        raise PymavgError(
            "pronunciations from the spelling need phonetisaurus: pip install phonetisaurus==0.3.0"
        ) from None
    return phonetisaurus


def pronounce(words, lexicon):
    """Return {(word, pronunciation)} of the words that are spelled with letters; others are left out.

    Parameters
    ----------
    words : list of str
        A hyphen where a part is missing (`-ing`, `wh-`) is taken for nothing.
    lexicon : set of (word, pronunciation)
        What the model is trained on; its phones are the ones used.

    Raises
    ------
    PymavgError
        When the library is not there or fails.
    """
    library = _library()
    spelled = {word: word.strip("-").replace("-", "") for word in words}
    wanted = sorted({s for s in spelled.values() if _SPELLED.fullmatch(s)})
    examples = {}
    for word, phones in sorted(lexicon):
        if _SPELLED.fullmatch(word):
            examples.setdefault(word, []).append(phones.split())
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "model.fst"
        try:
            library.train(examples, model)
            guessed = {word: " ".join(phones) for word, phones in library.predict(wanted, model)} if wanted else {}
        except (subprocess.CalledProcessError, OSError) as error:
            raise PymavgError(f"phonetisaurus failed on {len(examples)} words of the dictionary: {error}") from error
    known = {phone for _, phones in lexicon for phone in phones.split()}
    found = {(w, guessed[s]) for w, s in spelled.items() if guessed.get(s) and set(guessed[s].split()) <= known}
    log(f"{len(found)} of {len(words)} words that the dictionary lacks have a pronunciation from their spelling")
    return found
