"""Making sense of replies: letters, objects, texts; and of replies that make none."""

from __future__ import annotations

import json
import pickle
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field

from overread.core import Option
from overread.errors import BadReply
from overread.prompts.json_repair import find_objects
from overread.prompts.replies import json_parser, letter_parser, normalise_text, strip_thoughts, text_parser

OPTIONS = (
    Option(letter="A", text="Sarcoidosis"),
    Option(letter="B", text="Silicosis"),
    Option(letter="C", text="B-cell lymphoma"),
    Option(letter="D", text="Clostridium difficile colitis"),
    Option(letter="E", text="Ménière's disease"),
)
choose = letter_parser(OPTIONS)


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        # tags
        ("<answer>B</answer>", "B"),
        ("I weigh A and C. <answer> (b) </answer> Done.", "B"),
        ("<answer>B. Silicosis</answer>", "B"),
        ("<answer>Silicosis</answer>", "B"),
        ("<answer>B", "B"),
        ('{"answer": "A"} <answer>B</answer>', "B"),
        ("<answer>A</answer> again: <ANSWER>A</ANSWER>", "A"),
        ("<answer>[letter]</answer> <answer>D</answer>", "D"),
        # thoughts
        ("<think>The answer is A. <answer>A</answer></think>B", "B"),
        ("The answer is A?</think>\nAnswer: B", "B"),
        ("<think>so <answer>C</answer></think>", "C"),
        ("<thinking>A</thinking> B", "B"),
        ("B <think>or is the answer A", "B"),
        ("<think>a</think><think>b</think>C", "C"),
        # JSON
        ('{"answer": "B", "explanation": "The answer is A only if..."}', "B"),
        ('```json\n{"answer": "B"}\n```', "B"),
        ('Sure!\n```\n{"Answer": "b"}\n```\nHope that helps.', "B"),
        ('{"answer": "Sarcoidosis", "explanation": ""}', "A"),
        ('{"answer": "meniere\'s disease"}', None),
        ('{"answer": "MÉNIÈRE’S DISEASE."}', "E"),
        ('{"answer": "Me\\u0301nie\\u0300re\'s disease"}', "E"),
        ('{"answer": "Option B"}', "B"),
        ('{"answer": "B-cell lymphoma"}', "C"),
        ('{"answer": "B cell lymphoma"}', "C"),
        ('{"answer": "B. Silicosis, most likely"}', "B"),
        ('{"answer": "B) eggshell nodes"}', "B"),
        ('{"answer": "Ｂ"}', "B"),
        ('{"answer": "\\u200bB\\ufeff"}', "B"),
        ('{"answer": ["B"]}', "B"),
        ('{"answer": {"letter": "B", "text": "Silicosis"}}', "B"),
        ('{"choice": "B"}', "B"),
        ('{"answer": "<one letter>"} then {"answer": "D"}', "D"),
        ('{"answer": "B", "explanation": "cut off in the mid', "B"),
        ('{"answer": "B", "explanation": "it shows "eggshell" nodes"}', "B"),
        ("{'answer': 'B', 'explanation': None}", "B"),
        ('{"answer": "B",}', "B"),
        ('{"note": {"x": 1}} The final answer is B.', "B"),
        # words
        ("B", "B"),
        ("b.", "B"),
        ("(B)", "B"),
        ("**B**", "B"),
        ("B. Silicosis", "B"),
        ("Silicosis", "B"),
        ("  sarcoidosis!  ", "A"),
        ("Answer: B", "B"),
        ("**Answer:** B", "B"),
        ("Final Answer: **B) Silicosis**", "B"),
        ("The answer is B.", "B"),
        ("The answer is B, not A.", "B"),
        ("The correct answer is B because of the nodes.", "B"),
        ("The most likely diagnosis is silicosis. Sarcoidosis is less likely.", "B"),
        ("If the answer is A we would see X. The final answer is B.", "B"),
        (r"Thus \boxed{B}", "B"),
        (r"Thus \boxed{\text{B}}.", "B"),
        ("I choose B.", "B"),
        ("B. Silicosis\n\nThe nodes are calcified, which sarcoidosis may do too.", "B"),
        ("The nodes are calcified.\n\nB", "B"),
        ("Answer: B-cell lymphoma", "C"),
        ("Answer: A large mass in the lung is seen. I would choose B.", "B"),
    ],
)
def test_answers_that_name_one_option(reply: str, expected: str | None) -> None:
    """Each way to give an answer is read as the letter that is meant."""
    if expected is None:
        with pytest.raises(BadReply):
            choose(reply)
    else:
        assert choose(reply).value == expected


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ("<answer>A</answer><answer>B</answer>", "it gives A and B"),
        ('{"answer": "A"} or {"answer": "B"}', "it gives A and B"),
        ('{"answer": ["A", "B"]}', "it gives A and B"),
        ('{"answer": "A", "answer": "B"}', "it gives A and B"),
        ("The answer is A. The answer is B.", "it gives A and B"),
        ("A. Sarcoidosis\nB. Silicosis", "it gives A and B"),
        ('{"answer": "A. Silicosis"}', "A with the text of B"),
        ('{"answer": "F"}', "'F' is neither of A, B, C, D, E"),
        ('{"answer": "Tuberculosis"}', "'Tuberculosis' is neither"),
        ('{"answer": null}', "neither"),
        ('{"answer": ""}', "neither"),
        ('{"answer": 2}', "'2' is neither"),
        ('{"answer": "A or B"}', "neither"),
        ('{"answer": "B, C"}', "neither"),
        ('{"answer": "C. difficile colitis"}', "neither"),
        ('{"answer": "a sarcoid"}', "neither"),
        ("<answer></answer>", "neither"),
        ("I cannot tell from these pictures.", "names none of A, B, C, D, E"),
        ("A mass is seen in the left lung.", "names none"),
        ("Answer: A large mass.", "names none"),
        ("Answer: B-mode ultrasound is needed.", "names none"),
        ("The answer is B or C.", "names none"),
        ("Sarcoidosis or silicosis", "names none"),
        ("<think>It could be", "still thinking"),
        ("<think>It could be A</think>", "still thinking"),
        ("   ", "empty"),
        ("\0\0", "empty"),
        ('{"answer": "\ud800"}', "neither"),
        ("x" * 300_000, "characters long"),
    ],
)
def test_answers_that_name_none_or_two(reply: str, words: str) -> None:
    """Nothing is guessed; the sentence says what is wrong and can be stored."""
    with pytest.raises(BadReply, match=words) as caught:
        choose(reply)
    told = str(caught.value)
    assert "\n" not in told
    assert len(told) < 300
    told.encode()


def test_what_was_mended_is_told() -> None:
    """A clean answer has no repair; each repair says what it was."""
    for clean in ('{"answer": "B"}', "B", "<answer>B</answer>", '```json\n{"answer":"B"}\n```'):
        assert choose(clean).repaired is None
    told = {
        'Well, {"answer": "B"}': "words around the JSON were left out",
        '{"answer": "B",}': "a comma too many was taken out",
        "{'answer': 'B'}": "it was written as Python, not as JSON",
        '{"answer": "B", "x": "': "it was cut off, and its last, incomplete part was left out",
        '{"answer": "B", "x": "a "b" c"}': "the JSON is broken, and its answer was read alone",
        '{"answer": "Silicosis"}': "it gave the text of an option, not its letter",
        "The answer is B.": "it stood in words, not in JSON",
        "Nodes.\nB": "it stood on a line of its own",
        "<think><answer>B</answer></think>": "the answer stood among the thoughts",
    }
    assert {reply: choose(reply).repaired for reply in told} == told


def test_options_of_one_text_are_told_apart_by_letters_only() -> None:
    """A text that two options share names neither; their letters still do."""
    parse = letter_parser((Option(letter="A", text="HER2+"), Option(letter="B", text="HER2-")))
    assert parse("B").value == "B"
    assert parse('{"answer": "A"}').value == "A"
    with pytest.raises(BadReply):
        parse("HER2+")


def test_an_option_that_is_a_letter_itself() -> None:
    """A letter means the option of that letter, whatever another one's text says."""
    parse = letter_parser((Option(letter="A", text="B"), Option(letter="B", text="Type A")))
    assert parse('{"answer": "B"}').value == "B"


@given(
    st.sampled_from(OPTIONS),
    st.sampled_from(['{"answer": "%s"}', "<answer>%s</answer>", "%s", "Final answer: %s", "**%s**"]),
    st.booleans(),
)
def test_letters_and_texts_in_every_dress(option: Option, dress: str, by_letter: bool) -> None:
    """Whatever the form, letter and text of an option lead to it."""
    said = option.letter if by_letter else option.text
    assert choose(dress % said).value == option.letter


@given(st.text(max_size=300) | st.text(alphabet="{}[]\"',:ABCDE<>answer/think\\ \n", max_size=300))
def test_any_text_is_read_or_refused(reply: str) -> None:
    """No text at all leads to another error than BadReply, nor to a letter that is none."""
    try:
        assert choose(reply).value in "ABCDE"
    except BadReply as problem:
        str(problem).encode()


# ---- objects -----------------------------------------------------------------------------------


class Verdict(BaseModel):
    """What a judge says of one step."""

    factual: bool
    errors: list[Literal["reasoning", "knowledge"]] = Field(max_length=2)
    note: str = ""


WHOLE = '{"factual": false, "errors": ["reasoning"], "note": "x"}'
judge = json_parser(Verdict)


@pytest.mark.parametrize(
    ("reply", "repaired"),
    [
        (WHOLE, None),
        (f"```json\n{WHOLE}\n```", None),
        (f"<think>{{}}</think>\n{WHOLE}", None),
        (f"My verdict: {WHOLE} Thank you.", "words around"),
        (f'[see {{1}}] {WHOLE} {{"other": 1}}', "words around"),
        (WHOLE.replace("}", ",}"), "comma"),
        (WHOLE.replace('"x"', '"x",').replace('["reasoning"]', '["reasoning",]'), "comma"),
        (WHOLE.replace('"', "'").replace("false", "False"), "Python"),
        (WHOLE.replace('"x"}', '"x'), "cut off"),
        (WHOLE[:-1], "cut off"),
        (f"```json\n{WHOLE[:-1]}\n```", "cut off"),
        (f"{WHOLE}\n\n{WHOLE}", "words around"),
        (WHOLE.replace('"x"', '"line\nbreak"'), None),
    ],
)
def test_objects_are_found_and_mended(reply: str, repaired: str | None) -> None:
    """JSON is found wherever it stands, mended where there is one way, and checked."""
    parsed = judge(reply)
    assert (parsed.value.factual, parsed.value.errors) == (False, ["reasoning"])
    assert (parsed.repaired or "").startswith("words around" if repaired == "words around" else "")
    assert (repaired is None) == (parsed.repaired is None)
    assert (repaired or "") in (parsed.repaired or "")


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ("I find it factual.", "it holds no JSON object with 'errors', 'factual', 'note'"),
        ('{"verdict": true}', "no JSON object"),
        ('{"factual": true}', "'errors' is missing"),
        ('{"note": "x"}', "'factual' is missing; 'errors' is missing"),
        ('{"factual": "maybe", "errors": []}', "'factual' is wrong"),
        ('{"factual": true, "errors": ["bad"]}', r"'errors\.0' is wrong \(input should be"),
        ('{"factual": true, "errors": ["reas', "no JSON object"),
        ('{"factual": true, "factual": false, "errors": []}', "no JSON object"),
        (f"{WHOLE} or {WHOLE.replace('false', 'true')}", "two different"),
        (f"[{WHOLE}, {WHOLE}]", "no JSON object"),
        ('{"factual": NaN, "errors": []}', "no JSON object"),
        ("<think>" + WHOLE, "still thinking"),
        ("", "empty"),
    ],
)
def test_objects_that_are_refused(reply: str, words: str) -> None:
    """The sentence names what is missing, without repeating what was said."""
    with pytest.raises(BadReply, match=words):
        judge(reply)


def test_names_from_the_reply_are_shown_safely() -> None:
    """A name that a model made up is cut and cleaned before it is repeated."""

    class Closed(BaseModel):
        model_config = ConfigDict(extra="forbid")
        a: int

    with pytest.raises(BadReply) as caught:
        json_parser(Closed)(json.dumps({"a": 1, "x\n\ud800" * 500: 2}))
    assert len(str(caught.value)) < 200
    str(caught.value).encode()


def test_a_number_that_was_cut_is_not_believed() -> None:
    """1 may have been the beginning of 10, and a list the beginning of a longer one."""

    class Score(BaseModel):
        score: int | None = None
        parts: list[int] | None = None

    parse = json_parser(Score)
    assert parse('{"score": 1, "parts": [1, 2]').value == Score(score=1, parts=[1, 2])
    for cut in ('{"score": 1', '{"score": 1, "parts": [1, 2'):
        with pytest.raises(BadReply):
            parse(cut)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=8),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
        max_leaves=12,
    ),
    st.integers(0, 200),
)
def test_a_cut_object_never_says_what_the_whole_did_not(value: object, size: int) -> None:
    """Whatever is left of an object that was cut off is a part of the whole."""
    whole = {"a": value, "b": value}
    for found in find_objects(json.dumps(whole)[:size])[:1]:
        for name, held in found.value.items():
            if found.start == 0:
                assert within(held, whole[name])


def within(part: object, whole: object) -> bool:
    """Whether a value is the other one, less some members of its objects."""
    if isinstance(part, dict) and isinstance(whole, dict):
        return all(name in whole and within(held, whole[name]) for name, held in part.items())
    return part == whole


# ---- texts -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("No pneumothorax.", "No pneumothorax."),
        ("<think>x</think>\n\nNo pneumothorax.\n", "No pneumothorax."),
        ("```\nNo pneumothorax.\n```", "No pneumothorax."),
        ("```markdown\nFINDINGS: clear.\n```", "FINDINGS: clear."),
        ("See ```code``` here.", "See ```code``` here."),
        ("a\0b", "ab"),
    ],
)
def test_plain_texts(reply: str, expected: str) -> None:
    """A text loses its thoughts and the fence around it, nothing else."""
    assert text_parser()(reply).value == expected


@pytest.mark.parametrize("reply", ["", " \n", "<think>all of it", "```\n\n```", "\0"])
def test_texts_that_say_nothing(reply: str) -> None:
    """An empty text is no text."""
    with pytest.raises(BadReply):
        text_parser()(reply)


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("a<think>b</think>c", "ac"),
        ("<THINK>b</THINK>c", "c"),
        ("b</think>c", "c"),
        ("a</think>b</think>c", "c"),
        ("a<think>b", "a"),
        ("<think>a<think>b</think>c", "c"),
        ("a < think > b", "a < think > b"),
    ],
)
def test_thoughts_are_taken_off(text: str, rest: str) -> None:
    """Closed, unclosed and unopened think tags."""
    assert strip_thoughts(text) == rest


@given(st.text(max_size=60))
def test_normalised_texts_stay_as_they_are(text: str) -> None:
    """Normalising twice, or with other blanks and cases around it, changes nothing."""
    once = normalise_text(text)
    assert normalise_text(once) == once
    assert normalise_text(f"  {text}!! ") == once


def test_parsers_can_go_to_another_process() -> None:
    """A parser can be pickled, and parses as before."""
    assert pickle.loads(pickle.dumps(choose))("B").value == "B"
    assert pickle.loads(pickle.dumps(text_parser()))("x").value == "x"
    assert pickle.loads(pickle.dumps(judge)).model is Verdict
