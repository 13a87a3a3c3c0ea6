"""Made-up pictures with print on them, and how much of it is covered."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from overread.build.deid.picture import clean_picture
from tools.measure.deid.planted_reports import draw_date, draw_name


def make_picture(rng: random.Random) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], str]:
    """A made-up picture with print on it, where its ink is, and how it is written."""
    seeds = np.random.default_rng(rng.randrange(1 << 30))
    rows, columns = rng.choice([(512, 512), (640, 512), (760, 900)])
    y, x = np.mgrid[:rows, :columns]
    inside = ((x / columns - 0.5) / 0.42) ** 2 + ((y / rows - 0.5) / 0.45) ** 2 < 1
    waves = sum(
        np.sin(x / seeds.uniform(15, 70) + seeds.uniform(0, 6)) * np.cos(y / seeds.uniform(15, 70))
        for _ in range(6)
    )
    base = np.where(inside, 90 + 18 * waves, 8) + seeds.normal(0, 3, (rows, columns))
    grey = np.clip(base, 0, 235).astype(np.uint8)
    coloured = rng.random() < 0.3
    picture = Image.fromarray(grey).convert("RGB") if coloured else Image.fromarray(grey)
    draw = ImageDraw.Draw(picture)
    size = rng.choice([12, 14, 18, 24, 30])
    font = ImageFont.load_default(size=size)
    given, family = draw_name(rng, listed=rng.random() < 0.5)
    text = rng.choice(
        [
            f"{family}, {given}",
            f"ID: {rng.randrange(10**6, 10**7)}",
            draw_date(rng),
            "ST AGNES HOSPITAL",
            f"{family.upper()}^{given.upper()}",
        ]
    )
    bold = rng.choice([0, 0, 1])
    left, top, right, bottom = draw.textbbox((0, 0), text, font=font, stroke_width=bold)
    wide, high = right - left, bottom - top
    place = rng.choice(["top left", "top right", "bottom left", "bottom right", "anywhere"])
    at_x = 8 if "left" in place else columns - wide - 10
    at_y = 8 if "top" in place else rows - high - 14
    if place == "anywhere":
        at_x, at_y = (rng.randint(4, int(max(5, columns - wide - 6))), rng.randint(4, int(rows - high - 14)))
    style = rng.choice(["bright", "bright", "dark on a bar"] + (["coloured"] * 4 if coloured else []))
    fill: Any = {"bright": rng.choice([255, 230]), "dark on a bar": 0}.get(style, 0)
    if style == "coloured":
        fill = rng.choice([(255, 255, 0), (0, 255, 0), (255, 60, 60)])
    elif coloured:
        fill = (fill, fill, fill)
    if style == "dark on a bar":
        draw.rectangle(
            (at_x - 5, at_y - 5, at_x + wide + 6, at_y + high + 12), fill=(255, 255, 255) if coloured else 255
        )
    draw.text((at_x, at_y), text, font=font, fill=fill, stroke_width=bold)
    ink = Image.new("L", picture.size)
    ImageDraw.Draw(ink).text((at_x, at_y), text, font=font, fill=255, stroke_width=bold)
    return np.asarray(picture), np.asarray(ink) > 128, f"{style}, {place}, {size} px"


def measure_pictures(count: int, seed: int) -> dict[str, Any]:
    """How much planted print is covered, and how much else."""
    rng = random.Random(seed)
    whole = half = 0
    beside: list[float] = []
    shown: list[str] = []
    for _ in range(count):
        pixels, ink, how = make_picture(rng)
        mask = np.zeros(ink.shape, dtype=bool)
        for box in clean_picture(pixels).boxes:
            mask[box.top : box.bottom, box.left : box.right] = True
        share = float(mask[ink].mean())
        whole += share > 0.98
        half += share > 0.5
        rows, columns = np.nonzero(ink)
        near = np.zeros(ink.shape, dtype=bool)
        near[max(0, rows.min() - 25) : rows.max() + 25, max(0, columns.min() - 25) : columns.max() + 25] = (
            True
        )
        beside.append(float((mask & ~near).mean()))
        if share <= 0.98:
            shown.append(f"{share:.2f} of the ink: {how}")
    return {
        "planted": count,
        "covered": whole,
        "more than half": half,
        "beside": float(np.mean(beside)),
        "shown": shown,
    }
