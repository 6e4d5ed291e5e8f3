"""Recognise texts that may be a database connection string, so that no message shows a password.

Connection strings have no common syntax (URIs, JDBC, libpq, ODBC, `user:password@server`), so the check covers more texts than
necessary: a scheme before a colon, an @, or a key with a value next to other text. Messages quote such a text only if it names
an existing file. A mistyped file name has none of these features.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from pathlib import Path

from synthrelease.errors import InputError

NOT_SHOWN = "(not shown, because it looks like a connection string)"
UNKNOWN_FORM = (
    "The text looks like a connection string (it has a scheme, an @, or keys with values), and no file has this name. The text "
    "is not shown, because it may contain a password."
)
_LONGEST = 2000  # Number of characters that are checked. A connection string is recognised by its beginning.
_CODED = re.compile("%([0-9A-Fa-f]{2})")
# A scheme before a colon. The scheme has at least two characters, because a single letter is a drive of Windows.
_SCHEME = re.compile(r"\s*[A-Za-z][A-Za-z0-9+._-]+:\S")
# A key with a value, and a separator before or after the pair. `year=2019/part.csv` is a path and `age == 3` a condition.
_PAIRS = re.compile(r"\w\s*=(?!=).*[;&\s]|[;&?#\s].*\w\s*=(?!=)", re.DOTALL)
_SECRET = re.compile(r"(pass|pwd|secret|token|key|user|uid|auth|cred|sig)[^/\\:=<>!]*[:=](?!=)", re.IGNORECASE)


def may_hold_secret(text: str) -> bool:
    """Return whether the text looks like a connection string, also with percent-encoded or full-width characters.

    Examples
    --------
    >>> [may_hold_secret(each) for each in ("host=server password=x", "jdbc:postgresql://server", "u:p@server/db", "PWD=x")]
    [True, True, True, True]
    >>> [may_hold_secret(each) for each in ("births.csv", "C:/data/births 2019.csv", "births/year=2019/part-*.parquet")]
    [False, False, False]
    """
    plain = _plain(text[:_LONGEST])
    return "@" in plain or any(sign.search(plain) for sign in (_PAIRS, _SECRET)) or _SCHEME.match(plain) is not None


def _plain(text: str) -> str:
    """Decode percent-encoded characters (up to three times) and normalise full-width characters."""
    for _ in range(3):
        text = _CODED.sub(lambda sign: chr(int(sign[1], 16)), text)
    return unicodedata.normalize("NFKC", text)


def is_unknown_connection(text: str | Path) -> bool:
    return may_hold_secret(str(text)) and not _is_there(text)


def _is_there(text: str | Path) -> bool:
    try:
        return Path(text).exists()
    except (OSError, ValueError):  # the text is longer than a file name may be, or contains a null character
        return False


def checked_path(path: str | Path) -> Path:
    """Return the path.

    Raises
    ------
    InputError : if it looks like a connection string and names no existing file. The message does not quote it.
    """
    if is_unknown_connection(path):
        raise InputError(f"This is not a path. {UNKNOWN_FORM}")
    return Path(path)


def without_secrets(message: str, words: Iterable[str]) -> str:
    """Replace every quoted connection string in a message by a placeholder.

    Parameters
    ----------
    words : the arguments of the command line; of `--option=value`, also the value.
    """
    values = {part for word in words for part in (word, word.partition("=")[2]) if part}
    for value in sorted(filter(is_unknown_connection, values), key=len, reverse=True):
        for form in (value, str(Path(value))):
            message = re.sub("".join(map(_as_printed, form)), NOT_SHOWN, message, flags=re.DOTALL)
    return message


def _as_printed(letter: str) -> str:
    """Return a regular expression for a character as messages print it, perhaps escaped."""
    if not letter.isprintable():
        return ".{1,10}?"
    return r"\\{1,2}" if letter == "\\" else r"\\?" + re.escape(letter) if letter in "'\"" else re.escape(letter)
