"""The secret that everything is mapped by: whoever has it can map again, nobody else can undo.

Names, ids and UIDs are mapped by a keyed hash (HMAC-SHA256), so the same value becomes the same
other value in every file and every run with the same secret. Dates of a patient are moved back by
a whole number of weeks, from one to ten years: intervals stay, and so do weekdays.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import uuid
from base64 import b32encode
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from overread.errors import UsageError
from overread.storage.atomic import open_atomic, remove_part_of
from overread.storage.system import home_folder, others_may_read

ENVIRONMENT = "OVERREAD_SECRET"
_WEEKS = (53, 520)


@dataclass(frozen=True)
class DeidSecret:
    """A key, and the mappings that hang on it."""

    key: bytes = field(repr=False)

    def digest(self, what: str, value: str) -> bytes:
        """32 bytes that follow from the key, a purpose and a value."""
        return hmac.new(self.key, f"{what}\0{value}".encode(errors="replace"), "sha256").digest()

    def code(self, what: str, value: str, length: int = 10) -> str:
        """A short code of letters and digits for a value."""
        return b32encode(self.digest(what, value)).decode().lower()[:length]

    def patient_code(self, patient: str) -> str:
        """What a patient is called from now on."""
        return f"P{self.code('patient', normalise_value(patient)).upper()}"

    def shift_days(self, patient: str) -> int:
        """By how many days the dates of a patient are moved; always back, always whole weeks."""
        least, most = _WEEKS
        drawn = int.from_bytes(self.digest("shift", normalise_value(patient))[:8], "big")
        return -7 * (least + drawn % (most - least + 1))

    def map_uid(self, uid: str) -> str:
        """Another UID for a UID, of the kind that needs no registered root."""
        made = uuid.UUID(bytes=self.digest("uid", uid.strip())[:16], version=5)
        return f"2.25.{made.int}"

    def choose(self, what: str, value: str, choices: Sequence[str]) -> str:
        """One of several choices, always the same one for a value."""
        return choices[int.from_bytes(self.digest(what, value)[:8], "big") % len(choices)]

    def fake_like(self, what: str, value: str) -> str:
        """A value of the same shape: digits for digits, letters for letters, the rest as it is.

        >>> made = DeidSecret(b"k" * 32).fake_like("id", "AB-1234")
        >>> len(made), made[2], made[:2].isalpha(), made[3:].isdigit(), made != "AB-1234"
        (7, '-', True, True, True)
        """
        for attempt in range(8):
            stream, made = b"", []
            for n, character in enumerate(value):
                if n % 32 == 0:
                    stream = self.digest(f"{what} {attempt} {n}", normalise_value(value))
                drawn = stream[n % 32]
                if character.isdigit():
                    made.append(str(drawn % 10))
                elif character.isalpha():
                    letter = chr(ord("a") + drawn % 26)
                    made.append(letter.upper() if character.isupper() else letter)
                else:
                    made.append(character)
            if "".join(made) != value:  # one digit may well be mapped onto itself
                return "".join(made)
        return "X" * len(value)


def normalise_value(value: str) -> str:
    """A value as it is compared: without spaces around it and leading zeros, in small letters."""
    return value.strip().lstrip("0").casefold() or value.strip()


def open_secret(path: Path | None = None, *, out: Path | None = None) -> DeidSecret:
    """The secret of a file, which is made where it is not there; only its owner may read it.

    Without a path: the file that OVERREAD_SECRET names, or `overread/deidentify.secret` in the
    user's own settings. It must not lie in the folder that is given away.
    """
    file = (path or _default_path()).expanduser()
    if out is not None and file.resolve().is_relative_to(out.resolve()):
        raise UsageError(
            "the secret would lie in the output folder",
            where=str(file),
            remedy="name a file elsewhere with --secret",
        )
    if not file.exists():
        _create_secret(file)
    elif not file.is_file():
        raise UsageError("the secret is not a file", where=str(file), remedy="name a file with --secret")
    remove_part_of(file)
    if others_may_read(file):
        raise UsageError(
            "the secret file is readable by other users",
            where=str(file),
            remedy="chmod 600 it, then run again",
        )
    held = file.read_bytes().strip()
    if len(held) < 16:
        raise UsageError(
            "a secret of under 16 characters can be guessed",
            where=str(file),
            remedy="remove the file to have one made, or write a longer one",
        )
    return DeidSecret(hashlib.sha256(held).digest())


def _default_path() -> Path:
    named = os.environ.get(ENVIRONMENT)
    if named:
        return Path(named)
    configured, home = os.environ.get("XDG_CONFIG_HOME"), home_folder()
    if not configured and home is None:
        raise UsageError("there is no home folder to keep the secret in", remedy="name a file with --secret")
    folder = Path(configured) if configured else Path(home or "", ".config")
    return folder / "overread" / "deidentify.secret"


def _create_secret(file: Path) -> None:
    # With its rights from the first moment on, whole, and never over a file that another run made.
    with suppress(UsageError), open_atomic(file, exclusive=True, compress=False, mode=0o600) as out:
        out.write(secrets.token_hex(32).encode() + b"\n")
