"""Load the word lists of `words.toml`, by which names of columns, labels and texts are recognised in several languages."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from pathlib import Path

WORDS = tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))
NAMES = {meaning: re.compile(rf" ({'|'.join(words)})(?= )") for meaning, words in WORDS["names"].items()}
"""For each meaning, a regular expression for whole words in a result of `words_in`."""
PARTS = {meaning: re.compile("|".join(words), re.IGNORECASE) for meaning, words in WORDS["parts"].items()}
"""For each meaning, a regular expression for any part of a name."""
# Letters that Unicode does not decompose into an ASCII letter and an accent.
_PLAIN = str.maketrans({"ß": "ss", "æ": "ae", "ø": "o", "œ": "oe", "ł": "l", "đ": "d", "ı": "i", "Ø": "O", "Æ": "AE", "Ł": "L"})


def unaccented(text: str) -> str:
    """Return a text with accented letters replaced by plain letters.

    Examples
    --------
    >>> unaccented("Größe, département")
    'Grosse, departement'
    """
    letters = unicodedata.normalize("NFKD", text.translate(_PLAIN))
    return "".join(letter for letter in letters if not unicodedata.combining(letter))


def words_in(name: str) -> str:
    """Return the words of a name in lower case without accents, separated and surrounded by blanks.

    So a search for a word between blanks finds whole words only.

    Examples
    --------
    >>> words_in("GemeindeNr_2"), words_in("département")
    (' gemeinde nr 2 ', ' departement ')
    """
    split = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Za-z])(?=\d)|(?<=\d)(?=[A-Za-z])|[\W_]+", " ", unaccented(name))
    return f" {' '.join(split.casefold().split())} "
