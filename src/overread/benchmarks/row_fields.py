"""Fields of one row, taken out with their types checked; what is wrong is noted, not raised."""

from __future__ import annotations

from typing import Any

from overread.core import Defect
from overread.errors import ReleaseError


class RowFields:
    """One row being read: gives typed fields and collects the row's defects.

    `broken` says that the row cannot become a case; other defects leave a case that can be read.
    """

    def __init__(self, data: dict[str, Any], *, file: str, number: int) -> None:
        """Read the columns of row `number` of `file`."""
        self.data = data
        self.file = file
        self.number = number
        self.case: str | None = None
        self.defects: list[Defect] = []
        self.broken = False

    def note(self, code: str, field: str, expected: str, found: object) -> None:
        """Something is wrong that still leaves a case."""
        self.defects.append(
            Defect(
                code=code,
                file=self.file,
                row=self.number,
                case=self.case,
                field=field,
                expected=expected,
                found=format_value(found),
            )
        )

    def fail(self, code: str, field: str, expected: str, found: object) -> None:
        """Something is wrong that leaves no case."""
        self.note(code, field, expected, found)
        self.broken = True

    def text(self, field: str) -> str | None:
        """A text; empty and absent are the same."""
        value = self.data.get(field)
        if value is None or value == "":
            return None
        if not isinstance(value, str):
            self.fail("wrong-type", field, "text", value)
            return None
        return value

    def integer(self, field: str) -> int | None:
        """A whole number; data frames make floats of them, so 4.0 is 4."""
        value = self.data.get(field)
        if value is None:
            return None
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or abs(value) > 2**53:
            self.fail("wrong-type", field, "a whole number", value)
            return None
        return value

    def boolean(self, field: str) -> bool | None:
        """A yes or no, also as 0 and 1 or as a word."""
        value = self.data.get(field)
        if value is None or value == "":
            return None
        if isinstance(value, str):
            value = {"true": True, "false": False, "1": True, "0": False}.get(value.lower(), value)
        if value not in (0, 1, True, False):
            self.fail("wrong-type", field, "true or false", value)
            return None
        return bool(value)


def row_error(defects: list[Defect]) -> ReleaseError:
    """The first error of a row as the exception that loading raises.

    It says what was expected and not what was found: the value may be the truth, and the
    exception may come up in a reader.
    """
    first = next(defect for defect in defects if defect.severity == "error")
    return ReleaseError(
        f"{first.code}: expected {first.expected}",
        where=first.where,
        remedy="`overread check` says what was found, and names every other defect",
    )


def format_value(value: object) -> str:
    """A value from outside, short enough for one line."""
    text = value if isinstance(value, str) else repr(value)
    text = " ".join(text.split())
    return text if len(text) <= 160 else text[:157] + "…"
