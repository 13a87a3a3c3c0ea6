"""Label Studio's brush masks: runs of bytes packed bit by bit, four bytes a pixel.

A header says how many bytes there are (32 bits), how many bits a byte takes (5 bits, less one) and
how many bits each of four kinds of run lengths takes (4 bits each, less one). Then follow runs: one
bit whether a byte is repeated, two for the kind of length, the length less one, and the byte, or as
many bytes as the length says. A pixel is marked where the fourth of its bytes, the opacity, is over a half.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from overread.errors import PictureError

_HEADER = 32 + 5 + 4 * 4
_LENGTH_BITS = (3, 4, 8, 16)
_CHANNELS = 4
_REDRAW = "export the annotations again from Label Studio as JSON"


def decode_brush(packed: Sequence[int], width: int, height: int, *, where: str = "") -> NDArray[np.bool_]:
    """The marked pixels as (height, width); raises `PictureError` where the runs are damaged."""
    try:
        data = bytes(packed)
    except (TypeError, ValueError, OverflowError):
        raise PictureError("a brush mask is not a list of bytes", where=where, remedy=_REDRAW) from None
    bits = np.unpackbits(np.frombuffer(data, np.uint8))
    total = width * height * _CHANNELS
    if len(bits) < _HEADER:
        raise PictureError("a brush mask is cut off", where=where, remedy=_REDRAW)
    stated, word = _number(bits[:32]), _number(bits[32:37]) + 1
    if stated != total or word != 8:
        raise PictureError(
            f"a brush mask has {stated:,} bytes of {word} bits for a picture of {width}×{height}",
            where=where,
            remedy=_REDRAW,
        )
    sizes = [_number(bits[37 + 4 * n : 41 + 4 * n]) + 1 for n in range(4)]
    out: NDArray[np.uint8] = np.zeros(total, np.uint8)
    place, done = _HEADER, 0
    while done < total:
        if place + 3 > len(bits):
            raise PictureError("a brush mask is cut off", where=where, remedy=_REDRAW)
        repeated, kind = bits[place], _number(bits[place + 1 : place + 3])
        place += 3
        length = _number(bits[place : place + sizes[kind]]) + 1
        place += sizes[kind]
        taken = 8 * (1 if repeated else length)
        values = np.packbits(bits[place : place + taken])
        place += taken
        if place > len(bits) or done + length > total:
            raise PictureError("a brush mask is cut off or damaged", where=where, remedy=_REDRAW)
        out[done : done + length] = values
        done += length
    return out.reshape(height, width, _CHANNELS)[..., 3] > 127


def encode_brush(mask: NDArray[Any]) -> list[int]:
    """The marked pixels of a (height, width) array, as Label Studio packs them."""
    flat = np.repeat((np.asarray(mask) > 0).astype(np.uint8).ravel() * 255, _CHANNELS)
    edges = np.flatnonzero(np.diff(flat)) + 1
    parts = [f"{len(flat):032b}{7:05b}" + "".join(f"{size - 1:04b}" for size in _LENGTH_BITS)]
    for start, end in zip([0, *edges.tolist()], [*edges.tolist(), len(flat)], strict=True):
        left = end - start
        while left:
            kind = next((n for n, size in enumerate(_LENGTH_BITS) if left <= 1 << size), 3)
            length = min(left, 1 << _LENGTH_BITS[kind])
            parts.append(f"1{kind:02b}{length - 1:0{_LENGTH_BITS[kind]}b}{int(flat[start]):08b}")
            left -= length
    bits = np.frombuffer("".join(parts).encode("ascii"), np.uint8) - ord("0")
    packed: list[int] = np.packbits(bits).tolist()
    return packed


def _number(bits: NDArray[np.uint8]) -> int:
    value = 0
    for bit in bits.tolist():
        value = 2 * value + bit
    return value
