"""A dataset's cases as a table, what is in it, its description, a search, thumbnails, its defects."""

from __future__ import annotations

import hashlib
from array import array
from typing import Annotated

from fastapi import APIRouter, Depends, Header, Query, Request, Response

import overread
from overread.core import Case, Entry, Record
from overread.core.description import Description
from overread.site.datasets.defect_checks import DefectLines, DefectList, checks
from overread.site.datasets.facets import Facet, TruthFacets, VisibleFacets
from overread.site.datasets.thumbnails import respond_with_thumbnail
from overread.site.dependencies import OneDataset, OneEntry, OneSplit, PathId, require_truth
from overread.site.lru_cache import LruCache
from overread.site.shelf import Split

router = APIRouter(tags=["datasets"])

SNIPPET = 140
"""Letters of a case's text that go with the table of all cases."""
MOST_WORDS = 8
"""Words that are searched for at once."""
_REVALIDATE = "private, no-cache"
IfNoneMatch = Annotated[str | None, Header(alias="if-none-match", max_length=1000)]
"""The mark of the answer that the browser has already."""


class SplitTable(Record):
    """All cases of a split, a column a list: what any reader may see of them."""

    ids: list[str]
    """The cases, in the release's order."""
    pictures: list[int]
    """How many pictures each has."""
    volumes: list[int]
    """How many of these are volumes."""
    texts: list[str]
    """How each one's history, instruction or first sentence begins."""
    facets: list[Facet]
    """What they can be sorted by."""
    unread: int
    """Rows that cannot become a case; the defects say why."""


class LabelTable(Record):
    """What the truth tells of all cases of a split, in the order of `SplitTable.ids`."""

    titles: list[str]
    """Their titles; empty where there is none."""
    facets: list[Facet]
    """What they can be sorted by."""
    withheld: int
    """Cases whose truth is not in the release."""


class SearchHits(Record):
    """Where the words of a search stand."""

    words: list[str]
    """The words that were looked for, in small letters."""
    cases: list[list[int]]
    """For each word the places of the cases, in `SplitTable.ids`, whose text has it."""


class _CachedAnswer:
    """An answer as bytes, with its mark."""

    def __init__(self, table: Record) -> None:
        self.body = table.model_dump_json().encode("utf-8", "replace")
        self.mark = f'"{hashlib.sha256(self.body).hexdigest()[:20]}"'

    def respond(self, known: str | None) -> Response:
        headers = {"etag": self.mark, "cache-control": _REVALIDATE}
        # A proxy, or the middleware that packs, may have called the mark a weak one.
        if known is not None and self.mark in known:
            return Response(status_code=304, headers=headers)
        return Response(self.body, media_type="application/json", headers=headers)


@router.get("/datasets/{dataset}/{split}/cases", response_model=SplitTable)
def get_cases(split: OneSplit, known: IfNoneMatch = None) -> Response:
    """All cases of a split, with what any reader may see of them."""
    return _tables.get(split, lambda: _make_case_table(split)).respond(known)


@router.get(
    "/datasets/{dataset}/{split}/labels", response_model=LabelTable, dependencies=[Depends(require_truth)]
)
def get_labels(split: OneSplit, known: IfNoneMatch = None) -> Response:
    """What the truth tells of all cases: categories, modalities, regions, titles."""
    return _labels.get(split, lambda: _make_label_table(split)).respond(known)


@router.get("/datasets/{dataset}/description", dependencies=[Depends(require_truth)])
def get_description(dataset: OneDataset) -> Description:
    """What the dataset holds, all splits: what `overread describe` counts. No picture is opened."""

    def make() -> Description:
        return overread.describe(
            dataset.benchmark, dataset.root, dataset.splits, form=dataset.form, pictures=dataset.pictures
        )

    return _descriptions.get(dataset.root, make, stamp=dataset.stamp())


@router.get("/datasets/{dataset}/{split}/search")
def get_hits(split: OneSplit, words: Annotated[str, Query(max_length=200)]) -> SearchHits:
    """The cases whose history, instruction, options or sentences hold each of some words."""
    wanted = list(dict.fromkeys(words.casefold().split()))[:MOST_WORDS]
    texts = _texts.get(split, lambda: _make_search_texts(split))
    return SearchHits(
        words=wanted, cases=[[at for at, text in enumerate(texts) if word in text] for word in wanted]
    )


@router.get(
    "/datasets/{dataset}/{split}/thumbs/{case}",
    response_class=Response,
    responses={200: {"content": {"image/webp": {}, "image/svg+xml": {}}}},
)
async def get_thumb(
    request: Request, split: OneSplit, entry: OneEntry, known: IfNoneMatch = None
) -> Response:
    """The first picture of a case, small; where it cannot be read, a picture that says so."""
    return await respond_with_thumbnail(request, split.release, entry.case, known)


@router.get("/datasets/{dataset}/{split}/defects", dependencies=[Depends(require_truth)])
def get_defects(
    dataset: OneDataset, split: PathId, *, open_pictures: bool = False, again: bool = False
) -> DefectList:
    """What `overread check` finds, as far as it got: the first request begins the check."""
    return checks.get_or_start(dataset, split, open_pictures=open_pictures, restart=again).snapshot()


@router.get("/datasets/{dataset}/{split}/defects/lines", dependencies=[Depends(require_truth)])
def get_defect_lines(
    dataset: OneDataset,
    split: PathId,
    code: Annotated[str, Query(max_length=100)],
    offset: Annotated[int, Query(ge=0, le=10_000_000)] = 0,
    limit: Annotated[int, Query(ge=1, le=500)] = 200,
    *,
    open_pictures: bool = False,
) -> DefectLines:
    """More of the defects of one kind."""
    check = checks.get_or_start(dataset, split, open_pictures=open_pictures)
    return check.lines(code, offset, limit)


# ---- the tables ----------------------------------------------------------------------------


def _make_case_table(split: Split) -> _CachedAnswer:
    ids, pictures, volumes, texts = list(split.entries), array("i"), array("i"), []
    facets = VisibleFacets()
    for entry in split.entries.values():
        case = entry.case
        pictures.append(len(case.pictures))
        volumes.append(sum(p.kind == "volume" for p in case.pictures))
        texts.append(_snippet(case))
        facets.add(entry)
    return _CachedAnswer(
        SplitTable.model_construct(
            ids=ids,
            pictures=pictures.tolist(),
            volumes=volumes.tolist(),
            texts=texts,
            facets=facets.settle(),
            unread=split.unread,
        )
    )


def _make_label_table(split: Split) -> _CachedAnswer:
    titles, withheld = [], 0
    facets = TruthFacets()
    for entry in split.entries.values():
        titles.append(_title(entry))
        withheld += entry.truth is None
        facets.add(entry)
    return _CachedAnswer(LabelTable.model_construct(titles=titles, facets=facets.settle(), withheld=withheld))


def _make_search_texts(split: Split) -> list[str]:
    return [_text(entry.case).casefold() for entry in split.entries.values()]


_tables: LruCache[_CachedAnswer] = LruCache(8)
_labels: LruCache[_CachedAnswer] = LruCache(8)
_texts: LruCache[list[str]] = LruCache(8)
_descriptions: LruCache[Description] = LruCache(8)


def _title(entry: Entry) -> str:
    return " ".join((entry.truth.title or "").split())[:200] if entry.truth else ""


def _snippet(case: Case) -> str:
    first = case.history or case.instruction or (case.queries[0].text if case.queries else "")
    words = " ".join(first[: 4 * SNIPPET].split())
    return words if len(words) <= SNIPPET else words[: SNIPPET - 2].rstrip() + " …"


def _text(case: Case) -> str:
    """All the words of a case that a reader may see, and its id."""
    parts = [case.id, case.history or "", case.instruction or ""]
    parts += [option.text for option in case.options]
    parts += [query.text for query in case.queries]
    return "\n".join(parts)
