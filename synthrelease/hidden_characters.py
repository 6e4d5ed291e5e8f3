"""Characters that nobody sees: they turn the order of letters around, have no width, or steer a terminal.

A name that holds one can look like another name. So where a text is shown, on a terminal, a page or a sheet, such a character
is written as its code; a file of values holds the text itself. The joiners U+200C and U+200D are needed to write Persian,
Hindi and others, and stay.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable

_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f]"
)


def visible(text: str) -> str:
    r"""The text with its hidden characters as codes; line ends and tabs stay.

    Examples
    --------
    >>> visible("na\u202eme")
    'na\\u202eme'
    """
    return _HIDDEN.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def alike(texts: Iterable[str]) -> list[tuple[str, ...]]:
    """Those of these different texts that look the same: letters composed or not, hidden characters, spaces at the ends."""
    found = defaultdict[str, list[str]](list)
    for text in texts:
        found[unicodedata.normalize("NFC", _HIDDEN.sub("", text)).strip()].append(text)
    return [tuple(group) for group in found.values() if len(group) > 1]
