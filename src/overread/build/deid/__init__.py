"""De-identification: removes what names a person from headers, pictures and reports.

`deidentify` cleans a whole folder; `clean_dataset`, `clean_picture` and `clean_text` clean one
thing. Rules only, no model: their limits are in docs/deidentification.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from overread.build.deid.dicom.headers import clean_dataset
    from overread.build.deid.folder import deidentify, require_clean
    from overread.build.deid.picture import clean_picture
    from overread.build.deid.results import CleanSummary, Options, Removal, UncleanFile
    from overread.build.deid.secret import DeidSecret, open_secret
    from overread.build.deid.text.clean import clean_text

__all__ = [
    "CleanSummary",
    "DeidSecret",
    "Options",
    "Removal",
    "UncleanFile",
    "clean_dataset",
    "clean_picture",
    "clean_text",
    "deidentify",
    "open_secret",
    "require_clean",
]

_HOMES = {
    "CleanSummary": "results",
    "DeidSecret": "secret",
    "Options": "results",
    "Removal": "results",
    "UncleanFile": "results",
    "clean_dataset": "dicom.headers",
    "clean_picture": "picture",
    "clean_text": "text.clean",
    "deidentify": "folder",
    "open_secret": "secret",
    "require_clean": "folder",
}


def __getattr__(name: str) -> Any:
    # Late, so that a header can be cleaned without loading what cleans pictures.
    if name not in _HOMES:
        raise AttributeError(name)
    from importlib import import_module

    return getattr(import_module(f"overread.build.deid.{_HOMES[name]}"), name)
