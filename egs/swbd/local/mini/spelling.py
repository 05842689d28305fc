"""From a subtitle to what is said, in the manner of the MS98 transcriptions.

Lower case, no punctuation, numbers in words. Sounds that are no words become [laughter], [vocalized-noise] and
[noise]; an acronym is written in capitals without points. The spelling is American and each hesitation has one
form, so that a word has one name in both games.
"""

import re

NUMBERS = {
    "1844": "eighteen forty four",
    "1940's": "nineteen forties",
    "1948": "nineteen forty eight",
    "1.00": "one",
    "0.80": "zero eighty",
    "1.10": "one ten",
    "24": "twenty four",
    "28": "twenty eight",
    "325": "three twenty five",
    "50": "fifty",
    "501": "five o one",
    "512": "five twelve",
}
SOUNDS = [
    (r"\((sigh|gulp)\)|<(gulp|hack|koff)>|\bhic\b", " [vocalized-noise] "),
    (r"\(whistle[^)]*\)", " [noise] "),
    (r"\b(ha|he)(\W+(ha|he|hi|ho|hu)\b)+", " [laughter] "),
]
RESPELLED = {
    "alright": "all right",
    "amongst": "among",
    "colour": "color",
    "errr": "er",
    "errrr": "er",
    "everytime": "every time",
    "eurgh": "ugh",
    "favour": "favor",
    "favourite": "favorite",
    "flavoured": "flavored",
    "greeat": "great",
    "hmm": "hm",
    "hmmm": "hm",
    "hmmmm": "hm",
    "honour": "honor",
    "humour": "humor",
    "jewellery": "jewelry",
    "mmm": "hm",
    "mmmm": "hm",
    "neighbour": "neighbor",
    "ok": "okay",
    "ooo": "ooh",
    "oooh": "ooh",
    "organising": "organizing",
    "programme": "program",
    "recognise": "recognize",
    "spelt": "spelled",
    "thiiings": "things",
    "beeeeautiful": "beautiful",
    "umm": "um",
    "ummm": "um",
    "ummmm": "um",
    "unauthorised": "unauthorized",
    "whoooo": "whoo",
    "whooooo": "whoo",
}
ACRONYM = re.compile(r"\b(?:[A-Za-z]\.){2,}")  # I.R.S.
APOSTROPHE_FIRST = re.compile(r"'(em|til|cause|bout|round|n)")
TOKEN = re.compile(r"\[[a-z-]+\]|[a-z']+|\d")


def words(subtitle):
    """Return the list of words and events of a subtitle; it is empty for a text without any letter.

    Raises
    ------
    ValueError
        When there is a number that NUMBERS does not spell out.
    """
    acronyms = {match.replace(".", "").lower() for match in ACRONYM.findall(subtitle)}
    text = ACRONYM.sub(lambda match: f" {match[0].replace('.', '')} ", subtitle).lower()
    for number, spoken in NUMBERS.items():
        text = re.sub(rf"(?<![\w.]){re.escape(number)}(?!\w)", spoken, text)
    for sound, event in SOUNDS:
        text = re.sub(sound, event, text)
    said = []
    for token in TOKEN.findall(text):
        if token.isdigit():
            raise ValueError(f"no spelling of a number in '{subtitle}'")
        said += [token.upper()] if token in acronyms else _respelled(token)
    return said


def _respelled(token):
    if token.startswith("[") or APOSTROPHE_FIRST.fullmatch(token):
        return [token]
    word = token.strip("'")
    return RESPELLED.get(word, word).split()
