"""What the tests of sentences and reports share: statements as voxels could bear them out."""

from __future__ import annotations

from hypothesis import strategies as st

from overread.ontology import lung_anatomy
from overread.phantom.statement import EXTRAPULMONARY, KINDS, SPREADS, FindingStatement, Side

THINGS = ("2d", "2h")
PLEURA = ("2e", "2g")
COUNTABLE_TOO = {("1c", "bullous"), ("1e", "centrilobular"), ("2a", "band"), ("1f", "mucus plugging")}
TRAITS = {
    "1d": ("smooth",),
    "2b": ("air bronchograms",),
    "2c": ("air bronchograms",),
    "2d": ("lobulated", "smooth", "calcified"),
    "2e": ("smooth", "lobulated", "calcified"),
    "2h": ("thick-walled", "thin-walled"),
}
GRADES = (None, "mild", "moderate", "severe")
ALL_KINDS = [(category, kind) for category, kinds in KINDS.items() for kind in kinds]


@st.composite
def statements(draw: st.DrawFn, kinds: tuple[tuple[str, str], ...] = ()) -> FindingStatement:
    """A finding of lung or pleura: lobes, sides, segments and numbers fit each other."""
    category, kind = draw(st.sampled_from(kinds or ALL_KINDS))
    traits = draw(st.lists(st.sampled_from(TRAITS.get(category, ("",))), max_size=2, unique=True))
    if "thick-walled" in traits and "thin-walled" in traits:
        traits = traits[:1]
    shared = {
        "category": category,
        "kind": kind,
        "spread": tuple(draw(st.lists(st.sampled_from(SPREADS), max_size=2, unique=True))),
        "traits": tuple(trait for trait in traits if trait),
    }
    if category in PLEURA:
        side = draw(st.sampled_from(("right", "left", "both")))
        count = draw(st.integers(2 if side == "both" else 1, 3))
        return FindingStatement(side=side, count=count, severity=draw(st.sampled_from(GRADES)), **shared)
    order = [lobe.code for lobe in lung_anatomy().lobes]
    chosen = draw(st.sets(st.sampled_from(order), min_size=1))
    lobes = tuple(code for code in order if code in chosen)
    side = side_of(lobes)
    segments: tuple[str, ...] = ()
    if len(lobes) <= 3 and draw(st.booleans()):
        segments = tuple(
            code
            for code, lobe in lung_anatomy().by_code.items()
            if lobe.code in lobes and code != lobe.code and draw(st.booleans())
        )
    things = category in THINGS
    return FindingStatement(
        side=side,
        lobes=lobes,
        segments=segments,
        count=draw(st.integers(len(lobes), 14)),
        countable=things or ((category, kind) in COUNTABLE_TOO and draw(st.booleans())),
        size_mm=draw(st.none() | st.integers(3, 120)),
        severity=None if things else draw(st.sampled_from(GRADES)),
        **shared,
    )


@st.composite
def statements_beyond(draw: st.DrawFn) -> FindingStatement:
    """A finding beyond the lung."""
    kind = draw(st.sampled_from(sorted(EXTRAPULMONARY)))
    counted = kind in ("rib fracture", "lymph nodes")
    side: Side | None = draw(st.sampled_from(("right", "left"))) if kind == "rib fracture" else None
    return FindingStatement(
        category=EXTRAPULMONARY[kind],
        kind=kind,
        side=side,
        count=draw(st.integers(1, 5)) if counted else 1,
        countable=counted and draw(st.booleans()),
        size_mm=draw(st.integers(12, 60)) if kind in ("lymph nodes", "aortic ectasia") else None,
        severity=None if counted else draw(st.sampled_from(GRADES)),
    )


def side_of(lobes: tuple[str, ...]) -> Side:
    """The side that lobes are on."""
    first = {code[0] for code in lobes}
    return "both" if len(first) == 2 else "right" if first == {"R"} else "left"
