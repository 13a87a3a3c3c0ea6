"""HU windows: how a CT is looked at."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from overread.catalog import unknown_name
from overread.pixels.geometry import Array


class Window(NamedTuple):
    """Centre and width in HU."""

    centre: float
    width: float


WINDOWS: dict[str, Window] = {
    "lung": Window(-600, 1500),
    "mediastinum": Window(40, 400),
    "bone": Window(400, 1800),
}


def apply_window(hu: Array, setting: str | Window) -> NDArray[np.uint8]:
    """Grey values of HU: black at centre − width/2, white at centre + width/2.

    The exact linear function (DICOM calls it LINEAR_EXACT), rounded to the nearest grey.

    >>> apply_window(np.array([-160, 40, 240]), "mediastinum").tolist()
    [0, 128, 255]
    """
    if isinstance(setting, str):
        if setting not in WINDOWS:
            raise unknown_name("window", setting, WINDOWS)
        setting = WINDOWS[setting]
    low = setting.centre - setting.width / 2
    grey = (np.asarray(hu, dtype=np.float32) - np.float32(low)) * np.float32(255 / setting.width)
    bounded: NDArray[np.float32] = np.rint(np.clip(np.nan_to_num(grey), 0, 255))
    return bounded.astype(np.uint8)
