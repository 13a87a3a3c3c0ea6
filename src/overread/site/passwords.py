"""The file of passwords: one `name:salt:hash` a line, hashed with scrypt."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from pathlib import Path

from overread.errors import UsageError
from overread.storage.atomic import open_atomic
from overread.storage.system import others_may_read

_COST = {"n": 1 << 14, "r": 8, "p": 1}
_MOST = 1 << 20
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@-]{0,59}")
"""What a user may be called: verdicts take only names that begin so."""
SHORTEST = 8
"""Characters that a password has at least."""


def read_passwords(file: Path) -> dict[str, tuple[bytes, bytes]]:
    """User → (salt, hash); refused where anybody else may read the file."""
    remedy = f"make it with `overread password {file} NAME`"
    try:
        status = file.stat()
        text = file.read_text("utf-8") if status.st_size <= _MOST else ""
    except FileNotFoundError:
        raise UsageError(f"there is no password file {file}", remedy=remedy) from None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"the password file cannot be read ({error})", where=str(file)) from None
    if others_may_read(file):
        raise UsageError("others may read the password file", where=str(file), remedy=f"chmod 600 {file}")
    users = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            name, salt, hashed = line.split(":")
            users[name] = (bytes.fromhex(salt), bytes.fromhex(hashed))
            if not NAME.fullmatch(name):
                raise ValueError(name)
        except ValueError:
            told = f"line {number} of the password file is not name:salt:hash"
            raise UsageError(told, where=str(file), remedy=remedy) from None
    if not users:
        raise UsageError("the password file names nobody", where=str(file), remedy=remedy)
    return users


def add_password(file: Path, name: str, password: str) -> None:
    """Give a user a password, the first or another one."""
    if not NAME.fullmatch(name):
        raise UsageError(
            f"'{name}' cannot be a user's name", remedy="begin with a letter or digit; . _ @ - may follow"
        )
    if len(password) < SHORTEST:
        raise UsageError(f"a password has at least {SHORTEST} characters")
    users = read_passwords(file) if file.exists() and file.stat().st_size else {}
    salt = secrets.token_bytes(16)
    users[name] = (salt, _hash(password, salt))
    body = "".join(f"{n}:{s.hex()}:{h.hex()}\n" for n, (s, h) in users.items())
    with open_atomic(file, compress=False, mode=0o600) as out:
        out.write(body.encode("utf-8"))


def check_password(users: dict[str, tuple[bytes, bytes]], name: str, password: str) -> bool:
    """Whether a user gave the right password; takes as long for a name that nobody has."""
    salt, hashed = users.get(name, (b"nobody", b""))
    return hmac.compare_digest(_hash(password, salt), hashed)


def _hash(password: str, salt: bytes) -> bytes:
    return hashlib.scrypt(password.encode("utf-8", "replace"), salt=salt, dklen=32, **_COST)
