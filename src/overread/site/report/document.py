"""Reports for sharing: runs, their scores and chosen cases in one file that needs nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import cast

from overread import __version__, catalog
from overread.core import Benchmark, Entry, Reading, Release
from overread.core.notice import NOTICE
from overread.errors import OverreadError, UsageError
from overread.runs.scoring.card import Card, read_card
from overread.runs.scoring.case_scores import values_by_case
from overread.runs.spec import read_spec
from overread.runs.store import last_readings
from overread.site.data_terms import find_terms
from overread.site.headline import headline_scores
from overread.site.report.case_selection import CaseSelection, select_cases
from overread.site.report.cases import PictureBudget, ReportCase, case_article
from overread.site.report.markup import Markup, h, join_markup
from overread.site.report.scores import (
    ReportRun,
    audit_section,
    breakdowns_section,
    comparison_section,
    problems_section,
    scores_section,
    setup_section,
)
from overread.site.shelf import repeats_truth
from overread.storage.atomic import open_atomic, remove_leftovers
from overread.storage.system_errors import remedy_for

POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
"""The file loads nothing and runs nothing."""
MOST_BYTES = 30 << 20
"""Of all pictures together: more cannot be sent by mail."""


@dataclass(frozen=True)
class ReportPlan:
    """Settings of a report."""

    runs: Sequence[Path]
    wanted: CaseSelection = field(default_factory=CaseSelection)
    title: str | None = None
    truth: bool = True
    """Whether the truth of the cases is shown."""
    pictures: bool = True
    """Whether the pictures of the cases are shown."""
    root: Path | None = None
    """Folder of the dataset, where it has moved since the runs."""


@dataclass(frozen=True)
class HtmlReport:
    """A report, ready to be written."""

    html: str
    cases: int
    pictures: int
    chosen: str
    """How the cases were chosen."""
    warnings: tuple[str, ...]
    """What to think of before it is handed on."""

    def write(self, file: Path, *, force: bool = False) -> int:
        """Write it whole or not at all; gives its size. Another file that is there is not replaced."""
        data = self.html.encode("utf-8", "replace")
        remove_leftovers(file.parent)
        try:
            if file.exists() and not force and file.read_bytes() != data:
                what = f"{file} already exists and is another file"
                raise UsageError(what, remedy="give another --out, or --force")
            with open_atomic(file, compress=False, exclusive=not force) as out:
                out.write(data)
        except OSError as error:
            raise OverreadError(
                f"the report cannot be written ({error.strerror})",
                where=str(file),
                remedy=remedy_for(error, "give another --out"),
            ) from None
        return len(data)


def make_report(plan: ReportPlan, *, on_case: Callable[[str], None] | None = None) -> HtmlReport:
    """One page about one or several runs on the same split; `on_case` is told each."""
    runs = _load_runs(plan.runs)
    if not plan.truth:
        _refuse_truth_repeaters(runs)
    first = runs[0]
    exam = cast(Benchmark, catalog.find("benchmarks", first.spec.benchmark))
    place = first.spec.current_release_ref(plan.root, None)
    licence, terms, synthetic = find_terms(exam, place.root)
    album = PictureBudget(MOST_BYTES) if plan.pictures else None
    cases, chosen = _cases(plan, runs, album, on_case)
    title = plan.title or f"{exam.title} {first.card.split}: {', '.join(r.name for r in runs)}"
    sections = [
        setup_section(runs),
        scores_section(runs),
        comparison_section(runs),
        breakdowns_section(runs) if plan.truth else None,  # small groups tell of single cases
        audit_section(runs),
        problems_section(runs),
        _cases_section(cases, chosen, album, truth=plan.truth) if cases else None,
        _terms(exam, licence, terms),
    ]
    body = join_markup(
        h("p", NOTICE, class_="notice"),
        h(
            "header",
            h("h1", title),
            h("p", f"{exam.title}: {exam.about}", class_="quiet"),
            _contents([part for part in sections if part is not None]),
        ),
        h("main", sections),
        h("footer", h("p", f"Made with overread {__version__}."), h("p", NOTICE, class_="notice")),
    )
    warnings = []
    if not synthetic and cases:
        what = "pictures and words" if plan.pictures else "words"
        warnings.append(f"the report holds {what} of {len(cases)} cases of {exam.title} ({licence}): {terms}")
        if plan.pictures:
            warnings.append("--no-pictures leaves the pictures out, --cases 0 all cases")
    if album is not None and album.left_out:
        warnings.append(f"{album.left_out} pictures were left out (size limit of the report)")
    return HtmlReport(
        html=_html_page(title, body),
        cases=len(cases),
        pictures=album.count if album else 0,
        chosen=chosen,
        warnings=tuple(warnings),
    )


def _refuse_truth_repeaters(runs: Sequence[ReportRun]) -> None:
    """Refuse runs whose readings may be the truth itself, where that is not to be shown."""
    for run in runs:
        if repeats_truth(run.spec):
            raise UsageError(
                f"the readings of {run.name} may repeat the truth: its reader was given it",
                remedy="leave the run out, or show the truth (without --no-truth)",
            )


def _load_runs(folders: Sequence[Path]) -> list[ReportRun]:
    """The runs, each by a name of its own; refused where they are not of one split."""
    found: list[ReportRun] = []
    for folder in folders:
        spec = read_spec(folder)
        if not (folder / "card.json").is_file():
            raise UsageError(
                "the run has no scores yet", where=str(folder), remedy=f"overread score {folder}"
            )
        found.append(ReportRun(spec.reader.name, folder, spec, read_card(folder)))
    first = found[0]
    for other in found[1:]:
        if (other.card.benchmark, other.card.split) != (first.card.benchmark, first.card.split):
            raise UsageError(
                f"{other.folder.name} read {other.card.benchmark} {other.card.split}, "
                f"{first.folder.name} {first.card.benchmark} {first.card.split}",
                remedy="a report is about runs on one split",
            )
    names = [one.name for one in found]
    called: list[ReportRun] = []
    for one in found:
        name = one.name if names.count(one.name) == 1 else f"{one.name}, {one.folder.name}"
        while name in {other.name for other in called}:
            name += "′"
        called.append(ReportRun(name, one.folder, one.spec, one.card))
    return called


# ---- cases -----------------------------------------------------------------------------------


def _cases(
    plan: ReportPlan,
    runs: Sequence[ReportRun],
    album: PictureBudget | None,
    on_case: Callable[[str], None] | None,
) -> tuple[list[Markup], str]:
    """The chosen cases, and how they were chosen."""
    if plan.wanted.first == 0 and not plan.wanted.named:
        return [], "none"
    first = runs[0]
    release, entries = _open_release(first, plan.root)
    readings = {run.name: last_readings(run.folder) for run in runs}
    read = {case for case, _ in readings[first.name]}
    order = [case for case in entries if case in read]
    metric = next(iter(headline_scores(first.card.scores, first.card.official)), None)
    chosen, rule = select_cases(plan.wanted, order, first.card, metric, truth=plan.truth)
    values = _values(runs, set(chosen))
    made = []
    for case, why in chosen.items():
        if on_case is not None:
            on_case(case)
        shown = ReportCase(
            entry=entries[case],
            release=release,
            why=why.capitalize() + ".",
            readings={r.name: (r.folder, _first_reading(readings[r.name], case)) for r in runs},
            values=values.get(case, {}),
            truth=plan.truth,
        )
        made.append(case_article(shown, album))
    return made, rule


def _open_release(run: ReportRun, root: Path | None) -> tuple[Release, dict[str, Entry]]:
    place = run.spec.current_release_ref(root, None)
    try:
        release = place.open()
        entries = {row.entry.case.id: row.entry for row in release.scan() if row.entry is not None}
    except OverreadError as error:
        raise OverreadError(
            f"the dataset of the run cannot be opened: {error.what}",
            where=error.where,
            remedy="name the folder it lies in now with --root, or leave all cases out: --cases 0",
        ) from None
    return release, entries


def _first_reading(readings: Mapping[tuple[str, int], Reading], case: str) -> Reading | None:
    own = sorted(key for key in readings if key[0] == case)
    return readings[own[0]] if own else None


def _values(runs: Sequence[ReportRun], cases: set[str]) -> dict[str, dict[str, dict[str, float | None]]]:
    """Case → metric → run → what the case scores, of the scores that stand for the card."""
    found: dict[str, dict[str, dict[str, float | None]]] = {}
    shown = headline_scores(runs[0].card.scores, runs[0].card.official)[:6]
    for run in runs:
        for line in values_by_case(_with_scores(run.card, shown)):
            if line["case"] in cases:
                own = found.setdefault(line["case"], {}).setdefault(line["metric"], {})
                own[run.name] = line["value"]
    return found


def _with_scores(card: Card, names: Sequence[str]) -> Card:
    """The card with some of its scores."""
    return card.model_copy(update={"scores": {n: card.scores[n] for n in names if n in card.scores}})


# ---- the page --------------------------------------------------------------------------------


def _cases_section(
    cases: Sequence[Markup], chosen: str, album: PictureBudget | None, *, truth: bool
) -> Markup:
    told = [f"{len(cases)} cases: {chosen}."]
    if not truth:
        told.append("The truth is not shown.")
    if album is None:
        told.append("Their pictures are not shown.")
    elif album.left_out:
        told.append(f"{album.left_out} pictures were left out (size limit).")
    return h("section", h("h2", "Cases"), h("p", " ".join(told), class_="quiet"), cases, id="cases")


def _terms(exam: Benchmark, licence: str, terms: str) -> Markup:
    return h(
        "section",
        h("h2", "Terms"),
        h("p", f"Data: {exam.title}. Licence: {licence}. {terms[:1].upper()}{terms[1:]}."),
        h("p", f"To be cited: {exam.cite}."),
        id="terms",
    )


_TITLES = {
    "how": "Setup",
    "scores": "Scores",
    "differences": "Differences",
    "groups": "Groups of cases",
    "audit": "Audit",
    "problems": "Problems",
    "cases": "Cases",
    "terms": "Terms",
}


def _contents(sections: Sequence[Markup]) -> Markup:
    """Links to the parts that are there; each says its id first."""
    there = [key for key in _TITLES if any(p.startswith(f'<section id="{key}"') for p in sections)]
    links = [h("li", h("a", _TITLES[key], href=f"#{key}")) for key in there]
    return h("nav", h("ul", links), aria_label="Contents", class_="contents")


def _html_page(title: str, body: Markup) -> str:
    own = files("overread.site")
    style = own.joinpath("tokens.css").read_text("utf-8")
    style += own.joinpath("report", "report.css").read_text("utf-8")
    head = h(
        "head",
        h("meta", charset="utf-8"),
        h("meta", http_equiv="Content-Security-Policy", content=POLICY),
        h("meta", name="viewport", content="width=device-width, initial-scale=1"),
        h("meta", name="color-scheme", content="light dark"),
        h("title", title),
        Markup(f"<style>{style}</style>"),
    )
    return "<!doctype html>\n" + h("html", head, h("body", body), lang="en") + "\n"
