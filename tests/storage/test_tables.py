"""What users bring as texts and tables: encodings, delimiters, CSV and JSON lines."""

from __future__ import annotations

import csv
import io
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.errors import OverreadError
from overread.storage.tables import (
    DELIMITERS,
    decode_text,
    find_bad_byte,
    guess_delimiter,
    open_text,
    read_csv,
    read_sheet,
    read_user_file,
    require_text,
    split_jsonl,
)

WORDS = "id,text\n1,Größe 🩻\u2028\n"


@pytest.mark.parametrize(
    "raw",
    [
        WORDS.encode(),
        WORDS.encode("utf-8-sig"),
        WORDS.encode("utf-16"),
        b"\xfe\xff" + WORDS.encode("utf-16-be"),
    ],
    ids=["utf-8", "with a mark", "utf-16", "big-endian"],
)
def test_marks_tell_the_encoding(tmp_path: Path, raw: bytes) -> None:
    """UTF-8 with or without a mark, UTF-16 with one; whole or as a stream."""
    assert decode_text(raw) == require_text(raw) == WORDS
    (tmp_path / "x").write_bytes(raw)
    with open_text(tmp_path / "x") as stream:
        assert stream.read() == WORDS
    assert read_user_file(tmp_path / "x", "words") == WORDS


@pytest.mark.parametrize(
    ("raw", "line", "value"),
    [
        (b"id\n1,caf\xe9\n", 2, 0xE9),
        (b"\xef\xbb\xbf\xff", 1, 0xFF),
        (b"\xff\xfea\x00\n\x00\x3d\xd8b\x00", 2, 0x3D),
        (b"\xff\xfea\x00\x41", 1, 0x41),
    ],
    ids=["Latin-1", "after a mark", "half a pair", "half a letter"],
)
def test_a_bad_byte_is_never_replaced_in_silence(raw: bytes, line: int, value: int) -> None:
    """It is kept apart, found with its line, and refused where text is required."""
    text = decode_text(raw)
    assert "\ufffd" not in text
    assert find_bad_byte(text) == (line, value)
    with pytest.raises(OverreadError, match=f"line {line} holds byte 0x{value:02x}.*not UTF-8"):
        require_text(raw, "here")


@given(st.binary(max_size=200))
def test_any_bytes_can_be_decoded(raw: bytes) -> None:
    """Nothing raises, and what is found bad is exactly what Python refuses."""
    wide = raw[:2] in (b"\xff\xfe", b"\xfe\xff")
    try:
        expected = raw.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError:
        assert find_bad_byte(decode_text(raw)) is not None
    else:
        assert decode_text(raw) == expected
        assert find_bad_byte(expected) is None


@pytest.mark.parametrize(
    ("header", "known", "sign"),
    [
        ("id,text", (), ","),
        ("id;text", (), ";"),
        ("id\ttext\r\n", (), "\t"),
        ("id|text|more", (), "|"),
        ("one column", (), ","),
        ("", (), ","),
        ('"a,b,c";d', (), ";"),
        ("ID;findings, impression, more", ("id",), ";"),
    ],
)
def test_the_header_tells_the_delimiter(header: str, known: tuple[str, ...], sign: str) -> None:
    """What gives most columns, quotes respected; columns that are known come first."""
    assert guess_delimiter(header, known) == sign


@given(
    st.lists(st.lists(st.text(max_size=5), min_size=2, max_size=2), min_size=1, max_size=5),
    st.sampled_from(DELIMITERS),
)
def test_what_was_written_as_csv_comes_back(rows: list[list[str]], sign: str) -> None:
    """Every text in every cell, line ends, quotes and delimiters among them."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=sign, quoting=csv.QUOTE_ALL)
    writer.writerows([["id", "text"], *rows])
    assert [cells for _, cells in read_csv(out.getvalue(), "x")] == [["id", "text"], *rows]


def test_rows_have_the_line_they_end_on() -> None:
    """Blank lines are no rows and count as lines, also before the header."""
    text = '\nid;text\r\n1;"two\nlines"\r\n\r\n2;x'
    rows = [(2, ["id", "text"]), (4, ["1", "two\nlines"]), (6, ["2", "x"])]
    assert list(read_csv(text, "x")) == rows
    assert list(read_csv(io.StringIO(text, newline=""), "x")) == rows
    assert list(read_csv("", "x")) == []


def test_what_is_no_csv_ends_with_its_line() -> None:
    """A quotation mark in the wrong place; without `strict` it is taken as it comes."""
    text = 'a,b\n1,2\n3,"x" y\n4,5\n'
    rows = read_csv(text, "my table")
    assert [next(rows)[0], next(rows)[0]] == [1, 2]
    with pytest.raises(OverreadError, match=r"not CSV \(.*\) \(in my table, line 3\)"):
        next(rows)
    assert [cells for _, cells in read_csv(text, "x", strict=False)][2:] == [["3", "x y"], ["4", "5"]]


def test_long_cells_are_read_and_the_limit_of_others_stays() -> None:
    """The csv module has one limit for the process; two readers in turn, and in threads, keep it."""
    limit = csv.field_size_limit()
    text = "a,b\n" + "1," + "x" * (2 * limit) + "\n"
    one, two = read_csv(text, "one"), read_csv(text, "two")
    next(one), next(two)
    assert len(next(one)[1][1]) == len(next(two)[1][1]) == 2 * limit
    assert csv.field_size_limit() == limit
    failed: list[Exception] = []

    def work() -> None:
        try:
            for _ in range(50):
                list(read_csv(text, "x"))
        except OverreadError as error:
            failed.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert csv.field_size_limit() == limit


def test_a_sheet_is_read_by_its_header() -> None:
    """Small letters, blank rows left out; too many cells end it with the line."""
    seen: list[list[str]] = []
    text = "Case; STEP\nc1;1\n;\nc2\nc3;1;2\n"
    rows = read_sheet(text, "x", ("case",), lambda header: seen.append(list(header)))
    assert [next(rows), next(rows)] == [(2, {"case": "c1", "step": "1"}), (4, {"case": "c2"})]
    assert seen == [["case", "step"]]
    with pytest.raises(OverreadError, match=r"3 cells under 2 columns \(in x, line 5\)"):
        next(rows)


def test_json_lines_end_at_newlines_only() -> None:
    """JSON texts may hold U+2028, U+0085 and form feeds as they are."""
    text = '{"a": "x\u2028y\x85z"}\r\n\n["\x0c"]'
    assert list(split_jsonl(text)) == [(1, '{"a": "x\u2028y\x85z"}\r'), (3, '["\x0c"]')]


def test_a_file_that_cannot_be_read_is_one_sentence(tmp_path: Path) -> None:
    """Not there, a folder, too large."""
    for path in (tmp_path / "none", tmp_path):
        with pytest.raises(OverreadError, match="the verdicts cannot be read"):
            read_user_file(path, "verdicts")
    (tmp_path / "large").write_bytes(b"12345")
    with pytest.raises(OverreadError, match="too large for verdicts"):
        read_user_file(tmp_path / "large", "verdicts", max_bytes=4)


def test_carriage_returns_alone_end_lines() -> None:
    """Old Macs wrote such tables; the header is what stands before the first."""
    text = "id;report\r1;Clear lungs.\r"
    assert guess_delimiter(text) == ";"
    assert [cells for _, cells in read_csv(text, "here")] == [["id", "report"], ["1", "Clear lungs."]]
