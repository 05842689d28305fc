"""Audio files in memory, decoded to samples: WAV, FLAC, SPHERE and what else libsndfile reads.

libsndfile returns what is there when a file is cut, and takes compressed SPHERE for PCM; both are refused here by the
files' own headers. References: NIST SPHERE 2.6 header format; RIFF WAVE.
"""

import io
import shutil
import struct

import numpy as np
import soundfile

from pymavg.errors import PymavgError

BLOCK = 1 << 20  # samples read at a time
SPHERE_HEADER = 1 << 14  # bytes that hold any header; 1024 in LDC's files
FULL_SCALE = 32768  # samples come in the range of 16-bit integers, as everywhere in Kaldi
_STREAMED = {0, 0xFFFFFFFF, 0x7FFFFFFF}  # sizes that programs write into a pipe, and nearby ones


def decode(data, name):
    """Decode an audio file.

    Parameters
    ----------
    data : bytes
        The whole file.
    name : str
        Name for messages.

    Returns
    -------
    samples : float32 array (n, channels)
        In the range of 16-bit integers.
    rate : int
        Samples per second.

    Raises
    ------
    PymavgError
        For an empty, cut or unknown file, or SPHERE with shorten compression.
    """
    if not data:
        raise PymavgError(f"{name}: is empty; audio expected")
    if data.startswith(b"NIST_1A"):
        _check_sphere(data, len(data), name)
    elif data.startswith(b"RIFF"):
        data = _check_wave(data, name)
    try:
        with soundfile.SoundFile(io.BytesIO(data)) as file:
            rate, blocks = file.samplerate, [file.read(BLOCK, dtype="float32", always_2d=True)]
            while len(blocks[-1]) == BLOCK:  # in blocks: a damaged length must not fill the memory
                blocks.append(file.read(BLOCK, dtype="float32", always_2d=True))
            samples = np.concatenate(blocks)
    except soundfile.LibsndfileError as error:
        raise PymavgError(f"{name}: byte 0: not an audio file that can be read: {error.error_string}") from error
    if not len(samples):
        raise PymavgError(f"{name}: holds no samples")
    if not np.isfinite(samples).all():
        raise PymavgError(f"{name}: holds samples that are not finite")
    return samples * np.float32(FULL_SCALE), rate


def check_sphere_file(path):
    """Raise PymavgError for a SPHERE file that is empty, cut or of another kind; only its header is read.

    The size of one with shorten compression is not known; it passes where sph2pipe can read it.
    """
    with open(path, "rb") as stream:
        data = stream.read(SPHERE_HEADER)
        size = stream.seek(0, io.SEEK_END)
    if not data.startswith(b"NIST_1A"):
        raise PymavgError(f"{path}: {'a SPHERE file expected, found another' if data else 'is empty; audio expected'}")
    if not (b",embedded-shorten" in data and shutil.which("sph2pipe")):
        _check_sphere(data, size, path)


def _check_sphere(data, size, name):
    header_size = data[8:16].strip()
    if not header_size.isdigit():
        raise PymavgError(f"{name}: a SPHERE header size expected, found {header_size!r}; the file is damaged")
    fields = {}
    for line in data[16 : int(header_size)].split(b"\n"):
        words = line.split()
        if len(words) == 3:
            fields[words[0].decode("latin-1")] = words[2].decode("latin-1")
    coding = fields.get("sample_coding", "pcm")
    if "," in coding:
        raise PymavgError(
            f"{name}: SPHERE with '{coding.split(',')[1]}' compression is not supported; decompress it: install "
            f"sph2pipe and use 'sph2pipe -f wav -p -c 1 {name} |' in wav.scp"
        )
    try:
        frame = int(fields.get("channel_count", 1)) * int(fields.get("sample_n_bytes", 2))
        expected = int(fields["sample_count"]) * frame
    except (KeyError, ValueError):
        raise PymavgError(f"{name}: a SPHERE header with sample_count expected; the file is damaged") from None
    _check_size(size, expected, int(header_size), name)


def _check_wave(data, name):
    """Check the size of the data chunk; return the file with a usable size where a program wrote it into a pipe."""
    at = 12
    while at + 8 <= len(data):
        kind, size = data[at : at + 4], struct.unpack_from("<I", data, at + 4)[0]
        if kind == b"data":
            present = len(data) - at - 8
            if size in _STREAMED or size > 0x7FFFFF00:
                return data[: at + 4] + struct.pack("<I", present) + data[at + 8 :]
            _check_size(len(data), size, at + 8, name)
            return data
        at += 8 + size + size % 2
    raise PymavgError(f"{name}: a WAV file with a data chunk expected, found none; the file is cut or damaged")


def _check_size(present, expected, start, name):
    if present - start < expected:
        found = f"{expected} bytes of audio expected from byte {start} on, {max(0, present - start)} present"
        raise PymavgError(f"{name}: {found}; the file is cut")
