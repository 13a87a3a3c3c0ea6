"""From measurements to signs: the limits, and the words for what was measured."""

from __future__ import annotations

from dataclasses import dataclass

from overread.readers.atlas.film.lungs import FilmLungs
from overread.readers.atlas.film.opacities import CLEAR_EXCESS, MIN_EXCESS, Patch, find_patches
from overread.readers.atlas.film.pleura import PleuraMeasures, measure_rims
from overread.readers.atlas.film.preparation import Bools, Edges
from overread.readers.atlas.film.profile import Profile

SIDES = ("right", "left")

HEART_LIMIT = 0.51
"""Cardiothoracic ratio above which the heart is enlarged: 0.5 and a margin for error."""
ANGLE_LIMIT = 0.31
"""How much denser than expected a costophrenic angle must be to be blunted."""
MENISCUS = 1.15
"""How much denser it must be than the base beside it: fluid stands highest at the wall."""
LUCENT_LIMIT = 0.07
"""How much darker an upper rim must be than the other for air without lung."""
NODULE_WIDTH = 0.11
"""Widths of the thorax up to which a round shadow is a nodule: about 3 cm."""
MASS_WIDTH = 0.2
"""Widths up to which it may be a mass."""
ROUND = 0.7
"""How broad a patch must be for its length to be called round."""
DENSE = 0.13
"""Density from which a patch is called consolidated rather than hazy."""
FAINT_SHARE = 0.09
"""Share of a lung above which a faint patch is taken for a difference in exposure between the
sides.
"""
MIN_SHARE = 0.013
"""Share of a lung from which a patch is more than a crossing of vessels and ribs."""


@dataclass(frozen=True)
class FilmSign:
    """One thing that was measured: there, or looked for and not there."""

    name: str
    """What it is, in the words of the vocabulary: 'pleural effusion', 'cardiomegaly'."""
    present: bool
    """Whether the measurement says that it is there."""
    side: str | None = None
    """'right', 'left', 'both', or None where it has none."""
    zones: tuple[str, ...] = ()
    """Regions of the ontology that it was measured in."""
    strength: float = 0.0
    """How far the measurement is beyond its limit: 1 at the limit."""
    measured: str = ""
    """The measurement in words."""
    box: Edges | None = None
    """Where, in pixels of the picture: left, top, right, bottom."""
    size: float | None = None
    """Its longest diameter in widths of the thorax, where it is a spot."""


def measure_signs(profile: Profile, lungs: FilmLungs, patient: Bools) -> list[FilmSign]:
    """Everything that is looked for on a frontal film, there or not."""
    rims = measure_rims(profile, lungs, patient)
    fluid = {side: _effusion_sign(side, rims[side]) for side in SIDES}
    dense = [
        patch
        for patch in find_patches(profile)
        if patch.share >= MIN_SHARE
        and (patch.peak >= CLEAR_EXCESS or patch.share < FAINT_SHARE)
        and not (fluid[patch.side].present and _is_basal(patch))
    ]
    air = {side: _pneumothorax_sign(side, rims[side], dense) for side in SIDES}
    dense = [
        patch
        for patch in dense
        if patch.peak >= CLEAR_EXCESS or _is_basal(patch) or not air[_other_side(patch.side)].present
    ]
    signs = [_opacity_sign(patch) for patch in dense]
    for side in SIDES:
        if not any(patch.side == side for patch in dense):
            zones = tuple(f"{side} {name} lung zone" for name in ("upper", "mid", "lower"))
            words = f"the {side} lung keeps to its mirror image and to the usual profile"
            signs.append(FilmSign("lung opacity", present=False, side=side, zones=zones, measured=words))
    signs += fluid.values()
    signs += air.values()
    signs.append(_heart_sign(profile))
    return signs


def _other_side(side: str) -> str:
    return "left" if side == "right" else "right"


def _is_basal(patch: Patch) -> bool:
    return patch.zones == (f"{patch.side} lower lung zone",)


def _opacity_sign(patch: Patch) -> FilmSign:
    if patch.round >= ROUND and patch.width < MASS_WIDTH and patch.peak >= CLEAR_EXCESS:
        name = "nodule" if patch.width < NODULE_WIDTH else "lung mass"
    else:
        name = "consolidation" if patch.peak >= DENSE else "lung opacity"
    words = (
        f"{patch.share:.0%} of the {patch.side} side exceeds its mirror image and profile, at most "
        f"by {patch.peak:.0%} of the step from lung to middle tone; "
        f"{patch.width:.0%} of the chest across, {patch.round:.1f} as broad as long"
    )
    return FilmSign(
        name,
        present=True,
        side=patch.side,
        zones=patch.zones,
        strength=patch.peak / MIN_EXCESS,
        measured=words,
        box=patch.box,
        size=patch.width if name in ("nodule", "lung mass") else None,
    )


def _effusion_sign(side: str, rim: PleuraMeasures) -> FilmSign:
    words = (
        f"the {side} angle exceeds the usual profile by {rim.angle:.0%} of the step from lung to "
        f"middle tone (limit {ANGLE_LIMIT:.0%}), the base beside it by {rim.beside:.0%}"
    )
    return FilmSign(
        "pleural effusion",
        present=rim.angle >= ANGLE_LIMIT and rim.angle >= MENISCUS * rim.beside,
        side=side,
        zones=(f"{side} costophrenic angle",),
        strength=max(rim.angle, 0.0) / ANGLE_LIMIT,
        measured=words,
    )


def _pneumothorax_sign(side: str, rim: PleuraMeasures, dense: list[Patch]) -> FilmSign:
    # A lung is not lucent because the other one is opaque.
    opaque = any(
        patch.side != side and patch.peak >= CLEAR_EXCESS and not _is_basal(patch) for patch in dense
    )
    lucent = max(rim.lucent, 0.7 * rim.within) - max(rim.turned, 0.0)
    words = (
        f"the outer upper {side} side is darker than the other by {rim.lucent:.0%}, inside of that "
        f"by {rim.within:.0%} of the step from lung to middle tone; the wall by {rim.turned:.0%} "
        f"(limit {LUCENT_LIMIT:.0%} beyond the wall)"
    )
    return FilmSign(
        "pneumothorax",
        present=lucent >= LUCENT_LIMIT and not opaque,
        side=side,
        zones=(f"{side} apical zone", f"{side} upper lung zone"),
        strength=max(lucent, 0.0) / LUCENT_LIMIT,
        measured=words,
    )


def _heart_sign(profile: Profile) -> FilmSign:
    heart = profile.heart
    return FilmSign(
        "cardiomegaly",
        heart.ratio > HEART_LIMIT,
        None,
        ("cardiac silhouette",),
        heart.ratio / HEART_LIMIT,
        f"ratio of its width to that of the chest {heart.ratio:.2f} (limit {HEART_LIMIT:.2f})",
        heart.box,
    )
