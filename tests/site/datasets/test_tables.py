"""What the server tells of a dataset: cases, labels, a search, defects; and what it does not."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.site.served_site import Site, serve_site


@pytest.fixture(scope="module")
def damaged(shelf_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A dataset with a row that is no row, a picture that is gone and one that is cut off."""
    root = tmp_path_factory.mktemp("damaged") / "set"
    shutil.copytree(shelf_folder / "medthinkvqa", root)
    lines = (root / "test.jsonl").read_text("utf-8").splitlines()
    first, second = json.loads(lines[0]), json.loads(lines[1])
    (root / first["image_01_path"]).unlink()
    cut = root / second["image_01_path"]
    cut.write_bytes(cut.read_bytes()[:300])
    first["image_count"] = 99
    broken = {**second, "title": "Case number 00009", "options": 7}
    rows = [json.dumps(first), json.dumps(second), "{nothing", json.dumps(broken)]
    (root / "test.jsonl").write_text("\n".join(rows) + "\n", "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OVERREAD_CACHE", str(root.parent / "cache"))
        with serve_site([root], "--read-only") as site:
            yield site


def _base(site: Site, name: str, split: str = "test") -> str:
    return f"/api/datasets/{site.shelf_id('datasets', name)}/{split}"


def _names(facets: list[dict[str, Any]], key: str) -> dict[str, int]:
    (facet,) = (one for one in facets if one["key"] == key)
    return {value["name"]: value["count"] for value in facet["values"]}


def _checked(site: Site, address: str) -> dict[str, Any]:
    for _ in range(2000):
        found: dict[str, Any] = site.get(address)
        if found["finished"]:
            return found
    raise AssertionError("the check does not end")


@pytest.mark.parametrize("name", ["medthinkvqa", "mmrad", "rexgroundingct"])
def test_columns_fit_each_other(site: Site, name: str) -> None:
    """Every column has a value for every case, and every place in a facet is one of its values."""
    table = site.get(f"{_base(site, name)}/cases")
    labels = site.get(f"{_base(site, name)}/labels")
    count = len(table["ids"])
    assert count == 2
    for column in (table["pictures"], table["volumes"], table["texts"], labels["titles"]):
        assert len(column) == count
    for facet in [*table["facets"], *labels["facets"]]:
        assert len(facet["of"]) == count
        for at, value in enumerate(facet["values"]):
            assert sum(at in own for own in facet["of"]) == value["count"]


def test_facets_have_the_ontologys_names(site: Site) -> None:
    """Categories, modalities and regions go by names that people know."""
    found = site.get(f"{_base(site, 'rexgroundingct')}/labels")["facets"]
    assert _names(found, "category")["ground-glass opacity (2c)"] == 1
    found = site.get(f"{_base(site, 'medthinkvqa')}/labels")["facets"]
    assert _names(found, "modality") == {"CT": 2, "X-ray": 1}
    assert _names(found, "longitudinal") == {"one time point": 2}
    found = site.get(f"{_base(site, 'mmrad')}/labels")["facets"]
    assert _names(found, "region")["lung region"] == 2


def test_an_answer_that_is_known_is_not_sent_again(site: Site) -> None:
    """The mark of the table is believed, and no other one."""
    address = f"{_base(site, 'mmrad')}/cases"
    answer = site.ask(address)
    mark = answer.headers["etag"]
    again = site.ask(address, headers={"if-none-match": mark})
    assert again.status == 304
    assert again.body == b""
    assert site.ask(address, headers={"if-none-match": '"other"'}).status == 200


def test_the_search_reads_the_whole_text(site: Site) -> None:
    """Words are found behind the part that the table shows, and each one by itself."""
    base = _base(site, "medthinkvqa")
    table = site.get(f"{base}/cases")
    shown = " ".join(table["texts"]).casefold()
    assert "blood cultures" not in shown
    found = site.get(f"{base}/search?words=Cultures%20nothing-like-it%20{table['ids'][1]}")
    assert found["words"] == ["cultures", "nothing-like-it", table["ids"][1]]
    assert found["cases"] == [[0], [], [1]]
    assert site.ask(f"{base}/search?words={'a' * 201}").status == 422


def test_the_truth_is_not_told_where_it_is_withheld(hidden_site: Site) -> None:
    """Without truth there are no labels and no defects, and the table has no word of them."""
    base = _base(hidden_site, "medthinkvqa")
    assert hidden_site.ask(f"{base}/labels").status == 403
    assert hidden_site.ask(f"{base}/defects").status == 403
    assert hidden_site.ask(f"{base}/defects/lines?code=bad-row").status == 403
    answer = hidden_site.ask(f"{base}/cases")
    assert answer.status == 200
    for word in (b"X-ray", b"Chapter", b"Case number", b"modality", b".jpg"):
        assert word not in answer.body
    assert hidden_site.get(f"{base}/search?words=chapter")["cases"] == [[]]


def test_defects_are_counted_by_kind(damaged: Site) -> None:
    """Everything that is wrong is listed, the cases that can be looked at are told from others."""
    base = _base(damaged, "set")
    assert damaged.get(f"{base}/cases")["unread"] == 2
    found = _checked(damaged, f"{base}/defects")
    kinds = {group["code"]: group for group in found["groups"]}
    assert {"bad-row", "missing-file", "count-mismatch", "wrong-type"} <= set(kinds)
    (gone,) = kinds["missing-file"]["first"]
    assert (gone["case"], gone["there"]) == ("case00002", True)
    assert kinds["bad-row"]["first"][0]["there"] is False
    assert found["errors"] == sum(g["count"] for g in found["groups"] if g["severity"] == "error")
    assert "truncated-file" not in kinds
    assert not found["opened_pictures"]


def test_pictures_are_opened_where_asked(damaged: Site) -> None:
    """A picture that is cut off is found by opening it; the two checks are kept apart."""
    found = _checked(damaged, f"{_base(damaged, 'set')}/defects?open_pictures=1")
    kinds = {group["code"] for group in found["groups"]}
    assert kinds & {"truncated-file", "unreadable-file"}
    assert found["opened_pictures"]


def test_defects_name_no_file_of_a_picture(damaged: Site) -> None:
    """Of a picture its name is told, never its path."""
    base = _base(damaged, "set")
    for query in ("", "?open_pictures=1"):
        _checked(damaged, f"{base}/defects{query}")
        body = damaged.ask(f"{base}/defects{query}").body
        assert b".jpg" not in body
        assert b"/tmp" not in body


def test_more_defects_of_a_kind_can_be_asked_for(damaged: Site) -> None:
    """They come in pages; what is no page is refused, and no kind has no defects."""
    base = f"{_base(damaged, 'set')}/defects"
    _checked(damaged, base)
    page = damaged.get(f"{base}/lines?code=bad-row&offset=0&limit=1")
    assert (len(page["lines"]), page["count"]) == (1, page["kept"])
    assert damaged.get(f"{base}/lines?code=no-such")["count"] == 0
    assert damaged.ask(f"{base}/lines?code=bad-row&limit=0").status == 422
    assert damaged.ask(f"{base}/lines?code=bad-row&offset={10**30}").status == 422


def test_rows_that_changed_are_read_anew(own_shelf: Path) -> None:
    """A row that is taken away is gone from the table, the labels and the search."""
    root = own_shelf / "medthinkvqa"
    with serve_site([root], "--read-only") as site:
        base = _base(site, "medthinkvqa")
        assert len(site.get(f"{base}/cases")["ids"]) == 2
        assert len(_checked(site, f"{base}/defects")["groups"]) == 0
        rows = (root / "test.jsonl").read_text("utf-8").splitlines()
        (root / "test.jsonl").write_text(rows[1] + "\n{\n", "utf-8")
        assert site.get(f"{base}/cases")["ids"] == ["case00007"]
        assert len(site.get(f"{base}/labels")["titles"]) == 1
        assert site.get(f"{base}/search?words=case00002")["cases"] == [[]]
        assert _checked(site, f"{base}/defects")["errors"] == 1


@pytest.mark.parametrize("part", ["cases", "labels", "search?words=a", "thumbs/x", "defects"])
def test_what_is_not_there_is_refused(site: Site, part: str) -> None:
    """No such dataset, split or case: one sentence each."""
    known = site.shelf_id("datasets", "mmrad")
    for place in ("nothing/test", f"{known}/nothing"):
        answer = site.ask(f"/api/datasets/{place}/{part}")
        assert answer.status == 404
        assert answer.json()["what"]


def test_a_dataset_is_described_as_the_command_describes_it(damaged: Site, tmp_path: Path) -> None:
    """The same numbers, rows that are no case among them; where the truth is withheld, none."""
    found = damaged.get(f"/api/datasets/{damaged.shelf_id('datasets', 'set')}/description")
    totals = {one["name"]: one["values"] for one in found["totals"]}
    assert totals["cases"]["test"] == 2
    assert totals["rows that are no case"]["test"] == 2
    (letters,) = (table for table in found["tables"] if table["key"] == "right_letter")
    assert sum(row["values"]["test"] for row in letters["rows"]) == 2
