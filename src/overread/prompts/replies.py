"""Parsers of a model's answer: a letter, a JSON object, a text; for workflows and judges alike.

An answer that can mean only one thing is accepted, and what had to be repaired is named. Where it
can mean two things, or nothing, `BadReply` says why in words that a model can act on. Text between
think tags is not part of an answer.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, Field, JsonValue, ValidationError

from overread.core import Option
from overread.errors import BadReply
from overread.prompts.json_repair import FoundObject, find_objects

T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)

MAX_LENGTH = 200_000
"""Characters that an answer may have, without its thoughts; a longer one is refused."""
_MAX_CLAIM_LENGTH = 400
"""Characters of the longest thing that may be an answer by itself: an option's text."""

_MAX_CLAIMS = 200
"""How many phrases like 'the answer is' are tried, from the end."""


@dataclass(frozen=True)
class ParsedReply(Generic[T]):
    """What an answer says, and what had to be mended before it could be read."""

    value: T
    repaired: str | None = None


ReplyParser = Callable[[str], ParsedReply[T]]
"""Makes sense of an answer; raises `BadReply` where it makes none."""


# ---- texts -------------------------------------------------------------------------------------


def normalise_text(text: str) -> str:
    """A text as it is compared: case, white space and punctuation do not count.

    >>> normalise_text(" Wegener's  granulomatosis.") == normalise_text("WEGENER’S GRANULOMATOSIS")
    True
    """
    if len(text) <= 4000:  # Python normalises long runs of accents in quadratic time
        text = unicodedata.normalize("NFKC", text)
    return " ".join(re.findall(r"\w+", text.casefold()))


_THOUGHT = re.compile(r"<(/?)(?:think|thinking|thought|reasoning)>", re.IGNORECASE)


def strip_thoughts(text: str) -> str:
    """The answer alone: what stands between think tags, or before or behind a single one, is cut.

    >>> strip_thoughts("<think>Nodules...</think>B"), strip_thoughts("Nodules...</think>B")
    ('B', 'B')
    >>> strip_thoughts("B<think>or rather")
    'B'
    """
    kept: list[str] = []
    at, inside = 0, False
    for tag in _THOUGHT.finditer(text):
        if tag[1]:
            if not inside:
                kept.clear()  # the opening tag was in the prompt, or is missing
            inside = False
        elif not inside:
            kept.append(text[at : tag.start()])
            inside = True
        at = tag.end()
    if not inside:
        kept.append(text[at:])
    return "".join(kept).strip()


def _answer_text(text: str) -> str:
    """What is left of a reply to make sense of."""
    rest = strip_thoughts(text.replace("\0", ""))
    if not rest:
        thought = _THOUGHT.search(text) is not None
        raise BadReply("it ends while still thinking" if thought else "it is empty")
    if len(rest) > MAX_LENGTH:
        raise BadReply(f"it is {len(rest)} characters long", remedy="answer briefly")
    return rest


_FENCE = re.compile(r"```[\w+-]*[ \t]*\n(.*?)\n?```", re.DOTALL)


def text_parser() -> ReplyParser[str]:
    """Reads an answer as a text: without thoughts, and out of the code fence that is all of it.

    >>> text_parser()("<think>Hm.</think>No pneumothorax.")
    ParsedReply(value='No pneumothorax.', repaired=None)
    """
    return _parse_text


def _parse_text(reply: str) -> ParsedReply[str]:
    rest = _answer_text(reply)
    fence = _FENCE.fullmatch(rest)
    if fence is None:
        return ParsedReply(rest)
    inner = fence[1].strip()
    if not inner:
        raise BadReply("it is empty")
    return ParsedReply(inner, "it was taken out of a code fence")


class Answer(BaseModel):
    """An answer in words, and the reasons for it."""

    answer: str = Field(min_length=1)
    explanation: str = ""


def short_answer_parser() -> ReplyParser[Answer]:
    """Reads a reply as a short answer: JSON, an `<answer>` tag, or words that are nothing else.

    >>> short_answer_parser()("<think>Blunted.</think><answer>Yes</answer>").value.answer
    'Yes'
    >>> short_answer_parser()("No.").repaired
    'it stood in words, not in JSON'
    """
    return _parse_short_answer


def _parse_short_answer(reply: str) -> ParsedReply[Answer]:
    rest = _answer_text(reply)
    tagged = {text.strip() for text in _TAG.findall(rest)} - {""}
    if len(tagged) > 1:
        raise BadReply("it gives two answers", remedy="give one answer")
    if tagged:
        explained = _TAG.sub(" ", rest).strip()
        return ParsedReply(Answer(answer=tagged.pop(), explanation=explained), "it stood in a tag")
    try:
        found = json_parser(Answer)(reply)
    except BadReply:
        plain = _parse_text(reply).value
        if len(plain) > _MAX_CLAIM_LENGTH or find_objects(rest) or "{" in plain:
            raise
        return ParsedReply(Answer(answer=plain), "it stood in words, not in JSON")
    if not found.value.answer.strip():
        raise BadReply("its answer is empty")
    return found


# ---- objects -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _JsonParser(Generic[M]):
    """Reads an answer as one kind of object; a class, so that it can go to another process."""

    model: type[M]

    def __call__(self, reply: str) -> ParsedReply[M]:
        rest = _answer_text(reply)
        names = {field.alias or name for name, field in self.model.model_fields.items()}
        names |= set(self.model.model_fields)
        valid: list[tuple[M, FoundObject]] = []
        problem = ""
        for found in find_objects(rest):
            if names and not names & found.value.keys():
                continue  # an object, but about something else
            try:
                valid.append((self.model.model_validate(found.value), found))
            except ValidationError as error:
                problem = _describe_problems(error)
        if not valid:
            if problem:
                raise BadReply(problem)
            raise BadReply(f"it holds no JSON object with {_quote_names(sorted(names))}")
        if any(value != valid[0][0] for value, _ in valid):
            raise BadReply("it holds two different JSON objects", remedy="answer with one")
        value, found = valid[0]
        return ParsedReply(value, _describe_repair(rest, found))


def json_parser(model: type[M]) -> ReplyParser[M]:
    """Reads an answer as JSON of one kind, wherever in the reply it stands, and checks it.

    >>> class Verdict(BaseModel):
    ...     factual: bool
    >>> json_parser(Verdict)('Here it is: {"factual": true,}')
    ParsedReply(value=Verdict(factual=True), repaired='a comma too many was taken out')
    """
    return _JsonParser(model)


def _describe_repair(rest: str, found: FoundObject) -> str | None:
    """What was done to an object before it could be read."""
    if found.repaired:
        return found.repaired
    around = (rest[: found.start] + rest[found.end :]).strip()
    if not around or re.fullmatch(r"```[\w+-]*\s*```", around):
        return None
    return "words around the JSON were left out"


def _describe_problems(error: ValidationError) -> str:
    """What is missing or wrong, without repeating what was said."""
    told = []
    for one in error.errors(include_url=False, include_context=False, include_input=False)[:3]:
        place = _quote_short(".".join(str(part) for part in one["loc"]) or "the object")
        if one["type"] == "missing":
            told.append(f"{place} is missing")
        else:
            told.append(f"{place} is wrong ({one['msg'][:1].lower()}{one['msg'][1:160]})")
    return "; ".join(told)


# ---- letters -----------------------------------------------------------------------------------

_TAG = re.compile(r"<answer>(.{0,400}?)(?:</answer>|\Z)", re.IGNORECASE | re.DOTALL)
_NAMES = ("answer", "final_answer", "choice", "letter", "option", "prediction")
_FIELD = re.compile(r"""["']answer["']\s{0,9}:\s{0,9}["']([^"'\n]{1,400})["']""", re.IGNORECASE)
_FINAL = re.compile(
    r"\bfinal (?:answer|choice|diagnosis)(?: is\b|[^\S\n]{0,9}[:=])|\\boxed(?=\{)", re.IGNORECASE
)
_ANSWER_PHRASE = re.compile(
    r"\b(?:answer|choice|option|diagnosis)(?: is\b| would be\b|[^\S\n]{0,9}[:=])"
    r"|\bI (?:would )?(?:choose|select|pick)\b",
    re.IGNORECASE,
)
_INVISIBLE = dict.fromkeys((0xAD, 0x2060, 0xFEFF, *range(0x200B, 0x2010)))
_QUOTES = " \t\r\n\"'`*_“”‘’"
_LEAD = re.compile(
    r"(?:(?:option|choice|answer|letter)[:\s]\s{0,3})?[(\[{]?\s?([A-Za-z])\s?(?=\W|$)", re.IGNORECASE
)
# 'B-cell lymphoma', 'A mass' and 'C. difficile' speak of no option.
_BEHIND = re.compile(r"[*\"'`]*(?:[).:,;\]}]|\s[-–—]\s|\s+(?:because|since|as|based|due|given)\b)")
_ANOTHER = re.compile(r"\W*(?:(?:or|and)\s+)?\W*([A-Z])(?=[).:,;]|\s+(?:or|and)\b|\W*$)")


class _LetterParser:
    """Reads an answer as one of the options; a class, so that it can go to another process."""

    def __init__(self, options: Sequence[Option]) -> None:
        self.letters = {option.letter.upper(): option.letter for option in options}
        self.texts: dict[str, str | None] = {}
        for option in options:
            text = normalise_text(option.text)
            # Two options of one text: that text names neither.
            self.texts[text] = None if text in self.texts else option.letter
        self.texts.pop("", None)

    def __call__(self, reply: str) -> ParsedReply[str]:
        rest = strip_thoughts(reply.replace("\0", ""))
        if rest:
            found = self._find_letter(_answer_text(reply))
            if found is not None:
                return found
        # Some models put the whole of their answer between the think tags.
        tagged = _TAG.findall(reply[-MAX_LENGTH:])
        if tagged:
            return self._agree(tagged, "the answer stood among the thoughts")
        _answer_text(reply)  # says so where there are but thoughts
        raise BadReply(f"it names none of {', '.join(self.letters.values())} as the answer")

    def _find_letter(self, rest: str) -> ParsedReply[str] | None:
        """The letter that an answer names in one way or another; None where it names none."""
        tagged = _TAG.findall(rest)
        if tagged:
            return self._agree(tagged, None)
        objects = [(found, _answer_claims(found.value)) for found in find_objects(rest)]
        told = [claim for _, claims in objects for claim in claims]
        if told:
            first = next(found for found, claims in objects if claims)
            return self._agree(told, _describe_repair(rest, first))
        fields = _FIELD.findall(rest)
        if fields:
            return self._agree(fields, "the JSON is broken, and its answer was read alone")
        alone = self._parse_claim(rest)
        if alone is not None:
            return ParsedReply(*alone)
        for pattern in (_FINAL, _ANSWER_PHRASE):
            ends = [said.end() for said in pattern.finditer(rest)][-_MAX_CLAIMS:]
            behind = (rest[end : end + _MAX_CLAIM_LENGTH] for end in ends)
            hits = [hit for hit in map(self._parse_leading, behind) if hit is not None]
            if hits:
                return self._require_one({hit[0] for hit in hits}, "it stood in words, not in JSON")
        hits = [hit for hit in map(self._parse_claim, rest.splitlines()) if hit is not None]
        return self._require_one({hit[0] for hit in hits}, "it stood on a line of its own") if hits else None

    def _agree(self, claims: list[str], repaired: str | None) -> ParsedReply[str]:
        """The one option that all claims name; those that name none do not count beside others."""
        hits = [hit for hit in (self._parse_claim(c, loose=True) for c in claims) if hit is not None]
        if not hits:
            known = ", ".join(self.letters.values())
            raise BadReply(f"{_quote_short(claims[-1])} is neither of {known} nor the text of an option")
        return self._require_one({hit[0] for hit in hits}, repaired or hits[0][1])

    def _require_one(self, found: set[str], repaired: str | None) -> ParsedReply[str]:
        if len(found) > 1:
            raise BadReply(f"it gives {' and '.join(sorted(found))}", remedy="give one answer")
        return ParsedReply(found.pop(), repaired)

    def _parse_claim(self, claim: str, *, loose: bool = False) -> tuple[str, str | None] | None:
        """(letter, what was mended) of words that are an answer and nothing else.

        Loosely, a letter may be followed by words of the model's own, so long as these cannot be
        part of an option's text, nor name another letter.
        """
        if len(claim) > _MAX_CLAIM_LENGTH:
            return None
        claim = _clean_claim(claim)
        lead = _LEAD.match(claim)
        chosen = self.letters.get(lead[1].upper()) if lead else None
        rest = claim[lead.end() :].strip(_QUOTES + "()[]{}.:,;-–—") if lead else ""
        named = self.texts.get(normalise_text(rest))
        if chosen is not None and (not rest or named == chosen):
            return chosen, None
        meant = self.texts.get(normalise_text(claim))
        if meant is not None:
            return meant, "it gave the text of an option, not its letter"
        if lead is None or chosen is None:
            return None
        if named is not None:
            raise BadReply(f"it gives {chosen} with the text of {named}", remedy="give one answer")
        behind = claim[lead.end(1) :]
        if not loose or lead[1] not in self.letters or not _BEHIND.match(behind):
            return None
        other = _ANOTHER.match(behind)
        if other is not None and self.letters.get(other[1], chosen) != chosen:
            return None
        words = f" {normalise_text(rest)} "
        if any(words in f" {text} " for text, owner in self.texts.items() if owner != chosen):
            return None
        return chosen, None

    def _parse_leading(self, behind: str) -> tuple[str, str | None] | None:
        """The option that the words behind 'the answer is' begin with."""
        behind = re.sub(r"^\{?\\(?:text|mathrm|mathbf)", "", behind)
        line = behind.lstrip(_QUOTES + ":={(").split("\n", 1)[0]
        sentence = re.split(r"(?<=\w\w\w)[.;](?:\s|$)", line, maxsplit=1)[0]
        return self._parse_claim(sentence, loose=True) or self._parse_claim(line, loose=True)


def _answer_claims(value: dict[str, Any]) -> list[str]:
    """What an object gives as its answer, under any of the names in use."""
    held = {str(name).strip().lower(): given for name, given in value.items()}
    given = next((held[name] for name in _NAMES if held.get(name) is not None), None)
    if isinstance(given, dict):
        given = next((given[name] for name in ("letter", *_NAMES) if given.get(name)), None)
    if given is None:
        return ["nothing"] if "answer" in held else []
    return [str(one) for one in given] or ["nothing"] if isinstance(given, list) else [str(given)]


def _clean_claim(claim: str) -> str:
    claim = unicodedata.normalize("NFKC", claim.translate(_INVISIBLE))
    return claim.strip(_QUOTES).rstrip(".").strip(_QUOTES)


def _quote_short(text: str) -> str:
    """A few characters of what was said, safe to repeat."""
    plain = " ".join("".join(c if c.isprintable() else " " for c in text[:200]).split())
    return f"'{plain[:40]}…'" if len(plain) > 40 else f"'{plain}'"


def _quote_names(names: Iterable[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


def letter_parser(options: Sequence[Option]) -> ReplyParser[str]:
    """Reads an answer as one of the options: a tag, JSON, 'Answer: B', a letter, or a text.

    >>> options = Option(letter="A", text="Sarcoidosis"), Option(letter="B", text="Silicosis")
    >>> parse = letter_parser(options)
    >>> parse('{"answer": "B", "explanation": "Eggshell nodes."}')
    ParsedReply(value='B', repaired=None)
    >>> parse("Sarcoidosis.")
    ParsedReply(value='A', repaired='it gave the text of an option, not its letter')
    """
    return _LetterParser(options)


def strict_schema(model: type[BaseModel]) -> dict[str, JsonValue]:
    """The JSON schema of an answer with everything required and nothing else allowed.

    Endpoints that hold a model to a schema ask for that; what comes is read more leniently.
    """

    def closed(part: Any) -> Any:
        if isinstance(part, dict):
            part = {name: closed(inner) for name, inner in part.items() if name != "default"}
            if isinstance(part.get("properties"), dict):
                part |= {"additionalProperties": False, "required": list(part["properties"])}
            return part
        return [closed(inner) for inner in part] if isinstance(part, list) else part

    found: dict[str, JsonValue] = closed(model.model_json_schema())
    return found
