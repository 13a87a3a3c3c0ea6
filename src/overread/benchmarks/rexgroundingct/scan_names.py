"""How scans are named."""

from __future__ import annotations

import re


def scan_stem(name: str) -> str:
    """The name of a scan without its ending.

    >>> scan_stem("train_1_a_1.nii.gz"), scan_stem("train_1_a_1.mha")
    ('train_1_a_1', 'train_1_a_1')
    """
    return re.sub(r"\.(nii(\.gz)?|mha)$", "", name)
