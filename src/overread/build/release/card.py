"""The dataset card: what is in a release, how it was made, whose it is, what it is not for."""

from __future__ import annotations

import re
from collections.abc import Sequence

from overread import __version__
from overread.build.release.counts import SplitCount, format_counts
from overread.build.release.provenance import Provenance
from overread.core import Benchmark
from overread.core.notice import RELEASE_NOTICE

CARD_MARK = "<!-- This card was written by overread; running it again replaces it. -->"
USE_NOTICE = (
    f"**{RELEASE_NOTICE}** Not for diagnosis, treatment or triage, "
    "and no evidence of how a reader does in practice."
)
PRIVATE_NOTICE = "**This folder holds the truth that the release withholds. Do not hand it on with it.**\n\n"
_KNOWN_LICENCES = """
    apache-2.0 mit cc0-1.0 cc-by-4.0 cc-by-sa-4.0 cc-by-nc-4.0 cc-by-nc-sa-4.0 cc-by-nd-4.0
    cc-by-nc-nd-4.0 odc-by odbl pddl
""".split()


def licence_tag(licence: str) -> str:
    """The hub's tag of a licence, 'other' where it has none.

    >>> licence_tag("CC BY-NC-SA 4.0"), licence_tag("our own terms")
    ('cc-by-nc-sa-4.0', 'other')
    """
    tag = re.sub(r"[\s_]+", "-", licence.strip().lower())
    return tag if tag in _KNOWN_LICENCES else "other"


def format_card(
    part: Benchmark,
    counts: dict[str, SplitCount],
    *,
    title: str,
    licence: str,
    provenance: Provenance,
    withheld: Sequence[str] = (),
    private: bool = False,
    files: Sequence[tuple[str, str]] = (),
) -> str:
    """The card in Markdown; `files` are (file or pattern, what it holds).

    `private` is for a folder with the truth that another one withholds.
    """
    told = f"The truth of {' and '.join(withheld)} is withheld: see below.\n\n" if withheld else ""
    told = PRIVATE_NOTICE if private else told
    return (
        f"{_front_matter(part, title, licence)}\n{CARD_MARK}\n\n# {_one_line(title)}\n\n"
        f"Cases in the layout of {part.title}: {part.about}.\n\n{USE_NOTICE}\n\n{told}"
        f"{_licence_section(part, licence)}\n{_counts_section(counts)}\n"
        f"{_withheld_section(part, withheld)}{_provenance_section(provenance)}\n"
        f"{_layout_section(files)}\n{_use_section(part)}"
    )


def _front_matter(part: Benchmark, title: str, licence: str) -> str:
    tag = licence_tag(licence)
    lines = [f"license: {tag}"]
    if tag == "other":
        lines.append(f"license_name: {re.sub('[^a-z0-9]+', '-', licence.lower()).strip('-')}")
    lines += [
        f"pretty_name: {_quote(title)}",
        "language: [en]",
        f"task_categories: [{', '.join(part.hub_tasks)}]",
        "tags: [medical, radiology, visual-grounding]",
    ]
    return "---\n" + "\n".join(lines) + "\n---\n"


def _licence_section(part: Benchmark, licence: str) -> str:
    return (
        "## Licence\n\n"
        f"{_one_line(licence)}\n\n"
        f"The layout is that of {part.title} ({part.cite}). None of its data are here unless the "
        f"source below says so; then its terms hold too: {part.licence}; {part.terms}.\n"
    )


def _counts_section(counts: dict[str, SplitCount]) -> str:
    splits = list(counts)
    head = f"| | {' | '.join(splits)} |\n|---|{'---:|' * len(splits)}\n"
    rows = "".join(
        f"| {_one_line(name)} | {' | '.join(values[split] for split in splits)} |\n"
        for name, values in format_counts(counts)
    )
    return f"## How much there is\n\n{head}{rows}"


def _withheld_section(part: Benchmark, withheld: Sequence[str]) -> str:
    if not withheld:
        return ""
    return (
        "## What is withheld\n\n"
        f"Of {' and '.join(withheld)} only what a reader may see is here. Whoever made the release "
        "holds the rest; predictions in the benchmark's own format can be graded there with "
        f"`overread grade {part.name}`.\n\n"
    )


def _provenance_section(told: Provenance) -> str:
    rows = [
        ("source", _one_line(told.source) or "not stated"),
        ("recipe", f"`{told.recipe}`" if told.recipe else "none"),
        ("made by", f"overread {__version__}" + _format_pairs(told.versions, lead="; ")),
        ("steps", ", ".join(told.steps) or "not stated"),
        ("models asked", ", ".join(_one_line(one) for one in told.models) or "none"),
        ("people", _one_line(told.people) or "not stated"),
        ("settings", _format_pairs(told.settings) or "as they come"),
        ("seed", "none" if told.seed is None else str(told.seed)),
        ("ledger (SHA-256)", f"`{told.ledger}`" if told.ledger else "none"),
    ]
    body = "".join(f"| {name} | {value} |\n" for name, value in rows)
    return (
        f"## How it was made\n\n| | |\n|---|---|\n{body}\n"
        "The ledger holds what was kept, dropped and changed, by whom and why.\n"
    )


def _format_pairs(values: dict[str, str], *, lead: str = "") -> str:
    return lead + ", ".join(f"{k} {_one_line(v)}" for k, v in values.items()) if values else ""


def _layout_section(files: Sequence[tuple[str, str]]) -> str:
    rows = "".join(f"| `{name}` | {what} |\n" for name, what in files)
    return f"## Layout\n\n| file | what it holds |\n|---|---|\n{rows}"


def _use_section(part: Benchmark) -> str:
    return (
        "## Use\n\n```sh\n"
        f"overread check {part.name} . --split all\n"
        f"overread show {part.name} . '#1'\n"
        "sha256sum --check checksums.sha256\n```\n"
    )


def _one_line(text: str) -> str:
    """Text from outside on one line, without what would end a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")


def _quote(text: str) -> str:
    plain = _one_line(text).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{plain}"'
