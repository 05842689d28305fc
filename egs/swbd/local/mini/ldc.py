"""Writers of the two LDC layouts: Switchboard-1 release 2 (LDC97S62) with the MS98 transcriptions, and Hub5'00.

Hub5'00 is LDC2002S09 (speech) and LDC2002T43 (reference and scoring rules).
"""

import re
from itertools import pairwise

import numpy as np

from . import telephone

MARKS = ("{}_1", "{{{}}}", "[laughter-{}]")  # of MS98: second pronunciation, unusual word, said laughing
MARKED = 0.01  # share of words that carry one
ASIDE = 0.005  # share of utterances to someone in the room
HESITATIONS = {"uh", "um", "er", "eh", "hm", "ah"}
STM_HEAD = """;; CATEGORY "0" "" ""
;; LABEL "O" "Overall" "Overall"
;; CATEGORY "1" "Corpus" ""
;; LABEL "en" "CallHome" "Conversations of the second game: mismatched"
;; LABEL "sw" "Swbd" "Conversations of the first game: matched"
;; CATEGORY "2" "Sex" ""
;; LABEL "F" "Female" ""
;; LABEL "M" "Male" ""
;; CATEGORY "3" "Corpus/Sex" ""
;; LABEL "en-F" "CallHome-Female" ""
;; LABEL "en-M" "CallHome-Male" ""
;; LABEL "sw-F" "Swbd-Female" ""
;; LABEL "sw-M" "Swbd-Male" ""
"""


def write_swbd(root, number, position, call, seed):
    """Write one training call: the sound on disc 1 to 4 and each side's two transcriptions."""
    audio = root / f"swb1_d{1 + position % 4}" / "data" / f"sw{number:05d}.sph"
    audio.parent.mkdir(parents=True, exist_ok=True)
    audio.write_bytes(telephone.sphere(call.sides, str(number)))
    folder = root / "transcriptions" / "swb_ms98_transcriptions" / str(number)[:2] / str(number)
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(seed)
    for side, name in enumerate("AB"):
        segments = _with_silences([u for u in call.utterances if u.side == side], len(call.sides[0]) / telephone.RATE)
        turns, words = [], []
        for i, (start, end, said) in enumerate(segments, 1):
            identity = f"sw{number}{name}-ms98-a-{i:04d}"
            shown = _mark(said, rng)
            turns.append(f"{identity} {start:.6f} {end:.6f} {' '.join(shown)}\n")
            edges = np.linspace(start, end, len(shown) + 1)
            words += [f"{identity} {a:.6f} {b:.6f} {w}\n" for w, (a, b) in zip(shown, pairwise(edges), strict=True)]
        stem = folder / f"sw{number}{name}-ms98-a-"
        stem.with_name(stem.name + "trans.text").write_text("".join(turns))
        stem.with_name(stem.name + "word.text").write_text("".join(words))


def _with_silences(utterances, seconds):
    """Return [(start, end, words)] that cover a whole side, as MS98 does: gaps of over 0.05 s are [silence]."""
    segments, last = [], 0.0
    for u in utterances:
        start = u.start
        if start - last > 0.05:
            segments.append((last, start, ("[silence]",)))
        else:
            start = last
        segments.append((start, u.end, u.words))
        last = u.end
    return [*segments, (last, seconds, ("[silence]",))]


def _mark(words, rng):
    shown = [_cased(word) for word in words]
    for i, word in enumerate(words):
        if re.fullmatch("[a-z]+", word) and rng.random() < MARKED:
            shown[i] = MARKS[rng.integers(len(MARKS))].format(shown[i])
    return ["<b_aside>", *shown, "<e_aside>"] if rng.random() < ASIDE and words[0] != "[silence]" else shown


def _cased(word):
    return re.sub(r"^i(?=$|')", "I", word)


def write_tables(root, conversations, speakers):
    """Write conv.tab: number of the conversation, 1, caller of side A, of side B, 0, topic."""
    rows = [f'{number}, 1, {speakers[a]}, {speakers[b]}, 0, "MINI"\n' for number, (a, b) in conversations]
    (root / "docs").mkdir(parents=True, exist_ok=True)
    (root / "docs" / "conv.tab").write_text("".join(rows))


def write_dictionary(root, vocabulary, pronouncer):
    """Write sw-ms98-dict.text: a word and its phones a line, several lines for several pronunciations."""
    rows = ["# Dictionary of the miniature of the MS98 transcriptions; pronunciations of CMUdict\n"]
    for word in sorted(vocabulary | {"a", "i"}):
        prons = [["ax"]] if word == "a" else [["ay"]] if word == "i" else pronouncer(word)
        rows += [f"{_cased(word)} {' '.join(pron)}\n" for pron in prons]
    folder = root / "transcriptions" / "swb_ms98_transcriptions"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "sw-ms98-dict.text").write_text("".join(rows))
    (folder / "AAREADME.text").write_text("Miniature in the layout of the MS98 transcriptions; not LDC data.\n")


def write_hub5_call(speech, name, call, roles, women):
    """Write one evaluation call's sound; return its lines of the .pem and of the .stm."""
    audio = speech / "hub5e_00" / "english" / f"{name}.sph"
    audio.parent.mkdir(parents=True, exist_ok=True)
    audio.write_bytes(telephone.sphere(call.sides, name))
    pem, stm = [], []
    for side, letter in enumerate("AB"):
        part, sex = name[:2], "F" if roles[side] in women else "M"
        for u in (u for u in call.utterances if u.side == side):
            times = f"{u.start:.2f} {u.end:.2f}"
            pem.append(f"{name} {letter} unknown_speaker {times}\n")
            label = f"<O,{part},{sex},{part}-{sex}>"
            stm.append(f"{name} {letter} {name}_{letter} {times} {label} {_reference(u.words)}\n")
    return pem, stm


def _reference(words):
    spoken = [w for w in words if not w.startswith("[")]
    shown = [" ".join(w) if w.isupper() else w.upper() for w in spoken]  # an acronym as its letters
    shown = ["(%HESITATION)" if w.lower() in HESITATIONS else w for w in shown]
    return " ".join(shown) or "IGNORE_TIME_SEGMENT_IN_SCORING"


def write_hub5_reference(speech, transcripts, pem, stm, glm):
    """Write the files of a whole evaluation set; `glm` is the Path of the scoring rules."""
    (speech / "hub5e_00" / "english" / "hub5e_00.pem").write_text(";; miniature of hub5e_00.pem\n" + "".join(pem))
    folder = transcripts / "reference"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "hub5e00.english.000405.stm").write_text(STM_HEAD + "".join(stm))
    (folder / "en20000405_hub5.glm").write_bytes(glm.read_bytes())
