"""What the names of columns, labels and texts mean in several languages: the lists of `words.toml`, as patterns."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from pathlib import Path

WORDS = tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))
NAMES = {meaning: re.compile(rf" ({'|'.join(words)})(?= )") for meaning, words in WORDS["names"].items()}
"""By meaning, a pattern for whole words of `words_in`."""
PARTS = {meaning: re.compile("|".join(words), re.IGNORECASE) for meaning, words in WORDS["parts"].items()}
"""By meaning, a pattern for any part of a name."""
_LETTERS = str.maketrans(
    {"ß": "ss", "æ": "ae", "ø": "o", "œ": "oe", "ł": "l", "đ": "d", "ı": "i", "Ø": "O", "Æ": "AE", "Ł": "L"}
)
"""Letters that are not made of a plain one and a mark."""


def unaccented(text: str) -> str:
    """Return a text with plain letters in the place of those with marks.

    Examples
    --------
    >>> unaccented("Größe, département")
    'Grosse, departement'
    """
    letters = unicodedata.normalize("NFKD", text.translate(_LETTERS))
    return "".join(letter for letter in letters if not unicodedata.combining(letter))


def words_in(name: str) -> str:
    """Return a name as plain words between blanks, to search it for whole words.

    Examples
    --------
    >>> words_in("GemeindeNr_2"), words_in("département")
    (' gemeinde nr 2 ', ' departement ')
    """
    split = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Za-z])(?=\d)|(?<=\d)(?=[A-Za-z])|[\W_]+", " ", unaccented(name))
    return f" {' '.join(split.casefold().split())} "
