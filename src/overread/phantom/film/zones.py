"""Where a sign is on a frontal film, in words: zones, bases, apices and halves of the chest.

A film has no lobes. A place may be said more coarsely than the zones of a sign are (a lung for its
zones, both lungs for several zones of both), never more finely and never with a side left out.
"""

from __future__ import annotations

import numpy as np

from overread.phantom.film.sign import Sign
from overread.phantom.words.place_phrases import PlacePhrase, pick

SIDES = ("right", "left")
LEVELS = ("upper", "mid", "lower")
_LEVEL_OF = {
    "apical zone": "apical",
    "upper lung zone": "upper",
    "mid lung zone": "mid",
    "lower lung zone": "lower",
}


def sign_sides(sign: Sign) -> tuple[str, ...]:
    """The sides that a sign is seen on: those of its zones, where its statement has them too.

    A heart or a spine has no side.
    """
    stated = sign.statement.side
    held = SIDES if stated == "both" else (stated,) if stated is not None else ()
    seen = {zone.split()[0] for zone in sign.zones if zone.split()[0] in SIDES}
    if stated is None:
        hila = {zone.split()[0] for zone in sign.zones if zone.endswith("hilar structures")}
        return tuple(side for side in SIDES if side in hila)
    return tuple(side for side in held if side in seen) or held


def side_word(sign: Sign) -> str | None:
    """Right, left or both; None for a sign that has no side."""
    sides = sign_sides(sign)
    return "both" if len(sides) == 2 else next(iter(sides), None)


def sign_levels(sign: Sign, side: str) -> tuple[str, ...]:
    """Which zones of a lung hold the sign, from above; an apex only where it stands alone."""
    found = {
        _LEVEL_OF[name]
        for zone in sign.zones
        for where, _, name in (zone.partition(" "),)
        if where == side and name in _LEVEL_OF
    }
    if found == {"apical"}:
        return ("apical",)
    found = {"upper" if level == "apical" else level for level in found}
    return tuple(level for level in LEVELS if level in found)


def write_zone_place(sign: Sign, rng: np.random.Generator) -> PlacePhrase | None:
    """The zones that hold a sign of the lung; None where it has no side at all."""
    sides = sign_sides(sign)
    if not sides:
        return None
    levels = {side: sign_levels(sign, side) for side in sides}
    if len(sides) == 1:
        (side,) = sides
        return _one_lung_place(side, levels[side], rng)
    right, left = levels["right"], levels["left"]
    if right == left and len(right) == 1:
        return _same_zone_place(right[0], rng)
    if right == left and len(right) == 2 and rng.random() < 0.7:
        joined = " and ".join(right)
        name = pick(rng, (f"both {joined} lung zones", f"the {joined} zones of both lungs"))
        return PlacePhrase(name, ("side",), plural=True, modifier="bilateral")
    if len(right) == len(left) == 1 and "apical" not in right + left and rng.random() < 0.7:
        name = f"the right {right[0]} and left {left[0]} lung zones"
        return PlacePhrase(name, ("side",), plural=True)
    return _both_lungs_place(rng)


def write_half_place(sign: Sign, rng: np.random.Generator, *, pleural: bool) -> PlacePhrase | None:
    """The half of the chest that a sign is in; None where it has no side."""
    side = side_word(sign)
    if side is None:
        return None
    if side == "both":
        adverb = pick(rng, ("bilaterally", "on both sides"))
        name = "both hemithoraces" if pleural else "both sides"
        within = "in" if pleural else "on"
        return PlacePhrase(name, ("side",), within, plural=True, modifier="bilateral", adverb=adverb)
    modifier = pick(rng, (side, side, f"{side}-sided"))
    adverb = f"on the {side}"
    if pleural:
        adverb = adverb if rng.random() < 0.6 else ""
        return PlacePhrase(f"the {side} hemithorax", ("side",), modifier=modifier, adverb=adverb)
    return PlacePhrase(f"the {side}", ("side",), "on", modifier=modifier, adverb=adverb)


def _one_lung_place(side: str, levels: tuple[str, ...], rng: np.random.Generator) -> PlacePhrase:
    if levels == ("apical",):
        name = pick(rng, (f"the {side} lung apex", f"the {side} apex", f"the {side} apical zone"))
        return PlacePhrase(name, ("side",), pick(rng, ("at", "in")), modifier=f"{side} apical")
    if levels == ("lower",) and rng.random() < 0.4:
        name = pick(rng, (f"the {side} lung base", f"the {side} base"))
        return PlacePhrase(name, ("side",), "at", modifier=f"{side} basilar")
    if len(levels) == 1:
        (level,) = levels
        forms = [f"{side} {level} lung zone", f"{side} {level} zone", f"{side} {level} lung"]
        shown = pick(rng, forms)
        return PlacePhrase(f"the {shown}", ("side",), modifier=shown)
    if len(levels) == 2:
        return PlacePhrase(f"the {side} {' and '.join(levels)} lung zones", ("side",), plural=True)
    name = pick(rng, (f"the {side} lung", f"the {side} lung field"))
    return PlacePhrase(name, ("side",), modifier=f"{side} lung")


def _same_zone_place(level: str, rng: np.random.Generator) -> PlacePhrase:
    """The same zone of both lungs."""
    if level == "apical":
        name = pick(rng, ("both lung apices", "both apices"))
        return PlacePhrase(name, ("side",), "at", plural=True, modifier="biapical")
    if level == "lower" and rng.random() < 0.5:
        return PlacePhrase("both lung bases", ("side",), "at", plural=True, modifier="bibasilar")
    names = (f"both {level} lung zones", f"the {level} zones of both lungs", f"both {level} zones")
    return PlacePhrase(pick(rng, names), ("side",), plural=True, modifier=f"bilateral {level} lung zone")


def _both_lungs_place(rng: np.random.Generator) -> PlacePhrase:
    adverb = "bilaterally" if rng.random() < 0.3 else ""
    return PlacePhrase("both lungs", ("side",), plural=True, modifier="bilateral", adverb=adverb)
