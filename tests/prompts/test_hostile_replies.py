"""Replies that were made to take for ever, or to break what reads them."""

from __future__ import annotations

import pytest
from pydantic import BaseModel

from overread.core import Option
from overread.errors import BadReply
from overread.prompts.replies import json_parser, letter_parser, text_parser
from tests.timing import cpu_seconds


class Verdict(BaseModel):
    """What a judge says."""

    answer: str
    errors: list[str] = []


choose = letter_parser([Option(letter=mark, text=f"Diagnosis {mark}") for mark in "ABCDE"])
judge = json_parser(Verdict)

HOSTILE = {
    "braces": "{" * 3_000_000,
    "brackets": "[" * 190_000,
    "nested": '{"answer":' * 19_000,
    "nested and closed": '{"answer":[' * 9_000 + "]}" * 9_000,
    "python": "{'a':" * 39_000,
    "python members": "{" + "'a': 'b'," * 21_000 + "}",
    "quotes": '{"' * 95_000,
    "backslashes": '{"answer": "' + "\\" * 180_000,
    "objects": "{}" * 99_000,
    "answers": '{"answer": "' * 16_000,
    "tags": "<answer>" * 24_000,
    "thoughts": "<think>" * 500_000,
    "thoughts closed": "<think></think>" * 200_000,
    "closings": "</think>" * 300_000,
    "said": "the answer is " * 13_000,
    "said A": "answer: A " * 19_000,
    "blanks": "answer" + " " * 190_000,
    "lines": "B-\n" * 60_000,
    "fences": "```\n" * 49_000,
    "accents": "B" + "\u0315\u0300" * 95_000,
    "accents in JSON": '{"answer": "B' + "\u0315\u0300" * 90_000 + '"}',
    "wide": "\ufdfa" * 190_000,
    "nul": "\0" * 3_000_000,
    "surrogates": "\ud800" * 190_000,
    "digits": '{"answer": ' + "9" * 190_000 + "}",
    "option": "option " * 27_000,
    "boxed": "\\boxed{" * 28_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_replies_take_no_time(name: str) -> None:
    """Megabytes of braces, tags, accents and the like are done with, one way or another."""
    reply = HOSTILE[name]

    def parse_all() -> None:
        for parse in (choose, judge, text_parser()):
            try:
                parse(reply)
            except BadReply as problem:
                str(problem).encode()

    # Quadratic time would be minutes: a hundred times as much as this allows.
    floor = cpu_seconds(lambda: [sign.isprintable() for sign in reply])
    assert cpu_seconds(parse_all, rounds=1) < 500 * floor + 0.5
