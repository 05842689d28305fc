"""When each word of a path was said: from the alignment's phones and what is known of words.

With position-dependent phones word_boundary.int tells where words begin and end; without, the pronunciations of
align_lexicon.int are laid along the phones (Kaldi's lat/word-align-lattice.cc and word-align-lattice-lexicon.cc, here
for one path).
"""

from functools import cached_property

import numpy as np

from pymavg.errors import PymavgError


def phone_spans(model, tids):
    """Return [(start frame, end frame, phone)]; a phone broken off at the end, as in a partial result, is included.

    Parameters
    ----------
    model : TransitionModel
    tids : int array (T,)
    """
    tids = np.asarray(tids)
    finals = np.flatnonzero(model.tid_is_final[tids])
    end = int(finals[-1]) + 1 if len(finals) else 0
    while 0 < end < len(tids) and model.tid_is_self_loop[tids[end]]:
        if model.tid_tstate[tids[end]] != model.tid_tstate[tids[end - 1]]:
            break
        end += 1
    spans = model.split_to_phones(tids[:end])
    return spans if end == len(tids) else [*spans, (end, len(tids), int(model.tid_phone[tids[end]]))]


class WordTimer:
    """Finds word times.

    Parameters
    ----------
    model : TransitionModel
    lang : Lang
        Of the graph directory or the lang directory: phones/word_boundary.int or phones/align_lexicon.int.
    """

    def __init__(self, model, lang):
        self.model, self.lang = model, lang
        self.boundary = lang.word_boundary

    @cached_property
    def pronunciations(self):
        """Phones of each word: word id -> list of tuples, the longest first."""
        found = {}
        for word, _, phones in self.lang.align_lexicon:
            found.setdefault(word, set()).add(phones)
        return {word: sorted(ways, key=len, reverse=True) for word, ways in found.items()}

    def times(self, tids, words, name="utterance"):
        """Return [(start frame, end frame, word)] for the words of a path.

        Parameters
        ----------
        tids : int array (T,)
            Alignment.
        words : int array
            The path's words, without epsilons.

        Raises
        ------
        PymavgError
            When words and phones do not belong together.
        """
        spans = phone_spans(self.model, tids)
        places = self._by_boundary(spans) if self.boundary else self._by_lexicon(spans, words)
        complete = bool(len(tids)) and spans[-1][1] == len(tids) and self.model.tid_is_final[tids].any()
        if places is None or (len(places) != len(words) and complete and not self._broken(spans)):
            found = "phones of another lexicon" if places is None else f"phones of {len(places)} words"
            raise PymavgError(f"{name}: {len(words)} words, but {found}; graph and lang directory do not match")
        end = spans[-1][1] if spans else 0
        places += [(end, end)] * (len(words) - len(places))  # the search stopped before these words' phones
        return [(b, e, int(word)) for (b, e), word in zip(places, words, strict=False)]

    def _broken(self, spans):
        """Tell whether the path stops inside a word."""
        return self.boundary and self.boundary.get(spans[-1][2]) in ("begin", "internal")

    def _by_boundary(self, spans):
        places, begin = [], None
        for start, end, phone in spans:
            kind = self.boundary.get(phone)
            if kind is None:
                raise PymavgError(f"phone {phone} is not in word_boundary.int; model and lang do not match")
            if kind == "singleton":
                places.append((start, end))
            elif kind == "begin":
                begin = start
            elif kind == "end":
                places.append((start if begin is None else begin, end))
                begin = None
        return places if begin is None else [*places, (begin, spans[-1][1])]

    def _by_lexicon(self, spans, words):
        """Lay the words' pronunciations along the phones, with silence between words; None where it cannot be done."""
        silences = set(self.lang.silence_phones)
        phones = [phone for *_, phone in spans]
        trail, stack = {}, [(0, 0)]  # (words done, phones done) -> where it came from
        while stack:
            done, at = stack.pop()
            if done == len(words) and at == len(phones):
                break
            ways = self.pronunciations.get(int(words[done]), ()) if done < len(words) else ()
            steps = [(done + 1, at + len(way)) for way in ways if tuple(phones[at : at + len(way)]) == way]
            if at < len(phones) and phones[at] in silences:
                steps.append((done, at + 1))
            for step in steps:
                if step not in trail:
                    trail[step] = (done, at)
                    stack.append(step)
        else:
            return None
        places, here = [], (len(words), len(phones))
        while here != (0, 0):
            before = trail[here]
            if here[0] > before[0]:
                places.append((spans[before[1]][0], spans[here[1] - 1][1]))
            here = before
        return places[::-1]
