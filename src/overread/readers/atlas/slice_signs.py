"""From measurements of a CT slice in the lung window to signs, each with limit and place."""

from __future__ import annotations

from overread.readers.atlas.case_kinds import Plane
from overread.readers.atlas.case_signs import CaseSign, sureness
from overread.readers.atlas.slice_body import Slice
from overread.readers.atlas.slice_notes import Notes
from overread.readers.atlas.slice_rind import hernia_sign, wall_signs
from overread.readers.atlas.slice_solid import solid_signs


def lung_signs(cut: Slice, plane: Plane) -> list[CaseSign]:
    """The signs of one slice in the lung window, those that were looked for and not seen too."""
    hold = Notes(cut, plane)
    if not hold.lung.numbers:
        return []
    _density(hold)
    _holes(hold)
    _lines(hold)
    solid_signs(hold)
    if hold.wall is not None:
        wall_signs(hold, hold.wall)
        hernia_sign(hold, hold.wall)
    return hold.signs


def _density(hold: Notes) -> None:
    glass = hold.number("glass")
    hold.add(
        "ground glass",
        sureness(glass, 0.07, 0.04) * (1 - 0.7 * _free_air(hold)),
        f"{glass:.0%} of the lung is hazy, denser than {hold.number('usual') + 85:.0f} HU "
        "between its vessels",
        hold.mask("glass"),
        amount=glass,
    )
    thin = hold.number("outer thin")
    hold.add(
        "crazy paving",
        min(sureness(glass, 0.2, 0.06), sureness(thin, 0.05, 0.015)),
        f"{glass:.0%} of the lung is hazy and {thin:.1%} of its outer part are fine lines",
        hold.mask("glass"),
        amount=glass,
    )
    patchy = hold.number("patchy")
    hold.add(
        "mosaic",
        min(sureness(patchy, 140, 18), sureness(-hold.number("usual"), 855, 20)),
        f"the density of the lung between its vessels spreads over {patchy:.0f} HU",
        hold.mask("dark") if hold.mask("dark").any() else hold.mask("glass"),
        amount=patchy,
    )
    gas, touch = hold.number("largest gas"), hold.number("gas at wall")
    free = _free_air(hold)
    hold.add(
        "pneumothorax",
        free,
        f"{gas:.0%} of the chest is bare gas without vessels, along {touch:.0%} of the wall",
        hold.mask("largest gas"),
        amount=gas,
    )
    dark = hold.number("dark")
    cysts, widest = hold.number("cysts"), hold.number("cysts mm")
    spread = max(0.0, dark - gas * free)
    hold.add(
        "emphysema",
        sureness(spread, 0.012, 0.008) * (1 - 0.8 * sureness(patchy, 140, 18)),
        f"{spread:.1%} of the lung is darker than {min(-925.0, hold.number('usual') - 45):.0f} HU",
        hold.mask("dark"),
        amount=spread,
    )
    hold.add(
        "bulla",
        sureness(widest, 18, 4) * (1 - free),
        f"the widest dark space with a border measures {widest:.0f} mm",
        hold.mask("cysts"),
        amount=widest,
        number=int(cysts),
    )


def _free_air(hold: Notes) -> float:
    """How sure a pneumothorax is: much bare gas in one piece along the wall."""
    gas, touch = hold.number("largest gas"), hold.number("gas at wall")
    return min(sureness(gas, 0.03, 0.01), sureness(touch, 0.02, 0.008))


def _holes(hold: Notes) -> None:
    walled, comb = hold.number("walled"), hold.number("comb")
    combs = sureness(walled, 9, 2.5)
    hold.add(
        "honeycombing",
        combs,
        f"{walled:.0f} small holes share walls, over {comb:.0%} of the lung",
        hold.mask("comb") if hold.mask("comb").any() else hold.mask("rings"),
        amount=walled,
    )
    cysts, widest = hold.number("cysts"), hold.number("cysts mm")
    hold.add(
        "cysts",
        sureness(cysts, 3.2, 1.0) * (1 - 0.7 * combs),
        f"{cysts:.0f} round air spaces with a thin wall, up to {widest:.0f} mm",
        hold.mask("cysts"),
        amount=cysts,
        number=int(cysts),
    )
    rings = hold.number("rings")
    hold.add(
        "bronchiectasis",
        sureness(rings, 2.5, 0.9) * (1 - 0.6 * combs),
        f"{rings:.0f} rings of bronchial walls, up to {hold.number('rings mm'):.0f} mm",
        hold.mask("rings"),
        amount=rings,
        number=int(rings),
    )


def _lines(hold: Notes) -> None:
    outer = hold.number("outer thin")
    lines = hold.number("lines each dm2")
    glass = hold.number("glass")
    hold.add(
        "septal lines",
        min(sureness(lines, 4.6, 1.0), sureness(outer, 0.045, 0.012)),
        f"{lines:.1f} lines in each dm² of lung, {outer:.1%} of its outer part",
        hold.mask("lines"),
        amount=lines,
    )
    hold.add(
        "reticulation",
        min(sureness(glass, 0.12, 0.06), sureness(outer, 0.03, 0.01)),
        f"{outer:.1%} of the outer lung are fine lines on a hazy ground of {glass:.0%}",
        hold.mask("thin"),
        amount=outer,
    )
    spots = hold.number("spots each dm2")
    hold.add(
        "micronodules",
        sureness(spots, 9.0, 2.0),
        f"{spots:.1f} small spots in each dm² of lung",
        hold.mask("spots"),
        amount=spots,
        number=int(hold.number("spots")),
    )
    crowd = hold.number("crowd")
    hold.add(
        "tree-in-bud",
        sureness(crowd, 0.17, 0.04) * (1 - 0.6 * sureness(glass, 0.15, 0.06)),
        f"fine spots and branches fill {crowd:.0%} where they are densest in the outer lung",
        hold.mask("crowd"),
        amount=crowd,
    )
    thick = hold.number("thin")
    hold.add(
        "thick bronchial walls",
        sureness(thick, 0.052, 0.01) * 0.8,
        f"{thick:.1%} of the lung are vessels and bronchial walls",
        hold.mask("thin"),
        amount=thick,
    )
