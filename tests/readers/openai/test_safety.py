"""The reader `openai` keeps pictures on this machine and keys to itself."""

from __future__ import annotations

import asyncio
import logging

import pytest

from overread.core import Reply
from overread.errors import OverreadError, UsageError
from overread.readers.openai.endpoints import ApiKey, parse_endpoint
from overread.readers.openai.reader import make
from tests.readers.openai.misbehaving_server import Server, echoes, serving
from tests.readers.openai.questions import KEY, SCHEMA, asked, bare_environment, request


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """No key and no address of the one who runs the tests."""
    bare_environment(monkeypatch)


# ---- staying here ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost:8000/v1",
        "http://LOCALHOST.:8000/v1",
        "http://127.0.0.1:8000/v1",
        "http://127.9.9.9/v1",
        "http://[::1]:8000/v1",
        "http://[::ffff:127.0.0.1]/v1",
        "http://0.0.0.0:8000/v1",
        "http+unix://%2Frun%2Fvllm.sock/v1",
    ],
)
def test_endpoints_on_this_machine(url: str) -> None:
    """Loopback addresses, localhost and sockets need no leave."""
    assert parse_endpoint(url).local
    make({"model": "m", "base_url": url})


@pytest.mark.parametrize(
    "url",
    [
        "https://api.openai.com/v1",
        "http://10.0.0.5:8000/v1",
        "http://192.168.1.2/v1",
        "http://localhost.example.org/v1",
        "http://127.0.0.1.nip.io/v1",
        "http://my.localhost/v1",
        "http://[fe80::1]/v1",
        "http://[::ffff:8.8.8.8]/v1",
        "http://127.1/v1",
        "http://2130706433/v1",
    ],
)
def test_endpoints_elsewhere_need_leave(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any other machine is refused, in one sentence, until somebody allows it."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with pytest.raises(UsageError, match=r"patient pictures would leave it: .*--allow-remote"):
        make({"model": "m", "base_url": url})
    made = make({"model": "m", "base_url": url, "allow_remote": "true"})
    assert made.identity["endpoint"] == url


def test_a_localhost_that_leads_elsewhere_is_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """The name alone is not believed."""
    monkeypatch.setattr("socket.getaddrinfo", lambda *_: [(2, 1, 6, "", ("10.0.0.5", 0))])
    with pytest.raises(UsageError, match="not on this machine"):
        make({"model": "m", "base_url": "http://localhost:8000/v1"})


def test_the_address_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """OPENAI_BASE_URL is used where no base_url is given, and judged like one; else OpenAI's."""
    with pytest.raises(UsageError, match=r"https://api\.openai\.com/v1 is not on this machine"):
        make({"model": "m"})
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1234/v1/")
    assert make({"model": "m"}).identity["endpoint"] == "http://127.0.0.1:1234/v1"
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:1234/{KEY}/v1")
    with pytest.raises(UsageError, match="looks like a key") as caught:
        make({"model": "m"})
    assert KEY not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        f"http://user:{KEY}@localhost/v1",
        f"http://{KEY}@127.0.0.1/v1",
        "http://127.0.0.1@evil.example.org/v1",
        f"http://localhost/v1?api-key={KEY}",
        "http://localhost/v1#x",
        "localhost:8000",
        "ftp://localhost/v1",
        "http:///v1",
        "http://localhost:99999/v1",
        "http://[::1/v1",
        "http+unix://relative.sock/v1",
        "http://exa mple/v1",
    ],
)
def test_addresses_that_are_refused(url: str) -> None:
    """Names, passwords, queries and nonsense in an address are refused and not repeated."""
    with pytest.raises(UsageError) as caught:
        make({"model": "m", "base_url": url, "allow_remote": "yes"})
    assert KEY not in str(caught.value)


# ---- the key -----------------------------------------------------------------------------------


def everything(thing: object) -> str:
    """All that could be printed of a thing, and of the errors behind it."""
    told = [repr(thing), str(thing)]
    if isinstance(thing, Reply):
        told.append(thing.model_dump_json())
    if isinstance(thing, BaseException):
        told += [everything(other) for other in (thing.__cause__, thing.__context__) if other]
        told.append(repr(vars(thing)))
    return "\n".join(told)


@pytest.mark.parametrize("status", [200, 307, 400, 401, 403, 404, 413, 418, 422, 429, 500])
def test_the_key_is_in_nothing_that_comes_out(
    status: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """An endpoint that repeats the key everywhere gets it into no reply, error, repr or log."""
    monkeypatch.setenv("MY_KEY", f"{KEY}\n")
    caplog.set_level(logging.DEBUG)

    async def talk() -> tuple[str, Server]:
        async with serving(echoes(status)) as server:
            told = {"model": "m", "base_url": server.url, "api_key_env": "MY_KEY"}
            reader = make(told)
            out = f"{reader!r} {reader.identity} {vars(reader)}"
            try:
                out += everything(await asked(reader, request(schema=SCHEMA)))
            except OverreadError as error:
                out += everything(error)
            return out, server

    out, server = asyncio.run(talk())
    assert server.seen[0].headers["authorization"] == f"Bearer {KEY}"
    out += "\n".join(f"{record.getMessage()} {record.__dict__}" for record in caplog.records)
    assert any(record.name == "openai._base_client" for record in caplog.records)
    assert KEY not in out
    for n in range(len(KEY) - 9):
        assert KEY[n : n + 10] not in out


def test_a_key_that_is_repeated_in_part_is_struck_out() -> None:
    """Endpoints show the ends of a key with stars between them; those go too, with pictures."""
    said = f"Incorrect key: {KEY[:9]}****{KEY[-6:]}. Or Bearer abcdef, or data:image/png;base64,AAAA"
    out = ApiKey(KEY).excerpt(said)
    assert out == "Incorrect key: [key]****[key]. Or [key] or [picture]"
    assert ApiKey("none").redact("none of these") == "none of these"
    assert len(ApiKey(KEY).excerpt("word " * 10_000)) < 250
    assert repr(ApiKey(KEY)) == "Secret()"


@pytest.mark.parametrize("argument", ["api_key", "key", "authorization"])
def test_the_key_is_no_argument(argument: str) -> None:
    """A key given as an argument is refused, with the way to give it."""
    with pytest.raises(UsageError, match="environment variable") as caught:
        make({"model": "m", "base_url": "http://localhost/v1", argument: KEY})
    assert KEY not in str(caught.value)


def test_the_key_in_the_place_of_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """The key where its variable's name belongs, or anywhere else, is refused unrepeated."""
    local = {"base_url": "http://localhost/v1"}
    monkeypatch.setenv("OPENAI_API_KEY", "plainlooking")
    for arguments in (
        {"model": "m", "api_key_env": KEY},
        {"model": "m", "api_key_env": "not a name"},
        {"model": "plainlooking"},
        {"model": "m", "extra": '{"user": "plainlooking"}'},
    ):
        with pytest.raises(UsageError) as caught:
            make({**local, **arguments})
        assert KEY not in str(caught.value)
        assert "plainlooking" not in str(caught.value)


def test_keys_that_are_missing_or_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    """A named variable must hold a key; a local endpoint without a name needs none."""
    local = {"model": "m", "base_url": "http://localhost/v1"}
    make(local)
    with pytest.raises(UsageError, match="no key in the environment variable MY_KEY"):
        make({**local, "api_key_env": "MY_KEY"})
    with pytest.raises(UsageError, match="no key in the environment variable OPENAI_API_KEY"):
        make({"model": "m", "allow_remote": "yes"})
    for broken in ("schlüssel-1234", "two words-1234", "line\nbreak-1234"):
        monkeypatch.setenv("MY_KEY", broken)
        with pytest.raises(UsageError, match="characters that no key has") as caught:
            make({**local, "api_key_env": "MY_KEY"})
        assert "1234" not in str(caught.value)


def test_the_identity_holds_what_changes_answers() -> None:
    """Model, endpoint and parameters; neither the key's name nor the time that one waits."""
    given = {
        "model": "m",
        "base_url": "http://localhost:8000/v1/",
        "temperature": "0",
        "extra": '{"top_k": 1}',
        "timeout": "9",
    }
    assert make(given).identity == {
        "model": "m",
        "endpoint": "http://localhost:8000/v1",
        "parameters": {"temperature": 0.0, "structured": "auto", "extra": {"top_k": 1}},
    }


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("model", " "),
        ("temperature", "-1"),
        ("top_p", "0"),
        ("max_tokens", "0"),
        ("timeout", "0"),
        ("structured", "yaml"),
        ("image_detail", "sharp"),
        ("extra", '{"messages": []}'),
        ("extra", '{"stream": true}'),
    ],
)
def test_arguments_out_of_range(name: str, text: str) -> None:
    """What no endpoint would take is refused before anybody is asked."""
    with pytest.raises(UsageError, match=f"'{name}'"):
        make({"model": "m", "base_url": "http://localhost/v1", name: text})
