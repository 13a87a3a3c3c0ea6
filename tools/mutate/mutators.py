"""Ways to damage a file that the tests do not have: blocks moved, numbers and texts exchanged for odd
ones, encodings, archives, databases, tables and headers altered from within.

Each takes the bytes of a file and a generator of random numbers and gives other bytes, or the same
where it does not apply.
"""

from __future__ import annotations

import gzip
import io
import json
import random
import re
import sqlite3
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

Mutator = Callable[[bytes, random.Random], bytes]

_NUMBERS = (
    "1e999",
    "-1e999",
    "-0",
    "NaN",
    "Infinity",
    "1_000",
    "0x10",
    "1" * 400,
    "1e-400",
    "٣",
    "1.",
    "--1",
)
_TEXTS = (
    '"\\ud800"', '"\\u0000"', '"\u202egnp.x"', '"' + "a\u0301" * 3000 + '"', '"=1+1"', '"' + "(" * 500 + '"',
    '"..\\\\..\\\\x"', '"CON"', '"\\n\\n"', '"%s%n{0}{x}"',
    '"\ufeff"', '"file:///etc/passwd"', '"a/b/c/"', '" "',
)  # fmt: skip
_HEADS = (
    *(b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff\xe0", b"GIF89a", b"NDims = 3\n", bytes(128) + b"DICM"),
    *(b"PK\x03\x04", b"\x1f\x8b\x08", b"BZh9", b"\x28\xb5\x2f\xfd", b"PAR1", b"SQLite format 3\0"),
    *(b"%PDF-1.7", b"\xef\xbb\xbf"),
)
_INTEGERS = (0, 1, -1, 0x7F, 0xFF, 0x7FFF, 0xFFFF, 0x7FFF_FFFF, 0xFFFF_FFFF, 1 << 62, (1 << 64) - 1)


def _span(data: bytes, rng: random.Random, most: int = 4096) -> tuple[int, int]:
    begin = rng.randrange(len(data) + 1)
    return begin, min(len(data), begin + rng.choice((1, 2, 4, 16, 64, 512, most)))


# ---- bytes -----------------------------------------------------------------------------------


def move_block(data: bytes, rng: random.Random) -> bytes:
    """A block laid over another place."""
    begin, end = _span(data, rng)
    at = rng.randrange(len(data) + 1)
    return data[:at] + data[begin:end] + data[at + end - begin :]


def insert_block(data: bytes, rng: random.Random) -> bytes:
    """Zeros, ones, random bytes or a block of the file itself, put in between."""
    begin, end = _span(data, rng)
    block = rng.choice(
        (bytes(end - begin), b"\xff" * (end - begin), rng.randbytes(end - begin), data[begin:end])
    )
    return data[:begin] + block + data[begin:]


def remove_block(data: bytes, rng: random.Random) -> bytes:
    """A block taken out of the middle."""
    begin, end = _span(data, rng)
    return data[:begin] + data[end:]


def set_integer(data: bytes, rng: random.Random) -> bytes:
    """An integer of the file's beginning, or of anywhere, made an extreme one."""
    if len(data) < 8:
        return data
    most = min(len(data), rng.choice((64, 400, 4096, len(data)))) - 8
    at = rng.randrange(max(1, most)) & ~rng.choice((0, 1, 3))
    order, kind = rng.choice("<>"), rng.choice("BHIQ")
    value = rng.choice(_INTEGERS) & ((1 << 8 * struct.calcsize(kind)) - 1)
    made = bytearray(data)
    struct.pack_into(order + kind, made, at, value)
    return bytes(made)


def double_file(data: bytes, rng: random.Random) -> bytes:
    """The file twice, or with its own beginning at its end."""
    return data + data[: rng.choice((len(data), 1, len(data) // 2))]


def wrong_kind(data: bytes, rng: random.Random) -> bytes:
    """The beginning of another kind of file, and the rest of this one."""
    head = rng.choice(_HEADS)
    return head + data[rng.choice((0, len(head))) :]


# ---- texts -----------------------------------------------------------------------------------


def odd_number(data: bytes, rng: random.Random) -> bytes:
    """A number exchanged for one that few programs expect."""
    return _exchange(data, rng, rb"(?<![\w.])-?\d+(?:\.\d+)?(?![\w.])", rng.choice(_NUMBERS).encode())


def odd_text(data: bytes, rng: random.Random) -> bytes:
    """A quoted text exchanged for an odd one."""
    return _exchange(data, rng, rb'"(?:[^"\\\n]|\\.)*"', rng.choice(_TEXTS).encode("utf-8", "surrogatepass"))


def deep_value(data: bytes, rng: random.Random) -> bytes:
    """A value exchanged for thousands of nested lists or objects."""
    depth = rng.choice((10, 600, 20_000, 200_000))
    deep = rng.choice((b"[" * depth + b"]" * depth, b'{"a":' * depth + b"1" + b"}" * depth, b"[" * depth))
    return _exchange(data, rng, rb'"(?:[^"\\\n]|\\.)*"|\d+', deep)


def _exchange(data: bytes, rng: random.Random, pattern: bytes, new: bytes) -> bytes:
    found = list(re.finditer(pattern, data[: 1 << 20]))
    if not found:
        return data
    match = rng.choice(found)
    return data[: match.start()] + new + data[match.end() :]


def other_encoding(data: bytes, rng: random.Random) -> bytes:
    """The text as another system would have stored it."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return data
    way = rng.randrange(8)
    if way < 4:
        return text.encode(("utf-16", "utf-8-sig", "utf-32", "latin-1")[way], "replace")
    return text.replace("\n", ("\r\n", "\r", "\u2028", "\n\n\0")[way - 4]).encode()


def shuffle_lines(data: bytes, rng: random.Random) -> bytes:
    """Lines doubled, joined, split or exchanged."""
    lines = data.split(b"\n")
    at, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    way = rng.randrange(5)
    if way == 0:
        lines.insert(at, lines[other])
    elif way == 1:
        lines[at : at + 2] = [b" ".join(lines[at : at + 2])]
    elif way == 2:
        cut = rng.randrange(len(lines[at]) + 1)
        lines[at : at + 1] = [lines[at][:cut], lines[at][cut:]]
    elif way == 3:
        lines[at], lines[other] = lines[other], lines[at]
    else:
        lines[at] = lines[at][::-1]
    return b"\n".join(lines)


def exchange_marks(data: bytes, rng: random.Random) -> bytes:
    """A mark of the grammar exchanged for another, once or everywhere."""
    one, other = rng.sample([b",", b";", b"\t", b'"', b"'", b":", b"{", b"]", b"=", b"|", b"\\"], 2)
    return data.replace(one, other) if rng.random() < 0.3 else _exchange(data, rng, re.escape(one), other)


def exchange_keys(data: bytes, rng: random.Random) -> bytes:
    """In JSON rows: two values exchanged, a key doubled, renamed, or in other letters."""
    lines = data.split(b"\n")
    at = rng.randrange(len(lines))
    try:
        row = json.loads(lines[at])
    except (ValueError, RecursionError):
        return data
    if not isinstance(row, dict) or len(row) < 2:
        return data
    one, other = rng.sample(sorted(row), 2)
    way = rng.randrange(4)
    if way == 0:
        row[one], row[other] = row[other], row[one]
    elif way == 1:
        row[one.upper()] = row.pop(one)
    elif way == 2:
        row[f" {one}"] = row.pop(one)
    lines[at] = json.dumps(row).encode()
    if way == 3:
        lines[at] = (
            lines[at][:-1] + b"," + json.dumps(one).encode() + b":" + json.dumps(row[other]).encode() + b"}"
        )
    return b"\n".join(lines)


# ---- what is packed --------------------------------------------------------------------------


def within_gzip(data: bytes, rng: random.Random) -> bytes:
    """What is compressed altered and compressed again, or rubbish after its end."""
    if data[:2] != b"\x1f\x8b":
        return data
    if rng.random() < 0.2:
        return data + rng.choice((b"\0" * 9, b"rubbish", data))
    try:
        inner = gzip.decompress(data)
    except (EOFError, OSError, zlib.error):
        return data
    return gzip.compress(
        rng.choice((set_integer, remove_block, move_block, insert_block))(inner, rng), 1, mtime=0
    )


def within_zip(data: bytes, rng: random.Random) -> bytes:
    """A member altered, renamed, doubled, left out or put in a folder too many."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = [(name, archive.read(name)) for name in archive.namelist()]
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError):
        return data
    if not members:
        return data
    at = rng.randrange(len(members))
    name, body = members[at]
    way = rng.randrange(6)
    names = (
        f"../{name}",
        name.upper(),
        f"a/b/{name}",
        f"/{name}",
        name + " ",
        "\u202e" + name,
        "con",
        f"{name}/",
    )
    made = {
        0: [(name, rng.choice(ANYWHERE)(body, rng))],
        1: [(rng.choice(names), body)],
        2: [(name, body), (name, body[:-1])],
        3: [],
        4: [(name, b"")],
        5: [(name, data)],
    }[way]
    members[at : at + 1] = made
    out = io.BytesIO()
    import warnings

    with warnings.catch_warnings(), zipfile.ZipFile(out, "w", rng.choice((0, 8))) as archive:
        warnings.simplefilter("ignore")
        for member, content in members:
            archive.writestr(member, content)
    return out.getvalue()


def within_sqlite(data: bytes, rng: random.Random) -> bytes:
    """A cell of another kind, a column or a table taken away or renamed, another version."""
    if not data.startswith(b"SQLite format 3"):
        return data
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "base"
        path.write_bytes(data)
        base = sqlite3.connect(path)
        try:
            base.execute("PRAGMA journal_mode = DELETE")
            tables = [row[0] for row in base.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            table = rng.choice(tables)
            columns = [row[1] for row in base.execute(f'PRAGMA table_info("{table}")')]
            column = rng.choice(columns)
            odd = rng.choice(
                (
                    None,
                    b"\xff\x00",
                    1 << 62,
                    -1,
                    1e308,
                    "",
                    "[" * 3000,
                    '{"a": 1e999}',
                    '"\\ud800"',
                    "null",
                    "[]",
                    "1",
                )
            )
            way = rng.randrange(8)
            if way < 4:
                base.execute(f'UPDATE "{table}" SET "{column}" = ?', (odd,))
            elif way == 4:
                base.execute(f'ALTER TABLE "{table}" DROP COLUMN "{column}"')
            elif way == 5:
                base.execute(f'ALTER TABLE "{table}" RENAME COLUMN "{column}" TO "other"')
            elif way == 6:
                base.execute(f'DROP TABLE "{table}"')
            else:
                base.execute(f"PRAGMA {rng.choice(('user_version', 'application_id'))} = {rng.randrange(9)}")
            base.commit()
        except sqlite3.Error:
            return data
        finally:
            base.close()
        return path.read_bytes()


def within_parquet(data: bytes, rng: random.Random) -> bytes:
    """A column of another type, of nulls, taken away, doubled or under another name."""
    if data[:4] != b"PAR1":
        return data
    import pyarrow as pa
    from pyarrow import parquet

    try:
        table = parquet.read_table(io.BytesIO(data))
    except (pa.ArrowException, OSError):
        return data
    if not table.num_columns:
        return data
    at = rng.randrange(table.num_columns)
    name = table.column_names[at]
    way = rng.randrange(6)
    if way == 0:
        table = table.remove_column(at)
    elif way == 1:
        table = table.set_column(at, name, pa.nulls(len(table)))
    elif way == 2:
        odd = rng.choice((1, 1.5, b"\xff", True, [1], {"a": 1}, "\u202e"))
        table = table.set_column(at, name, pa.array([odd] * len(table)))
    elif way == 3:
        table = table.append_column(name, table.column(at))
    elif way == 4:
        table = table.rename_columns([*table.column_names[:at], name.upper(), *table.column_names[at + 1 :]])
    else:
        table = table.slice(0, 0)
    out = io.BytesIO()
    parquet.write_table(table, out)
    return out.getvalue()


ANYWHERE: tuple[Mutator, ...] = (move_block, insert_block, remove_block, set_integer, double_file, wrong_kind)
TEXTS: tuple[Mutator, ...] = (
    odd_number, odd_text, deep_value, other_encoding, shuffle_lines, exchange_marks, exchange_keys,
)  # fmt: skip
PACKED: tuple[Mutator, ...] = (within_gzip, within_zip, within_sqlite, within_parquet)


def mutate(data: bytes, rng: random.Random) -> tuple[str, bytes]:
    """(names of what was done, the damaged bytes): what fits this kind of file first."""
    packed = {b"\x1f\x8b": within_gzip, b"PK": within_zip, b"SQ": within_sqlite, b"PA": within_parquet}
    inside = packed.get(data[:2])
    readable = b"\0" not in data[:4096] and inside is None and data[:2] not in (b"\xff\xd8", b"\x89P")
    names = []
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        if inside is not None and rng.random() < 0.6:
            way: Mutator = inside
        elif readable and rng.random() < 0.8:
            way = rng.choice(TEXTS)
        else:
            way = rng.choice(ANYWHERE)
        try:
            data = way(data, rng)
        except Exception:  # damaged by an earlier one so that this one cannot read it
            continue
        names.append(way.__name__)
    return "+".join(names), data
