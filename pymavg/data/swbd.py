"""The data directory and the dictionary of Switchboard-1 (LDC97S62 with the MS98 transcripts).

What is made has the names and forms of Kaldi's egs/swbd/s5c: recordings sw02001-A, utterances
sw02001-A_000098-001156 (hundredths of a second), and sw1020-02001-A_000098-001156 where conv.tab gives the speaker.
"""

from pathlib import Path

from pymavg.data import swbd_corrections, swbd_text
from pymavg.data.ldc import find_sphere, walk, write_data_dir, write_sorted
from pymavg.data.spelling import pronounce
from pymavg.errors import PymavgError
from pymavg.files import read_lines
from pymavg.options import log, warn

TRANSCRIPTS = "swb_ms98_transcriptions"
TRANSCRIPTS_URL = "https://www.openslr.org/resources/5/switchboard_word_alignments.tar.gz"
NOISE_PHONES = {"!sil": "sil", "[vocalized-noise]": "spn", "[noise]": "nsn", "[laughter]": "lau", "<unk>": "spn"}
SPEAKERS = ("conv.tab", "conv_tab.csv")  # the second is its name on LDC's page of the corpus
SILENCE_PHONES = ("sil", "spn", "nsn", "lau")


def find_transcripts(folder):
    """Return the Path of swb_ms98_transcriptions in or one level below the corpus.

    Raises
    ------
    PymavgError
        When it is not there, with where to fetch it.
    """
    folder = Path(folder)
    for path in (folder, folder / TRANSCRIPTS, *sorted(folder.glob(f"*/{TRANSCRIPTS}"))):
        if (path / "sw-ms98-dict.text").exists():
            return path
    raise PymavgError(
        f"{folder}: no {TRANSCRIPTS}/sw-ms98-dict.text in it or one level below; fetch {TRANSCRIPTS_URL}, "
        f"unpack it, and name its folder with --transcripts DIR"
    )


def read_lexicon(path):
    """Return the sorted [(word, pronunciation)] of sw-ms98-dict.text, corrected, words mapped as the transcripts' are.

    Raises
    ------
    PymavgError
        For a word without phones.
    """
    entries = set()
    for number, line in enumerate(read_lines(path), 1):
        if not line.strip() or line.startswith("#"):
            continue
        word, *phones = line.split()
        if not phones:
            raise PymavgError(f"{path}:{number}: '{line}' has no phones; expected a word and its phones")
        entry = swbd_corrections.correct(word, " ".join(phones).lower().split())
        if entry:
            entries.add((swbd_text.map_word(entry[0]), entry[1]))
    return sorted(entries | swbd_corrections.missing({word for word, _ in entries}))


def write_dictionary(source, folder, extra=None, words=()):
    """Write data/local/dict in Kaldi's form from sw-ms98-dict.text.

    Parameters
    ----------
    source : str or Path
        sw-ms98-dict.text.
    folder : str or Path
    extra : str or Path, optional
        More entries, in the same form.
    words : iterable of str
        Words that get a pronunciation from their spelling (see spelling.pronounce) where the dictionary lacks them.

    Raises
    ------
    PymavgError
        For a dictionary without words.
    """
    entries = read_lexicon(source)
    if not entries:
        raise PymavgError(f"{source}: holds no words")
    acronyms = swbd_text.find_acronyms(entries)
    lexicon = set(NOISE_PHONES.items()) | {(f"{c}.", phones) for c, phones in swbd_text.LETTERS.items()}
    lexicon |= {(acronyms.get(word, word), phones) for word, phones in entries}
    if extra:
        lexicon |= {(acronyms.get(word, word), phones) for word, phones in read_lexicon(extra)}
    unknown = sorted({word for word in words if word not in {w for w, _ in lexicon}})
    if unknown:
        lexicon |= pronounce(unknown, lexicon - set(NOISE_PHONES.items()))
    phones = {phone for _, pronunciation in lexicon for phone in pronunciation.split()} - set(SILENCE_PHONES)
    folder = Path(folder)
    write_sorted(folder / "lexicon.txt", (f"{word} {pron}" for word, pron in lexicon))
    write_sorted(folder / "nonsilence_phones.txt", phones)
    write_sorted(folder / "silence_phones.txt", SILENCE_PHONES, in_order=True)
    write_sorted(folder / "optional_silence.txt", ["sil"])
    write_sorted(folder / "extra_questions.txt", [])
    write_sorted(folder / "acronyms.map", (f"{word} {spelled}" for word, spelled in acronyms.items()))
    log(f"{folder}: {len({w for w, _ in lexicon})} words, {len(lexicon)} pronunciations, {len(phones)} phones")


def transcribed_words(transcripts):
    """Return the set of words in the transcripts below swb_ms98_transcriptions, as they are trained."""
    acronyms = swbd_text.find_acronyms(read_lexicon(transcripts / "sw-ms98-dict.text"))
    lines = (line.split(None, 3) for path in sorted(transcripts.glob("*/*/*-trans.text")) for line in read_lines(path))
    return {word for fields in lines if len(fields) > 3 for word in swbd_text.training_words(fields[3], acronyms)}


def read_speakers(folder):
    """Return {'sw02001-A': '1020', …} of the first conv.tab or conv_tab.csv below `folder`; empty without one."""
    speakers = {}
    for path in [path for path in walk(folder) if path.name.lower() in SPEAKERS][:1]:
        for number, line in enumerate(read_lines(path), 1):
            fields = [field.strip().strip('"') for field in line.split(",")]
            if len(fields) < 4 or not fields[0].isdigit():
                raise PymavgError(f"{path}:{number}: '{line}' is not: conversation, x, caller A, caller B, …")
            speakers[f"sw{int(fields[0]):05d}-A"], speakers[f"sw{int(fields[0]):05d}-B"] = fields[2:4]
    return speakers


def prepare_training(corpus, out, transcripts=None, allow_partial=False, docs=None):
    """Write the data directory `out` of Switchboard-1.

    Parameters
    ----------
    corpus : str or Path
        Folder of the .sph files in any layout, with conv.tab somewhere in it if there is one.
    out : str or Path
    transcripts : str or Path, optional
        Folder of the MS98 transcripts when they are not in `corpus`.
    allow_partial : bool
        Go on when conversations that have transcripts lack their recording.
    docs : str or Path, optional
        Folder with conv.tab when it is not in `corpus`.

    Raises
    ------
    PymavgError
        When recordings or transcripts are missing or not of the expected form.
    """
    transcripts = find_transcripts(transcripts or corpus)
    acronyms = swbd_text.find_acronyms(read_lexicon(transcripts / "sw-ms98-dict.text"))
    audio, texts = find_sphere(corpus), sorted(transcripts.glob("*/*/*-trans.text"))
    if not texts:
        raise PymavgError(f"{transcripts}: no NN/NNNN/*-trans.text in it; expected two for each conversation")
    recordings = {"sw0" + path.name[2:6] for path in texts}
    _check_complete(corpus, recordings, audio, allow_partial)
    speakers = read_speakers(docs or corpus)
    if not speakers:
        log(f"{docs or corpus}: no {' or '.join(SPEAKERS)} in it: each side of a conversation is a speaker of its own")
    utterances = []
    for path in texts:
        if "sw0" + path.name[2:6] in audio:
            utterances += _read_transcript(path, acronyms, speakers)
    write_data_dir(out, utterances, {name: audio[name] for name in recordings & audio.keys()})


def _check_complete(corpus, expected, audio, allow_partial):
    missing = sorted(expected - audio.keys())
    found = len(expected) - len(missing)
    log(f"{corpus}: {len(audio)} .sph files; {found} of {len(expected)} transcribed conversations")
    if missing and not (found and allow_partial):
        remedy = "a disk is missing? (--allow-partial true to go on)" if found else "is it the corpus's folder?"
        raise PymavgError(f"found {found} of {len(expected)} .sph under {corpus} (no {missing[0]}.sph): {remedy}")


def _read_transcript(path, acronyms, speakers):
    """Return [(utterance, recording, speaker, start, end, words)] of one side, without silences."""
    utterances = []
    recording = f"sw0{path.name[2:6]}-{path.name[6]}"
    speaker = f"sw{speakers[recording]}" if recording in speakers else recording
    name = f"{speaker}-{recording[2:]}" if recording in speakers else recording
    for number, line in enumerate(read_lines(path), 1):
        place, fields = f"{path}:{number}", line.split(None, 3)
        if not fields:
            continue
        try:
            first, last = (int(100 * float(time) + 0.5) for time in fields[1:3])  # hundredths of a second
        except (OverflowError, ValueError):
            raise PymavgError(f"{place}: '{line}' is not: name, start, end, words") from None
        if not fields[0].startswith(path.name[:7]):
            raise PymavgError(
                f"{place}: '{line}' is not of this side; a name that begins with {path.name[:7]} expected"
            )
        words = swbd_text.training_words(fields[3] if len(fields) > 3 else "", acronyms)
        if words and not 0 <= first < last:
            warn(f"{place}: '{line}' ends before it begins, and is left out")
        elif words:
            times = f"{first:06d}-{last:06d}"
            utterances.append((f"{name}_{times}", recording, speaker, first / 100, last / 100, words))
    return utterances
