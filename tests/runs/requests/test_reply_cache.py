"""The reply cache: what is the same question, and what becomes of a broken file."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.core import Message, Reply, Request, SentImage, Usage, Whole
from overread.errors import OverreadError
from overread.runs.requests.reply_cache import CacheUnusable, ReplyCache, ReplyKeys, default_cache_path

REPLY = Reply(text="B", model="m", usage=Usage(input_tokens=3, output_tokens=2, calls=1, cost=0.5))
PICTURE = SentImage(region=Whole(picture="image-1"), media="image/png", sha256="ab", width=8, height=8)


def question(*parts: str | SentImage, **more: Any) -> Request:
    """A question of one message."""
    nobody = cast(Any, None)
    asked = Request(task="choose", case=nobody, pictures=nobody)
    return replace(asked, **{"messages": (Message(role="user", parts=parts),), **more})


def test_a_reply_comes_back_as_it_was_less_what_was_paid(tmp_path: Path) -> None:
    """Text, model and tokens are kept; nobody was asked, and prices are not kept."""
    cache = ReplyCache(tmp_path / "deep" / "replies.sqlite")
    cache.add(b"key", question("?"), REPLY)
    assert cache.get(b"key") == REPLY.model_copy(update={"usage": Usage(input_tokens=3, output_tokens=2)})
    assert cache.get(b"other") is None
    assert cache.count() == 1
    cache.close()


def test_nobody_else_can_read_the_file(tmp_path: Path) -> None:
    """All files of the cache have mode 0600, whatever the umask or the file's mode before."""
    path = tmp_path / "replies.sqlite"
    path.touch(0o644)
    before = os.umask(0)
    try:
        cache = ReplyCache(path)
        cache.add(b"key", question("?"), REPLY)
        modes = {stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()}
    finally:
        os.umask(before)
    assert modes == {0o600}
    assert len(list(tmp_path.iterdir())) == 3  # with its log
    cache.close()


def test_the_users_own_file_follows_the_cache_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """OVERREAD_CACHE says where."""
    monkeypatch.setenv("OVERREAD_CACHE", str(tmp_path))
    assert default_cache_path() == tmp_path / "replies.sqlite"


# ---- keys ----------------------------------------------------------------------------------


def test_the_same_question_has_the_same_key() -> None:
    """Whoever asks, in whatever order the identity and the schema are written."""
    one = ReplyKeys({"model": "m", "parameters": {"a": 1, "b": 2}})
    other = ReplyKeys({"parameters": {"b": 2, "a": 1}, "model": "m"})
    asked = question("hello", PICTURE, schema={"type": "object", "title": "x"})
    again = question("hello", PICTURE, schema={"title": "x", "type": "object"}, task="other", seed=9)
    assert one.key(asked) == other.key(again)
    assert len(one.key(asked)) == 32


@pytest.mark.parametrize(
    "other",
    [
        question("hello!", PICTURE),
        question(PICTURE, "hello"),
        question("hel", "lo", PICTURE),
        question("hello", PICTURE.model_copy(update={"sha256": "ac"})),
        question("hello", PICTURE.model_copy(update={"media": "image/jpeg"})),
        question("hello", PICTURE, sample=1),
        question("hello", PICTURE, schema={"type": "object"}),
        question(messages=(Message(role="system", parts=("hello", PICTURE)),)),
        question(messages=(Message(role="user", parts=("hello",)), Message(role="user", parts=(PICTURE,)))),
    ],
)
def test_another_question_has_another_key(other: Request) -> None:
    """Words, their order and borders, pictures, roles, schema and sample all count."""
    keys = ReplyKeys({"model": "m"})
    assert keys.key(question("hello", PICTURE)) != keys.key(other)


def test_another_reader_has_other_keys() -> None:
    """Identity counts, and the seed for readers that hand it to their model."""
    asked = question("hello")
    assert ReplyKeys({"model": "m"}).key(asked) != ReplyKeys({"model": "n"}).key(asked)
    seeded = ReplyKeys({"model": "m"}, seeded=True)
    assert seeded.key(question("hello", seed=1)) != seeded.key(question("hello", seed=2))


PARTS = st.lists(st.lists(st.text(max_size=3), min_size=1, max_size=3), min_size=1, max_size=3)


@given(PARTS, PARTS)
def test_no_two_lists_of_words_share_a_key(one: list[list[str]], other: list[list[str]]) -> None:
    """However words are cut into parts and messages, different lists differ."""
    keys = ReplyKeys({})
    found = [
        keys.key(question(messages=tuple(Message(role="user", parts=tuple(p)) for p in parts)))
        for parts in (one, other)
    ]
    assert (found[0] == found[1]) == (one == other)


# ---- broken files --------------------------------------------------------------------------


def _foreign(path: Path) -> None:
    base = sqlite3.connect(path)
    base.execute("CREATE TABLE patients (name TEXT)")
    base.commit()
    base.close()


def _of_tomorrow(path: Path) -> None:
    ReplyCache(path).close()
    base = sqlite3.connect(path)
    base.execute("PRAGMA user_version = 99")
    base.commit()
    base.close()


def _scrambled(path: Path) -> None:
    cache = ReplyCache(path)
    for number in range(200):
        cache.add(b"%032d" % number, question("?"), REPLY.model_copy(update={"text": "x" * 500}))
    cache.close()
    data = bytearray(path.read_bytes())
    data[4096:] = os.urandom(len(data) - 4096)
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (_foreign, "no reply cache"),
        (_of_tomorrow, "another version"),
        (lambda path: path.write_text("my notes " * 100), "not a database"),
        (lambda path: path.mkdir(), "cannot be opened"),
    ],
)
def test_a_file_that_is_no_cache_is_one_sentence(
    tmp_path: Path, spoil: Callable[[Path], None], told: str
) -> None:
    """It says what is wrong, where, and what to do, and leaves the file as it was."""
    path = tmp_path / "replies.sqlite"
    spoil(path)
    before = path.read_bytes() if path.is_file() else b""
    mode = path.stat().st_mode
    for read_only in (False, True):
        with pytest.raises(OverreadError, match=told) as caught:
            ReplyCache(path, read_only=read_only).count()
        assert "--cache" in str(caught.value)
        assert str(path) in str(caught.value)
    assert (path.read_bytes() if path.is_file() else b"") == before
    assert path.stat().st_mode == mode


def test_damage_inside_is_one_sentence(tmp_path: Path) -> None:
    """A scrambled page is told when it is met, with the remedy."""
    path = tmp_path / "replies.sqlite"
    _scrambled(path)
    cache = ReplyCache(path)
    with pytest.raises(CacheUnusable, match="delete the file"):
        deque((cache.get(b"%032d" % number) for number in range(200)), 0)
    cache.close()


def test_a_reply_of_another_shape_is_asked_for_again(tmp_path: Path) -> None:
    """A row that is no reply counts as absent, and is replaced."""
    path = tmp_path / "replies.sqlite"
    cache = ReplyCache(path)
    cache.add(b"key", question("?"), REPLY)
    other = sqlite3.connect(path)
    other.execute("""UPDATE replies SET reply = '{"nonsense": 1}'""")
    other.commit()
    other.close()
    assert cache.get(b"key") is None
    cache.add(b"key", question("?"), REPLY)
    assert cache.get(b"key") is not None
    cache.close()


def test_looking_only_writes_nothing(tmp_path: Path) -> None:
    """A read-only cache answers, and an empty file counts as one without replies."""
    path = tmp_path / "replies.sqlite"
    path.touch()
    empty = ReplyCache(path, read_only=True)
    assert (empty.count(), empty.get(b"key")) == (0, None)
    empty.close()
    assert path.stat().st_size == 0
    full = ReplyCache(path)
    full.add(b"key", question("?"), REPLY)
    looking = ReplyCache(path, read_only=True)
    assert looking.get(b"key") is not None
    with pytest.raises(OverreadError, match="readonly"):
        looking.add(b"other", question("?"), REPLY)
    looking.close()
    full.close()


WRITER = """
import sys
from pathlib import Path
from overread.core import Reply, Request
from overread.runs.requests.reply_cache import ReplyCache
request = Request(task="choose", case=None, pictures=None)
cache = ReplyCache(Path(sys.argv[1]))
for number in range(300):
    cache.add(b"%s %d" % (sys.argv[2].encode(), number), request, Reply(text=sys.argv[2]))
    assert cache.get(b"%s %d" % (sys.argv[2].encode(), number)).text == sys.argv[2]
cache.close()
"""


def test_several_processes_share_a_file(tmp_path: Path) -> None:
    """Three processes that begin with no file at all each keep 300 replies in one."""
    path = tmp_path / "replies.sqlite"
    words = [[sys.executable, "-c", WRITER, str(path), name] for name in "abc"]
    processes = [subprocess.Popen(word, stderr=subprocess.PIPE, text=True) for word in words]
    for process in processes:
        _, told = process.communicate(timeout=300)
        assert process.returncode == 0, told
    cache = ReplyCache(path)
    assert cache.count() == 900
    cache.close()
