"""Reader of the first game, Flight of the Amazon Queen: the file queen.1c of the Debian package.

The file starts with a table: the magic QTBL, at byte 13 the number of entries, then for each entry 21 bytes, big
endian: 12 characters of name, 1 byte, 32-bit offset, 32-bit size. NAME.DOG is a dialogue of the hero Joe with
another role: after a header of 20 bytes it holds 16-bit words, of which number 0 counts the levels of the dialogue
(the sign does not matter), 2 is the number that the recordings carry, 3 and 4 count the strings of Joe and of the
other, and 11 is the offset of the other's strings; Joe's stand after 32 bytes and 96 for each level. A string is a
16-bit zero, a 16-bit identity, a length byte, the text, and padding to a multiple of 4. Marks such as *12 or *CK14
in the text are stage directions; each part between them has its own recording, an MP3 whose name is made of number,
identity, J or P, and part.
"""

import re
import struct

from .clips import Clip, Dialogue, Turn

DIRECTION = re.compile(r"\*\d\d|\*[A-Z][A-Z0-9]\d{0,3}")
ENTRY = struct.Struct(">12sxII")


def read(path):
    """Return the Dialogues of queen.1c in the order of their names.

    Raises
    ------
    ValueError
        When the file is not of this game.
    """
    data = path.read_bytes()
    if data[:4] != b"QTBL":
        raise ValueError(f"{path}: begins with {data[:4]!r}, expected b'QTBL'")
    table = _table(data)
    names = sorted(name for name in table if name.endswith(".DOG"))
    return [_dialogue(path, data, table, name) for name in names]


def _table(data):
    (count,) = struct.unpack_from(">H", data, 13)
    entries = (ENTRY.unpack_from(data, 15 + ENTRY.size * i) for i in range(count))
    return {name.rstrip(b"\0").decode("ascii"): (offset, size) for name, offset, size in entries}


def _dialogue(path, data, table, name):
    offset, size = table[name]
    body = data[offset + 20 : offset + size]
    word = struct.unpack_from(">h11H", body)
    role = re.sub(r"\d+$", "", name.removesuffix(".DOG")).lower()
    strings = [(identity, "J", text) for identity, text in _strings(body, 32 + 96 * abs(word[0]), word[3])]
    strings += [(identity, "P", text) for identity, text in _strings(body, word[11], word[4])]
    turns = []
    for identity, who, text in sorted(strings):
        clips = []
        for part, spoken in enumerate(DIRECTION.split(text), 1):
            place = table.get(f"{word[2]:02d}{identity:04X}{who}{part:X}.SB")
            if place and spoken.strip():
                clips.append(Clip(spoken.strip(), path, *place, "mp3"))
        if clips:
            turns.append(Turn("joe" if who == "J" else role, tuple(clips)))
    return Dialogue(name.removesuffix(".DOG").lower(), ("joe", role), tuple(turns))


def _strings(body, start, count):
    place = start
    for _ in range(count):
        if place + 5 > len(body):
            return
        identity, length = struct.unpack_from(">HB", body, place + 2)
        yield identity, body[place + 5 : place + 5 + length].decode("latin-1")
        place += 5 + length
        place += -place % 4
