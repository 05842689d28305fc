"""Reader of the second game, Drascula: The Vampire Strikes Back: the folder `en` of the Debian package.

drascula.dat holds, after other tables, the subtitles: a 16-bit number of languages, then for each of ten roles the
number of its lines, and for each language a 16-bit size and that many bytes of records: 32-bit length (itself
included) and a text padded with zeros; English comes first. All numbers are big endian. The recording of line 12 of
the role with the prefix VB is VB12.ALS: raw unsigned bytes.

The game stores each role's lines apart, in the order of the story, not who answers whom. So a conversation is made of
a run of one role's lines and, in step with it, a run of the hero's.
"""

import struct
from itertools import pairwise

from .clips import Clip, Dialogue, Turn

ROLES = {
    "": "hacker",
    "D": "drascula",
    "B": "drunkard",
    "BJ": "billiejean",
    "E": "shape",
    "I": "igor",
    "L": "werewolf",
    "P": "pianist",
    "T": "bartender",
    "VB": "vonbraun",
}
FIRST_LINE = b"THAT'S THE SECOND"  # of the hero's lines
RUN = 8  # lines of the other role in one conversation


def read(folder):
    """Return the Dialogues made from the folder `en`.

    Raises
    ------
    ValueError
        When the file of texts is not of this game.
    """
    lines = {
        role: _clips(folder, prefix, texts) for (prefix, role), texts in zip(ROLES.items(), _texts(folder), strict=True)
    }
    hero = lines.pop("hacker")
    runs = [(role, said[i : i + RUN]) for role, said in lines.items() for i in range(0, len(said) - RUN // 2, RUN)]
    edges = [round(len(hero) * i / len(runs)) for i in range(len(runs) + 1)]
    return [
        Dialogue(f"{role}{number:02d}", ("hacker", role), _interleave("hacker", hero[start:end], role, said))
        for number, ((role, said), (start, end)) in enumerate(zip(runs, pairwise(edges), strict=True))
    ]


def _texts(folder):
    data = (folder / "drascula.dat").read_bytes()
    found = data.find(FIRST_LINE)
    if found < 0:
        raise ValueError(f"{folder}/drascula.dat: the text of the first line, {FIRST_LINE!r}, is not there")
    place = found - 14  # languages, lines, size, an empty record, and this record's length
    (languages,) = struct.unpack_from(">H", data, place)
    place += 2
    for _ in ROLES:
        (count,) = struct.unpack_from(">H", data, place)
        place += 2
        for language in range(languages):
            (size,) = struct.unpack_from(">H", data, place)
            if language == 0:
                yield _records(data, place + 2, count)
            place += 2 + size


def _records(data, place, count):
    texts = []
    for _ in range(count):
        (length,) = struct.unpack_from(">I", data, place)
        texts.append(data[place + 4 : place + length].split(b"\0")[0].decode("latin-1"))
        place += length
    return texts


def _clips(folder, prefix, texts):
    clips = []
    for number, text in enumerate(texts):
        path = folder / f"{prefix}{number}.ALS"
        if number and text.strip() and path.exists():
            clips.append(Clip(text.strip(), path, 0, path.stat().st_size, "u8"))
    return clips


def _interleave(hero, asks, role, answers):
    said = [((i + 0.25) / len(asks), hero, clip) for i, clip in enumerate(asks)]
    said += [((i + 0.75) / len(answers), role, clip) for i, clip in enumerate(answers)]
    return tuple(Turn(who, (clip,)) for _, who, clip in sorted(said, key=lambda item: item[0]))
