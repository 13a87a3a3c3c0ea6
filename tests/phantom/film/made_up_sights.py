"""Made-up sights of frontal films, for tests of words: every kind of sign, seen or not."""

from __future__ import annotations

import numpy as np

from overread.ontology import xray_regions
from overread.phantom.film.sign import FilmBox, FilmContents, Sign, View, Visibility
from overread.phantom.statement import EXTRAPULMONARY, KINDS, FindingStatement, Severity, Side

ALL_KINDS = [(category, kind) for category, kinds in KINDS.items() for kind in kinds]
BEYOND_KINDS = [(code, kind) for kind, code in EXTRAPULMONARY.items()]
SIDES = ("right", "left")
LEVELS = ("apical zone", "upper lung zone", "mid lung zone", "lower lung zone")
THINGS = ("2d", "2h")
PLEURA = ("2e", "2g")
WIDTH, HEIGHT = 640, 560

_ACROSS = {"right": (60, 270), "left": (370, 580)}
_DOWN = {
    "lung": (40, 440),
    "apical zone": (40, 110),
    "upper lung zone": (40, 190),
    "mid lung zone": (190, 310),
    "lower lung zone": (310, 440),
    "costophrenic angle": (400, 460),
    "hemidiaphragm": (380, 470),
    "clavicle": (50, 110),
    "hilar structures": (200, 290),
    "cardiac silhouette": (240, 440),
    "cardiophrenic angle": (390, 440),
    "upper abdomen": (430, 560),
}
_MIDDLE: dict[str, FilmBox] = {
    "mediastinum": (230, 60, 420, 440),
    "upper mediastinum": (250, 60, 390, 200),
    "aortic arch": (320, 150, 380, 210),
    "svc": (255, 120, 290, 230),
    "cardiac silhouette": (220, 240, 440, 440),
    "cavoatrial junction": (240, 230, 290, 270),
    "right atrium": (220, 270, 300, 420),
    "trachea": (300, 30, 340, 190),
    "carina": (295, 180, 350, 220),
    "spine": (280, 20, 360, 540),
    "abdomen": (40, 420, 600, 560),
}


def regions() -> dict[str, FilmBox]:
    """A box for each of the regions."""
    found: dict[str, FilmBox] = {}
    for name in xray_regions().names:
        side, _, part = name.partition(" ")
        if name in _MIDDLE:
            found[name] = _MIDDLE[name]
        else:
            x1, x2 = _ACROSS[side]
            y1, y2 = _DOWN[part]
            found[name] = (x1, y1, x2, y2)
    return found


def sign(category: str, kind: str, seen: Visibility, rng: np.random.Generator, number: int = 0) -> Sign:
    """One sign as the rule of visibility may give it: zones, sides and numbers fit each other."""
    beyond = kind in EXTRAPULMONARY and EXTRAPULMONARY[kind] == category
    side: Side | None = None
    zones: list[str] = []
    sides: tuple[str, ...] = ()
    if not beyond or kind == "rib fracture":
        choices: tuple[Side, ...] = ("right", "left") if beyond else ("right", "left", "both")
        side = choices[int(rng.integers(len(choices)))]
        sides = SIDES if side == "both" else (side,)
    if category in PLEURA:
        tail = {"effusion": ["costophrenic angle", "hemidiaphragm"]}.get(kind, [])
        if kind == "pneumothorax" or rng.random() < 0.3:
            tail = ["apical zone", "upper lung zone"][: int(rng.integers(1, 3))]
        zones = [f"{one} {part}" for one in sides for part in (tail or ["lower lung zone"])]
    elif not beyond or kind == "rib fracture":
        for one in sides:
            many = int(rng.integers(1, 4))
            picked = sorted(rng.choice(4, many, replace=False).tolist())
            zones += [f"{one} {LEVELS[n]}" for n in picked]
    elif kind == "lymph nodes":
        pool = ["right hilar structures", "left hilar structures", "mediastinum"]
        zones = [pool[n] for n in range(3) if rng.random() < 0.5]
    elif kind in ("aortic calcification", "aortic ectasia"):
        zones = ["aortic arch"] if rng.random() < 0.7 else []
    elif kind in ("cardiomegaly", "pericardial effusion"):
        zones = ["cardiac silhouette"]
    elif kind == "osteophytes":
        zones = ["spine"]
    grades: tuple[Severity | None, ...] = (None, "mild", "moderate", "severe")
    things = category in THINGS
    held = regions()
    count = int(rng.integers(max(1, len(sides)), 6)) if things else max(1, len(sides))
    return Sign(
        key=f"beyond-{kind}" if beyond else f"finding-{number}",
        statement=FindingStatement(
            category=category,
            kind=kind,
            side=side,
            count=count,
            countable=things,
            severity=None if things or kind == "lymph nodes" else grades[int(rng.integers(4))],
            size_mm=int(rng.integers(5, 70)) if things else None,
            traits=("thick-walled",) if kind == "cavity" and rng.random() < 0.5 else (),
        ),
        seen=seen,
        strength=float(rng.uniform(0, 40)),
        zones=tuple(zones),
        boxes=tuple(held[zone] for zone in zones[:1]) if seen != "hidden" else (),
        size_mm=int(rng.integers(5, 70)) if things else None,
    )


def sight(seed: int, *, most: int = 5, view: View | None = None) -> FilmContents:
    """A film with up to `most` signs of lung and pleura, and up to three beyond."""
    rng = np.random.default_rng([7, seed])
    states: tuple[Visibility, ...] = ("seen", "doubtful", "hidden")

    def state() -> Visibility:
        return states[int(rng.choice(3, p=(0.6, 0.2, 0.2)))]

    signs = []
    for number in range(int(rng.integers(0, most + 1))):
        category, kind = ALL_KINDS[int(rng.integers(len(ALL_KINDS)))]
        signs.append(sign(category, kind, state(), rng, number))
    for at in rng.permutation(len(BEYOND_KINDS))[: int(rng.integers(0, 4))]:
        code, kind = BEYOND_KINDS[int(at)]
        signs.append(sign(code, kind, state(), rng))
    wide = any(one.statement.kind == "cardiomegaly" and one.seen != "hidden" for one in signs)
    return FilmContents(
        view=view or ("AP supine" if rng.random() < 0.25 else "PA"),
        columns=WIDTH,
        rows=HEIGHT,
        regions=regions(),
        signs=tuple(signs),
        heart_ratio=float(rng.uniform(0.52, 0.62) if wide else rng.uniform(0.44, 0.5)),
    )
