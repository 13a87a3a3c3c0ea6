"""From measurements of a CT slice in the lung window to signs, each with limit and place."""

from __future__ import annotations

from overread.readers.atlas.slice.body import CtSlice
from overread.readers.atlas.slice.pleura import add_hernia_sign, add_wall_signs
from overread.readers.atlas.slice.sign_collector import SignCollector
from overread.readers.atlas.slice.signs import PictureSign, Plane, confidence_from
from overread.readers.atlas.slice.solid import add_solid_signs


def lung_signs(cut: CtSlice, plane: Plane) -> list[PictureSign]:
    """The signs of one slice in the lung window, those that were looked for and not seen too."""
    hold = SignCollector(cut, plane)
    if not hold.lung.numbers:
        return []
    _add_density_signs(hold)
    _add_hole_signs(hold)
    _add_line_signs(hold)
    add_solid_signs(hold)
    if hold.wall is not None:
        add_wall_signs(hold, hold.wall)
        add_hernia_sign(hold, hold.wall)
    return hold.signs


def _add_density_signs(hold: SignCollector) -> None:
    glass = hold.number("glass")
    hold.add_sign(
        "ground glass",
        confidence_from(glass, 0.07, 0.04) * (1 - 0.7 * _pneumothorax_confidence(hold)),
        f"{glass:.0%} of the lung is hazy, denser than {hold.number('usual') + 85:.0f} HU "
        "between its vessels",
        hold.mask("glass"),
        amount=glass,
    )
    thin = hold.number("outer thin")
    hold.add_sign(
        "crazy paving",
        min(confidence_from(glass, 0.2, 0.06), confidence_from(thin, 0.05, 0.015)),
        f"{glass:.0%} of the lung is hazy and {thin:.1%} of its outer part are fine lines",
        hold.mask("glass"),
        amount=glass,
    )
    patchy = hold.number("patchy")
    hold.add_sign(
        "mosaic",
        min(confidence_from(patchy, 140, 18), confidence_from(-hold.number("usual"), 855, 20)),
        f"the density of the lung between its vessels spreads over {patchy:.0f} HU",
        hold.mask("dark") if hold.mask("dark").any() else hold.mask("glass"),
        amount=patchy,
    )
    gas, touch = hold.number("largest gas"), hold.number("gas at wall")
    free = _pneumothorax_confidence(hold)
    hold.add_sign(
        "pneumothorax",
        free,
        f"{gas:.0%} of the chest is bare gas without vessels, along {touch:.0%} of the wall",
        hold.mask("largest gas"),
        amount=gas,
    )
    dark = hold.number("dark")
    cysts, widest = hold.number("cysts"), hold.number("cysts mm")
    spread = max(0.0, dark - gas * free)
    hold.add_sign(
        "emphysema",
        confidence_from(spread, 0.012, 0.008) * (1 - 0.8 * confidence_from(patchy, 140, 18)),
        f"{spread:.1%} of the lung is darker than {min(-925.0, hold.number('usual') - 45):.0f} HU",
        hold.mask("dark"),
        amount=spread,
    )
    hold.add_sign(
        "bulla",
        confidence_from(widest, 18, 4) * (1 - free),
        f"the widest dark space with a border measures {widest:.0f} mm",
        hold.mask("cysts"),
        amount=widest,
        number=int(cysts),
    )


def _pneumothorax_confidence(hold: SignCollector) -> float:
    """How sure a pneumothorax is: much bare gas in one piece along the wall."""
    gas, touch = hold.number("largest gas"), hold.number("gas at wall")
    return min(confidence_from(gas, 0.03, 0.01), confidence_from(touch, 0.02, 0.008))


def _add_hole_signs(hold: SignCollector) -> None:
    walled, comb = hold.number("walled"), hold.number("comb")
    combs = confidence_from(walled, 9, 2.5)
    hold.add_sign(
        "honeycombing",
        combs,
        f"{walled:.0f} small holes share walls, over {comb:.0%} of the lung",
        hold.mask("comb") if hold.mask("comb").any() else hold.mask("rings"),
        amount=walled,
    )
    cysts, widest = hold.number("cysts"), hold.number("cysts mm")
    hold.add_sign(
        "cysts",
        confidence_from(cysts, 3.2, 1.0) * (1 - 0.7 * combs),
        f"{cysts:.0f} round air spaces with a thin wall, up to {widest:.0f} mm",
        hold.mask("cysts"),
        amount=cysts,
        number=int(cysts),
    )
    rings = hold.number("rings")
    hold.add_sign(
        "bronchiectasis",
        confidence_from(rings, 2.5, 0.9) * (1 - 0.6 * combs),
        f"{rings:.0f} rings of bronchial walls, up to {hold.number('rings mm'):.0f} mm",
        hold.mask("rings"),
        amount=rings,
        number=int(rings),
    )


def _add_line_signs(hold: SignCollector) -> None:
    outer = hold.number("outer thin")
    lines = hold.number("lines each dm2")
    glass = hold.number("glass")
    hold.add_sign(
        "septal lines",
        min(confidence_from(lines, 4.6, 1.0), confidence_from(outer, 0.045, 0.012)),
        f"{lines:.1f} lines in each dm² of lung, {outer:.1%} of its outer part",
        hold.mask("lines"),
        amount=lines,
    )
    hold.add_sign(
        "reticulation",
        min(confidence_from(glass, 0.12, 0.06), confidence_from(outer, 0.03, 0.01)),
        f"{outer:.1%} of the outer lung are fine lines on a hazy ground of {glass:.0%}",
        hold.mask("thin"),
        amount=outer,
    )
    spots = hold.number("spots each dm2")
    hold.add_sign(
        "micronodules",
        confidence_from(spots, 9.0, 2.0),
        f"{spots:.1f} small spots in each dm² of lung",
        hold.mask("spots"),
        amount=spots,
        number=int(hold.number("spots")),
    )
    crowd = hold.number("crowd")
    hold.add_sign(
        "tree-in-bud",
        confidence_from(crowd, 0.17, 0.04) * (1 - 0.6 * confidence_from(glass, 0.15, 0.06)),
        f"fine spots and branches fill {crowd:.0%} where they are densest in the outer lung",
        hold.mask("crowd"),
        amount=crowd,
    )
    thick = hold.number("thin")
    hold.add_sign(
        "thick bronchial walls",
        confidence_from(thick, 0.052, 0.01) * 0.8,
        f"{thick:.1%} of the lung are vessels and bronchial walls",
        hold.mask("thin"),
        amount=thick,
    )
