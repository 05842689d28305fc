"""Every kind of file that pymavg knows, with what describes and what copies it."""

from pymavg.errors import PymavgError
from pymavg.formats import archives, objects, texts
from pymavg.formats.recognise import recognise, recognise_script

ARCHIVES = (*archives.RULES, "lattices", "FSTs")
DESCRIBE = {
    **objects.DESCRIBE,
    "FST": archives.fst,
    "FSTs": archives.fsts,
    "lattices": archives.lattices,
    "audio": texts.audio,
    "ARPA": texts.arpa,
    "text": texts.describe,
}


def describe(path):
    """Return the lines that tell what the file `path` is and holds; all of it is read.

    Raises
    ------
    PymavgError
        When it is missing, damaged, or nothing that is known.
    """
    kind, head, compressed = recognise(path)
    title, lines = DESCRIBE[kind](path) if kind in DESCRIBE else archives.describe(kind, f"ark:{path}")
    form = [] if kind in ("text", "audio", "ARPA") else ["binary" if b"\0" in head else "text"]
    form += ["gzip"] if compressed else []
    return [f"{path}: {title}" + (f" ({', '.join(form)})" if form else ""), *(f"  {line}" for line in lines)]


def copy(place, out, binary=True, scp=None, compress=False):
    """Write a file in another form; return (kind, number of entries of an archive or None).

    Parameters
    ----------
    place : str
        The file; `ark:…` or `scp:…` too.
    out : str
        What is written.
    binary : bool
        Text when False.
    scp : str, optional
        Index to write beside a binary archive.
    compress : bool or int
        Write matrices by Kaldi's compression method of this number; True is 1, which takes 8 bits per number.
    """
    if place.startswith(("scp:", "ark:")):
        table, path = place, place.partition(":")[2]
        kind = recognise_script(path) if place.startswith("scp:") else recognise(path)[0]
    else:
        table, path, kind = f"ark:{place}", place, recognise(place)[0]
    if (scp or compress) and kind not in archives.RULES:
        raise PymavgError(f"{path}: --scp and --compress are for archives, found {kind}")
    if compress and (kind != "matrices" or not binary):
        raise PymavgError(f"{path}: --compress is for binary archives of matrices, found {kind}")
    if kind in archives.RULES:
        return kind, archives.write_archive(kind, table, out, binary, scp, compress)
    if kind in ARCHIVES:
        return kind, archives.write_archive(kind, path, out, binary)
    if kind == "FST":
        archives.write_one_fst(path, out, binary)
    elif kind in objects.DESCRIBE:
        objects.write_object(kind, path, out, binary)
    else:
        raise PymavgError(f"{path}: {kind}, which has no other form; copy it with cp")
    return kind, None
