"""The default corpus: readers of the two games, spelling, telephone, and a whole corpus of two tiny games."""

import io
import struct
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile

LOCAL = Path(__file__).parent.parent / "egs" / "swbd" / "local"
sys.path.insert(0, str(LOCAL))

import make_mini_corpus  # noqa: E402
from mini import build, calls, drascula, ldc, queen, selection, spelling, telephone  # noqa: E402
from mini.clips import RATE, Clip, Dialogue, Turn  # noqa: E402
from mini.pronounce import Pronouncer, spell  # noqa: E402

from pymavg.data import hub5, swbd, swbd_text  # noqa: E402
from pymavg.errors import PymavgError  # noqa: E402
from pymavg.files import read_lines  # noqa: E402


def tone(seconds, pitch=440):
    return 0.5 * np.sin(2 * np.pi * pitch * np.arange(int(seconds * RATE)) / RATE)


def mp3(samples):
    stream = io.BytesIO()
    soundfile.write(stream, samples, RATE, format="MP3")
    return stream.getvalue()


def dog(number, hero, other):
    """Return a dialogue file of the first game with these strings {identity: text}."""

    def strings(texts, start):
        data = b""
        for identity, text in texts.items():
            data += struct.pack(">HHB", 0, identity, len(text)) + text.encode()
            data += b"\0" * (-(start + len(data)) % 4)
        return data

    start = 32 + 96
    spoken = strings(hero, start)
    words = [-1, 0, number, len(hero), len(other), 0, 0, 0, 0, 0, 0, start + len(spoken)]
    head = struct.pack(">h11H", *words).ljust(start, b"\0")
    return b"\0" * 20 + head + spoken + strings(other, start + len(spoken))


def write_queen(path, files):
    offset = 15 + 21 * len(files)
    table, body = b"", b""
    for name, data in files.items():
        table += struct.pack(">12sxII", name.encode(), offset + len(body), len(data))
        body += data
    path.write_bytes(b"QTBL".ljust(13, b"\0") + struct.pack(">H", len(files)) + table + body)


def write_drascula(folder, lines):
    """Write the second game with the lines of each role, the hero's beginning as the real ones do."""
    folder.mkdir()

    def block(texts):
        records = [struct.pack(">I", 4 + len(t) + 1) + t.encode() + b"\0" for t in texts]
        records[0] = struct.pack(">I", 4)
        return b"".join(records)

    data = b"tables" + struct.pack(">H", 2)
    for prefix, texts in lines.items():
        data += struct.pack(">H", len(texts) + 1)
        for language in (["", *texts], ["", *texts[::-1]]):
            said = block(language)
            data += struct.pack(">H", len(said)) + said
        for i in range(1, len(texts) + 1):
            sound = (tone(2.0, 300 + 10 * i) * 127 + 128).astype(np.uint8)
            (folder / f"{prefix}{i}.ALS").write_bytes(sound.tobytes())
    (folder / "drascula.dat").write_bytes(data)


@pytest.fixture
def games(tmp_path):
    files, sound = {}, mp3(tone(2.0))
    for number, name in enumerate(["BOB1", "BOB2", "DOG", "FAYE1", "IAN1", "LOU1", "WITCH1"], 1):
        hero = {6: f"Hello there {name[:-1]}", 7: "What is on your mind"}
        other = {6: "Not *12a lot my friend*03", 7: f"I like my house {name}"[:-1]}
        files[f"{name}.DOG"] = dog(number, hero, other)
        for identity in (6, 7):
            files |= {f"{number:02d}{identity:04X}{part}.SB": sound for part in ("J1", "P1", "P2")}
    write_queen(tmp_path / "queen.1c", files)
    texts = [f"LINE {word} OF MINE" for word in ("ONE", "TWO", "THREE", "FOUR", "FIVE", "SIX", "SEVEN", "EIGHT")]
    lines = {prefix: texts if prefix else ["THAT'S THE SECOND DOOR", *(3 * texts)] for prefix in drascula.ROLES}
    write_drascula(tmp_path / "en", lines)
    return queen.read(tmp_path / "queen.1c"), drascula.read(tmp_path / "en")


def test_first_game_is_read(games):
    bob = games[0][0]
    assert (bob.name, bob.roles) == ("bob1", ("joe", "bob"))
    said = [(turn.role, [clip.text for clip in turn.clips]) for turn in bob.turns]
    assert said[:2] == [("joe", ["Hello there BOB"]), ("bob", ["Not", "a lot my friend"])]
    assert len(said) == 4
    assert abs(len(bob.turns[0].clips[0].samples()) / RATE - 2.0) < 0.1


def test_second_game_is_read(games):
    second = games[1]
    assert len(second) == 9
    assert second[0].roles == ("hacker", "drascula")
    assert second[0].turns[0] == Turn("hacker", (second[0].turns[0].clips[0],))
    assert second[0].turns[0].clips[0].text == "THAT'S THE SECOND DOOR"
    assert sum(turn.role == "hacker" for dialogue in second for turn in dialogue.turns) == 25
    assert all(sum(turn.role != "hacker" for turn in dialogue.turns) == 8 for dialogue in second)


@pytest.mark.parametrize(
    "subtitle, said",
    [
        ("At least I don't look it...", "at least i don't look it"),
        ("(sigh) HIC! Ha ha ha!", "[vocalized-noise] [vocalized-noise] [laughter]"),
        ("Ha!", "ha"),
        ("YOU (WHISTLE TWICE), OK?", "you [noise] okay"),
        ("The I.R.S., in 1948; room 512", "the IRS in nineteen forty eight room five twelve"),
        ("half-witted 'em, 'twas jewellery", "half witted 'em twas jewelry"),
        ("Treatment^_ ummm...", "treatment um"),
        ("...", ""),
    ],
)
def test_spelling(subtitle, said):
    assert spelling.words(subtitle) == said.split()


def test_a_new_number_is_no_silent_loss():
    with pytest.raises(ValueError, match="no spelling of a number in '77 doors'"):
        spelling.words("77 doors")


def test_pronunciations():
    pronounce = Pronouncer()
    assert pronounce("about") == [["ax", "b", "aw", "t"]]
    assert pronounce("IRS") == [["ay", "aa", "r", "eh", "s"]]
    assert pronounce("lola's") == [["l", "ow", "l", "ax", "z"]]
    assert pronounce("deadman's")[0][-2:] == ["n", "z"]
    assert pronounce("flyboy") == [["f", "l", "ay", "b", "oy"]]
    assert set(pronounce.ruled) == {"lola's", "deadman's", "flyboy"}
    assert spell("skool") == ["s", "k", "uw", "l"]


def test_mu_law_is_g711():
    """soundfile decodes what we encode; encoding it again gives the same 16-bit values, for all 255 of them."""
    values = np.arange(-32635, 32636, dtype=float)
    data = telephone.sphere([values, values[::-1]], "x")
    decoded, rate = soundfile.read(io.BytesIO(data), dtype="int16")
    assert rate == 8000
    assert np.abs(decoded[:, 0] - values).max() <= 512  # half of the largest step
    assert (decoded[::-1, 1] == decoded[:, 0]).all()
    levels = np.unique(decoded[:, 0]).astype(float)
    assert len(levels) == 255
    assert (soundfile.read(io.BytesIO(telephone.sphere([levels, levels], "x")), dtype="int16")[0][:, 0] == levels).all()


def test_trim_shortens_silences():
    rate = telephone.RATE
    speech = 0.5 * np.sin(2 * np.pi * 440 * np.arange(rate) / rate)
    silence = np.zeros(2 * rate)
    trimmed = telephone.trim(np.concatenate([silence, speech, silence, speech, silence]))
    expected = 2 + telephone.KEEP_PAUSE + 2 * telephone.KEEP_EDGE
    assert abs(len(trimmed) / rate - expected) < 0.05
    assert len(telephone.trim(silence)) == len(telephone.trim(silence[:0])) == 0


def test_line_is_a_telephone():
    rate = telephone.RATE
    t = np.arange(4 * rate) / rate
    heard = telephone.line(np.sin(2 * np.pi * 100 * t) + np.sin(2 * np.pi * 1000 * t), np.random.default_rng(0))
    power = np.abs(np.fft.rfft(heard)) ** 2
    assert power[400] < 1e-3 * power[4000]  # 100 Hz does not pass, 1000 Hz does
    noise = power[2000:3000].mean() * len(power) / power[4000]
    assert 10 ** (-telephone.NOISE_DB[1] / 10) / 2 < noise < 10 ** (-telephone.NOISE_DB[0] / 10) * 2


def test_text_and_length_must_fit():
    assert calls.fits(["hello", "there"], 1.0)
    assert not calls.fits(["hello", "there"], 0.3)
    assert not calls.fits(["no"], 3.0)
    assert calls.fits(["[laughter]"], 3.0)


def dialogue(name, *roles):
    return Dialogue(
        name, ("joe", *roles), (Turn("joe", (Clip(f"text of {name[0]} is here", Path(), 0, 2000, "mp3"),)),)
    )


def test_selection_holds_out_by_fixed_rules():
    first = [dialogue(f"d{i:02d}", "witch" if i == 4 else "bob") for i in range(30)] + [dialogue("ape", "ape")]
    second = [dialogue(f"s{i}", "igor") for i in range(8)]
    parts, known = selection.split(first, second)
    assert [d.name for d in parts["sw"]] == ["d05", "d13", "d22"]
    assert [d.name for d in parts["en"]] == ["s1", "s2", "s3", "s5", "s6", "s7"]
    assert {d.name for d in parts["train"]} == {f"d{i:02d}" for i in range(30)} - {"d05", "d13", "d22"} | {"s0", "s4"}
    assert known == {("text", "of", letter, "is", "here") for letter in "ds"}


def test_smaller_corpora_nest():
    first = [dialogue(f"d{c}", "bob") for c in "abcdefghijklmnopqrstuvwxyz"]
    second = [dialogue(f"s{c}", "igor") for c in "abcdefgh"]
    half, quarter = ({d.name for d in selection.split(first, second, hours=n / 3600)[0]["train"]} for n in (12, 6))
    assert len(quarter) == 6 and len(half) == 12 and quarter < half
    assert min(len(part) for part in selection.split(first, second, hours=1 / 3600)[0].values()) >= 1
    with pytest.raises(ValueError, match="--mini-hours 5: there are only"):
        selection.split(first, second, hours=5)


def files_of(root):
    return {path.relative_to(root): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def test_a_whole_corpus(tmp_path, games):
    parts, known = selection.split(*games)
    assert ("what", "is", "on", "your", "mind") in known
    summary = build.corpus(tmp_path / "a", parts, known, seed=1, processes=1)
    build.corpus(tmp_path / "b", parts, known, seed=1, processes=2)
    assert files_of(tmp_path / "a") == files_of(tmp_path / "b")
    assert summary[0].startswith(f"train: {len(parts['train'])} conversations")
    corpus = tmp_path / "a"
    swbd.prepare_training(corpus / "LDC97S62", tmp_path / "train")
    text = [line.split()[1:] for line in read_lines(tmp_path / "train" / "text")]
    assert ["hello", "there", "bob"] in text
    assert not any(words == ["what", "is", "on", "your", "mind"] for words in text)  # it is in the evaluation
    hub5.prepare(corpus / "LDC2002S09", corpus / "LDC2002T43", tmp_path / "eval")
    assert {line[:2] for line in read_lines(tmp_path / "eval" / "text")} == {"sw", "en"}
    swbd.write_dictionary(swbd.find_transcripts(corpus / "LDC97S62") / "sw-ms98-dict.text", tmp_path / "dict")
    words = {line.split()[0] for line in read_lines(tmp_path / "dict" / "lexicon.txt")}
    assert {word for line in text for word in line} <= words


def test_marks_are_taken_off_again():
    words = ("hello", "there", "[laughter]", "i", "say") * 400
    shown = ldc._mark(words, np.random.default_rng(3))
    assert any("_1" in word for word in shown) and any("[laughter-" in word for word in shown)
    assert swbd_text.training_words(" ".join(shown)) == list(words)


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--mini-hours", "0", "x"], "needs a number above 0, got 0"),
        (["--mini-hour", "1", "x"], "no option --mini-hour; did you mean --mini-hours"),
        (["--debs", "/nowhere", "x"], "no flight-of-the-amazon-queen_.*.deb; fetch it with"),
    ],
)
def test_command_line(tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(PymavgError, match=message):
        make_mini_corpus.main(arguments)
    assert not (tmp_path / "x").exists()
