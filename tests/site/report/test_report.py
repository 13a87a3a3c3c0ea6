"""Reports for sharing: one file, nothing from outside, nothing run, nothing told that must not be."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path

import pytest
from playwright.sync_api import Browser
from typer.testing import CliRunner

from overread.cli.main import app
from overread.core import Reading
from overread.core.notice import NOTICE
from overread.errors import UnknownName, UsageError
from overread.pixels.charts import SERIES_COLOURS
from overread.runs.scoring.card import read_card
from overread.runs.store import ReadingStore, last_readings
from overread.site.report.case_selection import CaseSelection, select_cases
from overread.site.report.document import HtmlReport, ReportPlan, make_report
from overread.site.strip_paths import strip_paths_and_urls
from tests.site.browser import AXE

HOSTILE = '<script>alert("x")</script><img src=x onerror=alert(1)>'


class Elements(HTMLParser):
    """Which elements a page has, with their attributes."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.found if name == tag]


def report_on(shelf: Path, *runs: str, truth: bool = True, pictures: bool = True) -> HtmlReport:
    folders = [shelf / "runs" / run for run in runs]
    return make_report(ReportPlan(folders, truth=truth, pictures=pictures))


def command(*words: str | Path) -> tuple[int, str, BaseException | None]:
    done = CliRunner().invoke(app, ["report", *map(str, words)])
    return done.exit_code, done.output, done.exception


@pytest.mark.parametrize("benchmark", ["medthinkvqa", "mmrad", "rexgroundingct"])
def test_a_report_needs_nothing_else(shelf_folder: Path, benchmark: str) -> None:
    """No script, no address, no path; pictures are in it; the notice stands twice."""
    made = report_on(shelf_folder, f"{benchmark}/atlas", f"{benchmark}/random")
    page = Elements(made.html)
    assert page.all("script") == page.all("link") == page.all("iframe") == []
    pictures = [str(one["src"]) for one in page.all("img")]
    assert len(pictures) == made.pictures > 0
    assert all(src.startswith("data:image/") for src in pictures)
    links = [str(one["href"]) for one in page.all("a")]
    ids = {one.get("id") for _, one in page.found}
    assert links
    assert all(href.startswith("#") and href[1:] in ids for href in links)
    words = re.sub(r'src="data:[^"]*"', "", made.html)
    assert "http" not in words.replace("http-equiv", "")
    assert str(shelf_folder) not in words
    assert not re.search(r"\.(jpg|nii|jsonl)\b", words), "no file is named"
    assert words.count(NOTICE) == 2
    assert "default-src 'none'" in str(page.all("meta"))


def test_scores_and_differences_are_those_of_the_cards(shelf_folder: Path) -> None:
    """The numbers stand as they are on the cards; a second run is set against the first."""
    made = report_on(shelf_folder, "medthinkvqa/atlas", "medthinkvqa/oracle")
    card = read_card(shelf_folder / "runs" / "medthinkvqa" / "atlas")
    for name in ("accuracy", "brier", "clinical_f1"):
        assert f"{card.scores[name].value:.3f}" in made.html
    assert "+0.500" in made.html, "the oracle is right where atlas is wrong"
    assert "Do the answers rest on what they cite?" in made.html
    assert "Differences" not in report_on(shelf_folder, "medthinkvqa/atlas").html


def test_series_have_the_colours_of_the_page() -> None:
    """The one list of Python is that of the style, in order."""
    style = files("overread.site").joinpath("tokens.css").read_text("utf-8")
    assert tuple(re.findall(r"--series-\d: light-dark\((#\w+),", style)) == SERIES_COLOURS


def test_what_comes_from_outside_is_words(own_shelf: Path) -> None:
    """A reading and a title that would like to be HTML stay words."""
    run = own_shelf / "runs" / "mmrad" / "atlas"
    case = sorted(last_readings(run))[0][0]
    with ReadingStore(run) as store:
        store.append(Reading(case_id=case, reader=HOSTILE, report=HOSTILE, error=HOSTILE))
    made = make_report(ReportPlan([run], title=HOSTILE))
    page = Elements(made.html)
    assert page.all("script") == []
    assert all(str(one["src"]).startswith("data:") for one in page.all("img"))
    assert "&lt;script&gt;" in made.html


def test_the_truth_can_be_left_out(shelf_folder: Path) -> None:
    """Neither the answer, nor what a case scores, nor a rank that would tell who was wrong."""
    told = report_on(shelf_folder, "medthinkvqa/atlas")
    blind = report_on(shelf_folder, "medthinkvqa/atlas", truth=False)
    assert "✓ right" in told.html
    for word in ("✓ right", "The truth</h4>", "score of this case", "among the worst"):
        assert word not in blind.html
    film = report_on(shelf_folder, "mmrad/atlas")
    assert any("truth" in str(one.get("class")) for one in Elements(film.html).all("rect"))
    film = report_on(shelf_folder, "mmrad/atlas", truth=False)
    assert not any("truth" in str(one.get("class")) for one in Elements(film.html).all("rect"))
    plain = report_on(shelf_folder, "mmrad/atlas", pictures=False)
    assert plain.pictures == 0
    assert "data:" not in plain.html.replace("img-src data:", "")


def chosen(cases: Sequence[str], shelf: Path, wanted: CaseSelection) -> dict[str, str]:
    card = read_card(shelf / "runs" / "medthinkvqa" / "atlas")
    return select_cases(wanted, cases, card, "accuracy", truth=True)[0]


def test_cases_are_chosen_as_asked(shelf_folder: Path) -> None:
    """The worst, the best, the first, some at random by their seed, or by name."""
    cases = ["case00002", "case00007"]
    file = shelf_folder / "runs/medthinkvqa/atlas/scores.jsonl"
    scores = [json.loads(line) for line in file.read_text().splitlines()]
    right = {one["case"]: one["value"] for one in scores if one["metric"] == "accuracy"}
    assert sorted(right.values()) == [0.0, 1.0]
    (worst,) = chosen(cases, shelf_folder, CaseSelection(worst=1))
    (best,) = chosen(cases, shelf_folder, CaseSelection(best=1))
    assert (right[worst], right[best]) == (0.0, 1.0)
    assert list(chosen(cases, shelf_folder, CaseSelection(first=1))) == cases[:1]
    many = [f"case{n:05}" for n in range(100)]
    once, again, other = (
        chosen(many, shelf_folder, CaseSelection(random=5, seed=seed)) for seed in (1, 1, 2)
    )
    assert once == again != other
    card = read_card(shelf_folder / "runs" / "medthinkvqa" / "atlas")
    with pytest.raises(UnknownName, match="no case of the run is called 'x'"):
        select_cases(CaseSelection(named=("x",)), cases, card, "accuracy", truth=True)


def test_the_command_writes_once(shelf_folder: Path, tmp_path: Path) -> None:
    """It tells the size and the choice, and does not replace a file unless told to."""
    out = tmp_path / "new" / "report.html"
    run = shelf_folder / "runs" / "mmrad" / "atlas"
    code, told, _ = command(run, "--out", out, "--cases", "1", "--title", "Films")
    assert code == 0
    assert "1 cases, 1 pictures" in told
    assert "<h1>Films</h1>" in out.read_text()
    code, _, why = command(run, "--out", out)
    assert isinstance(why, UsageError)
    assert "already exists" in str(why)
    code, _, _ = command(run, "--out", out, "--force", "--cases", "0")
    assert code == 0
    assert "<article" not in out.read_text()
    assert [file.name for file in out.parent.iterdir()] == ["report.html"], "nothing half written"


def test_the_command_loads_no_web_server(shelf_folder: Path, tmp_path: Path) -> None:
    """Whoever writes a file to hand on needs neither the server of the page nor its routes."""
    run, out = shelf_folder / "runs" / "medthinkvqa" / "atlas", tmp_path / "report.html"
    code = (
        "import sys; from overread.cli.main import app; "
        f"app(['report', {str(run)!r}, '--out', {str(out)!r}], standalone_mode=False); "
        "sys.exit(bool({'fastapi', 'starlette', 'uvicorn'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert out.is_file()


def test_terms_of_real_data_are_told(own_shelf: Path, tmp_path: Path) -> None:
    """Where patients are not synthetic, the command says the terms and how to leave them out."""
    (own_shelf / "mmrad" / "phantom.jsonl").unlink()
    words = (own_shelf / "runs" / "mmrad" / "atlas", "--root", own_shelf / "mmrad")
    code, told, _ = command(*words, "--out", tmp_path / "a.html")
    assert code == 0
    assert "may not be handed on" in " ".join(told.split())
    assert "--no-pictures" in told
    code, told, _ = command(*words, "--out", tmp_path / "b.html", "--cases", "0")
    assert "handed on" not in told


def test_what_cannot_be_reported_is_said(shelf_folder: Path, own_shelf: Path) -> None:
    """No scores, two splits, no dataset: one sentence and what to do."""
    bare = own_shelf / "runs" / "mmrad" / "random"
    (bare / "card.json").unlink()
    with pytest.raises(UsageError, match="no scores yet"):
        make_report(ReportPlan([bare]))
    with pytest.raises(UsageError, match="one split"):
        report_on(shelf_folder, "mmrad/atlas", "medthinkvqa/atlas")
    shutil.rmtree(own_shelf / "mmrad")
    with pytest.raises(Exception, match="--root"):
        make_report(ReportPlan([own_shelf / "runs/mmrad/oracle"], root=own_shelf / "mmrad"))


def test_places_of_the_machine_are_left_out() -> None:
    """Paths and addresses become dots; words and shares stay."""
    assert strip_paths_and_urls("x failed (in /home/me/a.jpg): try") == "x failed (in …): try"
    assert strip_paths_and_urls("model at http://host:8000/v1") == "model at …"
    assert strip_paths_and_urls("and/or 3/4 of it") == "and/or 3/4 of it"


def test_a_report_opens_as_a_file(shelf_folder: Path, tmp_path: Path, browser: Browser) -> None:
    """From the disk, in light and dark, wide and narrow: no console error, no serious fault."""
    told: list[str] = []
    for benchmark, scheme, width in (("medthinkvqa", "light", 1440), ("rexgroundingct", "dark", 600)):
        made = report_on(shelf_folder, f"{benchmark}/atlas", f"{benchmark}/oracle")
        file = tmp_path / f"{benchmark}.html"
        made.write(file)
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme="dark" if scheme == "dark" else "light"
        )
        page = context.new_page()
        page.on("console", lambda message: told.append(message.text))
        page.goto(file.as_uri())
        assert page.evaluate("() => [...document.images].every(i => i.naturalWidth > 0)")
        assert page.evaluate("() => document.documentElement.scrollWidth") <= width
        page.evaluate(AXE.read_text("utf-8"))
        found = page.evaluate("() => axe.run({resultTypes: ['violations']})")["violations"]
        bad = [one["id"] for one in found if one["impact"] in ("serious", "critical")]
        assert not bad
        context.close()
    assert told == []


def test_without_truth_a_run_that_repeats_it_is_refused(shelf_folder: Path) -> None:
    """The oracle's readings are the truth; groups of a breakdown tell of single cases."""
    with pytest.raises(UsageError, match="repeat the truth") as refused:
        report_on(shelf_folder, "medthinkvqa/oracle", truth=False)
    assert "without --no-truth" in refused.value.remedy
    for told in (True, False):
        made = report_on(shelf_folder, "medthinkvqa/atlas", truth=told)
        assert ('id="groups"' in made.html) is told
