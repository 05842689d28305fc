"""Which conversations are used, and for what. All rules are fixed; none looks at a recogniser's output."""

from . import spelling
from .clips import RATE

# First game. A side without speech: monkey, dog, village grunts, a mouth full of food. The whole dialogue goes.
NO_SPEECH = {"ape", "dog", "chief4", "witch4", "sparky8"}
EXTREME_VOICES = {"witch", "wedge"}  # a screeching witch and a parrot: never in the evaluation
EVALUATION_EVERY, EVALUATION_FIRST = 9, 4  # first game: of nine dialogues in the order of their names the fifth
SECOND_EVERY = 4  # second game: of four conversations the first is for training, the others are for evaluation
SAME_TEXT = 4  # words: a training clip of as many that is also in the evaluation is left out
FEWEST = 2  # conversations in either part of the evaluation of a smaller corpus
WOMEN = {
    *("faye", "lola", "lou", "naomi", "oracle", "prin", "sec", "showeram", "tam", "witch"),
    "billiejean",
}
MP3_BYTES_PER_SECOND = 2000


def split(first, second, hours=None):
    """Divide the Dialogues of both games.

    Parameters
    ----------
    first : list of Dialogue
        Of the first game, in the order of their names.
    second : list of Dialogue
        Of the second game.
    hours : float, optional
        Of training speech; the evaluation shrinks with it.

    Returns
    -------
    dict of str to list of Dialogue
        Parts "train", "sw" (matched) and "en" (mismatched).
    set of tuple of str
        Texts that training must not have.

    Raises
    ------
    ValueError
        When there are fewer hours than asked for.
    """
    train, matched = _divide_first([d for d in first if d.name not in NO_SPEECH])
    train += second[::SECOND_EVERY]
    parts = {"train": train, "sw": matched, "en": [d for i, d in enumerate(second) if i % SECOND_EVERY]}
    texts = {c.text for part in ("sw", "en") for d in parts[part] for t in d.turns for c in t.clips}
    known = {said for said in (tuple(spelling.words(text)) for text in texts) if len(said) >= SAME_TEXT}
    if hours is not None:
        parts = _shrink(parts, 3600 * hours)
    return parts, known


def _divide_first(dialogues):
    """Hold out every ninth dialogue, or the first after it that has no extreme voice."""
    train, held_out, due = [], [], False
    for i, dialogue in enumerate(dialogues):
        due = due or i % EVALUATION_EVERY == EVALUATION_FIRST
        if due and not EXTREME_VOICES & set(dialogue.roles):
            held_out.append(dialogue)
            due = False
        else:
            train.append(dialogue)
    return train, held_out


def _shrink(parts, seconds):
    """Keep so many training conversations, spread over both games, and the same share of the evaluation."""
    whole = sum(duration(d) for d in parts["train"])
    if seconds > whole:
        raise ValueError(f"--mini-hours {seconds / 3600:g}: there are only {whole / 3600:.2f} h of training speech")
    train, left = [], seconds
    for dialogue in _spread(parts["train"]):
        if left > 0:
            train.append(dialogue)
            left -= duration(dialogue)
    order = {d.name: i for i, d in enumerate(parts["train"])}
    shrunk = {"train": sorted(train, key=lambda d: order[d.name])}
    for part in ("sw", "en"):
        count = max(FEWEST, round(len(parts[part]) * seconds / whole))
        shrunk[part] = parts[part][:count]
    return shrunk


def _spread(items):
    """Return the items in an order of which every beginning is spread evenly (multiples of the golden ratio)."""
    return [items[i] for i in sorted(range(len(items)), key=lambda i: (0.6180339887 * i) % 1)]


def duration(dialogue):
    """Return about how many seconds a Dialogue's clips last, by their size."""
    rate = {"mp3": MP3_BYTES_PER_SECOND, "u8": RATE}
    return sum(c.size / rate[c.coding] for t in dialogue.turns for c in t.clips)
