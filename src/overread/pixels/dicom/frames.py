"""Compressed frames of a DICOM file to pixels: who decodes what, and how safely.

Pillow decodes where it can. GDCM decodes the rest in a process of its own, because a damaged
frame makes it end the whole process (std::terminate), which no `except` can catch.
"""

from __future__ import annotations

import atexit
import copy
import importlib.util
import json
import os
import struct
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, Final, TypeAlias

from numpy.typing import NDArray
from pydicom import uid
from pydicom.dataset import Dataset, FileMetaDataset
from pydicom.encaps import get_frame
from pydicom.pixels.decoders.base import get_decoder

from overread.errors import PictureError, UsageError
from overread.pixels.jpeg_damage import refuse_damaged_jpeg

Pixels: TypeAlias = NDArray[Any]

FRAME_TIMEOUT: Final = 60.0
"""Seconds GDCM may take for one frame."""
REEXPORT: Final = "export the file again from where it came"

NATIVE: Final = (
    uid.ImplicitVRLittleEndian,
    uid.ExplicitVRLittleEndian,
    uid.DeflatedExplicitVRLittleEndian,
    uid.ExplicitVRBigEndian,
)
# Who decodes what, in the order they are asked. pylibjpeg is never asked, even where it is
# installed: its libjpeg is GPL, and two decoders would make one file two pictures.
_DECODERS: Final[dict[uid.UID, tuple[str, ...]]] = {
    **dict.fromkeys(NATIVE, ("",)),
    uid.RLELossless: ("pydicom",),
    uid.JPEGBaseline8Bit: ("pillow", "gdcm"),
    uid.JPEGExtended12Bit: ("pillow", "gdcm"),
    uid.JPEGLossless: ("gdcm",),
    uid.JPEGLosslessSV1: ("gdcm",),
    uid.JPEGLSLossless: ("gdcm",),
    uid.JPEGLSNearLossless: ("gdcm",),
    uid.JPEG2000Lossless: ("pillow", "gdcm"),
    uid.JPEG2000: ("pillow", "gdcm"),
    uid.HTJ2KLossless: ("pillow",),
    uid.HTJ2KLosslessRPCL: ("pillow",),
    uid.HTJ2K: ("pillow",),
}
_HTJ2K: Final = (uid.HTJ2KLossless, uid.HTJ2KLosslessRPCL, uid.HTJ2K)
_HTJ2K_DECODER: Final = (2, 5)
"""Since this version OpenJPEG, which Pillow brings along, decodes HTJ2K."""
# Start-of-frame markers of JPEG (C4, C8 and CC are other things) and JPEG-LS (F7).
_FRAME_MARKERS = frozenset({*range(0xC0, 0xD0), 0xF7} - {0xC4, 0xC8, 0xCC})


def decodable_syntaxes() -> dict[str, bool]:
    """Each transfer syntax by its DICOM name, and whether this install can decode it."""
    return {syntax.name: bool(available_decoders(syntax)) for syntax in _DECODERS}


def available_decoders(syntax: uid.UID) -> tuple[str, ...]:
    """The decoders of a transfer syntax that are installed, in the order they are tried."""
    asked = _DECODERS.get(syntax, ())
    if syntax in NATIVE or not asked:
        return asked
    if syntax in _HTJ2K:
        return asked if _decodes_htj2k() else ()
    here = {*get_decoder(syntax).available_plugins} - {"gdcm"}
    if importlib.util.find_spec("gdcm") is not None:
        here.add("gdcm")
    return tuple(name for name in asked if name in here)


def missing_decoder_remedy(syntax: uid.UID) -> str:
    """What to do where nothing that is installed decodes a transfer syntax."""
    if syntax in _HTJ2K:
        return "pip install --upgrade pillow: it decodes HTJ2K with OpenJPEG 2.5 or later"
    return "see 'overread doctor', or convert the file with 'gdcmconv --raw'"


def _decodes_htj2k() -> bool:
    """Whether Pillow has an OpenJPEG that is new enough."""
    from PIL import features

    version = str(features.version("jpg_2000") or "0").split(".")
    try:
        return (int(version[0]), int(version[1])) >= _HTJ2K_DECODER
    except (ValueError, IndexError):
        return False


def positive_int(dataset: Dataset, keyword: str, where: str, default: int = 0) -> int:
    """A positive whole number of the header."""
    value = dataset.get(keyword)
    try:
        number = default if value is None or value == "" else int(value)
    except (TypeError, ValueError):
        number = 0
    if number < 1:
        raise PictureError(
            f"{keyword} of the header is {value!r}, not a positive number", where=where, remedy=REEXPORT
        )
    return number


def decode_frame(dataset: Dataset, frame: int, where: str) -> tuple[Pixels, str]:
    """One frame (rows, columns[, 3]) and its photometric interpretation after decoding."""
    frames = positive_int(dataset, "NumberOfFrames", where, 1)
    if not 0 <= frame < frames:
        raise UsageError(f"there is no frame {frame}", where=where, remedy=f"give 0 to {frames - 1}")
    syntax = dataset.file_meta.TransferSyntaxUID
    coded, bits = b"", 0
    if syntax.is_encapsulated:
        table, lengths = (dataset.get("ExtendedOffsetTable"), dataset.get("ExtendedOffsetTableLengths"))
        offsets = (table, lengths) if table and lengths else None
        coded = get_frame(dataset.PixelData, frame, number_of_frames=frames, extended_offsets=offsets)
        bits = 0 if syntax == uid.RLELossless else _coded_bits(coded, dataset, where)
        if syntax == uid.JPEGBaseline8Bit:
            refuse_damaged_jpeg(coded, where)
    reasons: list[str] = []
    for name in available_decoders(syntax):
        try:
            if name == "gdcm":
                pixels, note = _decode_with_gdcm(coded, bits, dataset)
            else:
                shown = _as_jpeg2000(dataset) if syntax in _HTJ2K else dataset
                decoder = get_decoder(shown.file_meta.TransferSyntaxUID)
                pixels, note = decoder.as_array(shown, index=frame, decoding_plugin=name)
        except Exception as error:
            reasons.append(" ".join(str(error).split())[-120:])
        else:
            return pixels, str(note["photometric_interpretation"])
    raise PictureError(
        f"frame {frame} cannot be decoded ({'; '.join(reasons)})", where=where, remedy=REEXPORT
    )


def _as_jpeg2000(dataset: Dataset) -> Dataset:
    """The same dataset under the name of the older syntax, under which pydicom asks Pillow.

    HTJ2K differs from it within the code-blocks only, and the stream itself tells which it is.
    """
    twin = copy.copy(dataset)
    twin.file_meta = FileMetaDataset()
    twin.file_meta.TransferSyntaxUID = uid.JPEG2000Lossless
    return twin


def _coded_bits(coded: bytes, dataset: Dataset, where: str) -> int:
    """Bits of a sample in a compressed frame; raise unless it is of the size the header states.

    A frame of another size is how a decoder is led out of its buffer, and a frame of one pixel
    would be spread over the whole picture.
    """
    found: tuple[int, ...] = ()
    bits = 0
    if dataset.file_meta.TransferSyntaxUID in (*uid.JPEG2000TransferSyntaxes, *_HTJ2K):
        start = coded.find(b"\xff\x4f\xff\x51", 0, 4096)
        if start >= 0 and len(coded) > start + 42:
            right, bottom, left, top = struct.unpack_from(">4I", coded, start + 8)
            samples, bits = struct.unpack_from(">HB", coded, start + 40)
            found, bits = (bottom - top, right - left, samples), (bits & 0x7F) + 1
    else:
        at = 2
        while at + 10 <= len(coded) and coded[at] == 0xFF:
            if coded[at + 1] in _FRAME_MARKERS:
                bits, *size = struct.unpack_from(">BHHB", coded, at + 4)
                found = tuple(size)
                break
            padding = coded[at + 1] == 0xFF
            at += 1 if padding else 2 + struct.unpack_from(">H", coded, at + 2)[0]
    keywords = ("Rows", "Columns", "SamplesPerPixel")
    stated = tuple(positive_int(dataset, keyword, where, 1) for keyword in keywords)
    if found != stated or not 0 < bits <= positive_int(dataset, "BitsAllocated", where):
        size_found = f"(rows, columns, samples) {found} of {bits} bits" if found else "no size"
        raise PictureError(
            f"a compressed frame states {size_found} and the header {stated}", where=where, remedy=REEXPORT
        )
    return bits


def _decode_with_gdcm(coded: bytes, bits: int, dataset: Dataset) -> tuple[Pixels, dict[str, str | int]]:
    """One frame through the GDCM process, then through pydicom as if it had been stored raw."""
    syntax = dataset.file_meta.TransferSyntaxUID
    allocated, stored = int(dataset.BitsAllocated), int(dataset.BitsStored)
    if syntax in (*uid.JPEGLSTransferSyntaxes, *uid.JPEG2000TransferSyntaxes):
        # Here GDCM goes by what the frame says of itself, not by the header.
        allocated, stored = (8 if bits <= 8 else 16 if bits <= 16 else 32), bits
    job: dict[str, Any] = {
        "rows": int(dataset.Rows),
        "columns": int(dataset.Columns),
        "samples_per_pixel": int(dataset.get("SamplesPerPixel") or 1),
        "planar_configuration": int(dataset.get("PlanarConfiguration") or 0),
        "photometric_interpretation": str(dataset.PhotometricInterpretation),
        "bits_allocated": allocated,
        "bits_stored": stored,
        "pixel_representation": int(dataset.get("PixelRepresentation") or 0),
    }
    raw = _gdcm.decode(coded, {**job, "syntax": str(syntax)})
    # GDCM undoes the colour transform of JPEG 2000 and the subsampling of 4:2:2 by itself, and
    # gives JPEG-LS colour by pixel whatever the header says.
    changed = {"YBR_ICT": "RGB", "YBR_RCT": "RGB", "YBR_FULL_422": "YBR_FULL"}
    photometric = job["photometric_interpretation"]
    job["photometric_interpretation"] = changed.get(photometric, photometric)
    if syntax in uid.JPEGLSTransferSyntaxes:
        job["planar_configuration"] = 0
    job |= {"number_of_frames": 1, "pixel_keyword": "PixelData"}
    return get_decoder(uid.ExplicitVRLittleEndian).as_array(raw, index=0, **job)


class _GdcmProcess:
    """GDCM in a process that may die: started when first needed, and again after a death."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # By the process that started it: after a fork, parent and child must not share pipes.
        self._started: dict[int, subprocess.Popen[bytes]] = {}
        atexit.register(self.end)

    def decode(self, coded: bytes, job: dict[str, Any]) -> bytes:
        """The raw bytes of a frame; ValueError where GDCM cannot, or died trying."""
        with self._lock:
            process = self._running_process()
            assert process.stdin is not None
            assert process.stdout is not None
            alarm = threading.Timer(FRAME_TIMEOUT, process.kill)
            alarm.start()
            try:
                process.stdin.write(json.dumps({**job, "length": len(coded)}).encode() + b"\n")
                process.stdin.write(coded)
                process.stdin.flush()
                answer = process.stdout.readline()
                raw = process.stdout.read(int(answer or 0))
            except OSError:
                answer, raw = b"", b""
            finally:
                alarm.cancel()
            if not answer or len(raw) < int(answer):
                self.end()
                raise ValueError("GDCM crashed or timed out on this frame")
        samples = job["rows"] * job["columns"] * job["samples_per_pixel"]
        expected = samples * (job["bits_allocated"] // 8)
        if len(raw) != expected:
            raise ValueError(f"GDCM gave {len(raw)} bytes for a frame of {expected}")
        return raw

    def end(self) -> None:
        """End the process, if there is one."""
        process = self._started.pop(os.getpid(), None)
        if process is not None:
            process.kill()
            process.communicate()

    def _running_process(self) -> subprocess.Popen[bytes]:
        process = self._started.get(os.getpid())
        if process is not None and process.poll() is not None:
            self.end()
            process = None
        return process or self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        # The child must find what this process has imported, wherever that was found.
        places = os.pathsep.join(place or str(Path.cwd()) for place in sys.path)
        process = subprocess.Popen(
            [sys.executable, "-c", "from overread.pixels.dicom.frames import serve_gdcm; serve_gdcm()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": places},
        )
        self._started[os.getpid()] = process
        return process


_gdcm = _GdcmProcess()


def serve_gdcm() -> None:
    """Decode the frames sent on standard input until it ends; what `_GdcmProcess` runs."""
    import gdcm

    # GDCM's libraries print as they like, so the answers get a descriptor of their own.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    while line := sys.stdin.buffer.readline():
        job = json.loads(line)
        fragment = gdcm.Fragment()
        fragment.SetByteStringValue(sys.stdin.buffer.read(job["length"]))
        fragments = gdcm.SequenceOfFragments.New()
        fragments.AddFragment(fragment)
        element = gdcm.DataElement(gdcm.Tag(0x7FE0, 0x0010))
        element.SetValue(fragments.__ref__())
        image = gdcm.Image()
        image.SetNumberOfDimensions(2)
        image.SetDimensions((job["columns"], job["rows"], 1))
        image.SetDataElement(element)
        photometric = gdcm.PhotometricInterpretation.GetPIType(job["photometric_interpretation"])
        image.SetPhotometricInterpretation(gdcm.PhotometricInterpretation(photometric))
        if job["samples_per_pixel"] > 1:
            image.SetPlanarConfiguration(job["planar_configuration"])
        syntax = gdcm.TransferSyntax.GetTSType(job["syntax"])
        image.SetTransferSyntax(gdcm.TransferSyntax(syntax))
        stored = job["bits_stored"]
        bits = (job["bits_allocated"], stored, stored - 1, job["pixel_representation"])
        image.SetPixelFormat(gdcm.PixelFormat(job["samples_per_pixel"], *bits))
        # GDCM hands bytes over as a str, and None where it failed.
        raw = (image.GetBuffer() or "").encode("utf-8", "surrogateescape")
        answers.write(b"%d\n" % len(raw) + raw)
        answers.flush()
