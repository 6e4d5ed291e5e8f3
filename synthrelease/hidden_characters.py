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


def with_codes(text: str) -> str:
    r"""The text with codes, as TOML writes them, in place of hidden characters and of accents that are stored by themselves.

    Examples
    --------
    >>> with_codes("Par\u200bis"), with_codes("Orle\u0301ans")
    ('Par\\u200bis', 'Orle\\u0301ans')
    """
    apart = unicodedata.normalize("NFC", text) != text
    hidden = (bool(_HIDDEN.match(letter)) or (apart and unicodedata.combining(letter) > 0) for letter in text)
    codes = (f"\\u{ord(letter):04x}" if ord(letter) < 0x10000 else f"\\U{ord(letter):08x}" for letter in text)
    return "".join(code if is_hidden else letter for letter, is_hidden, code in zip(text, hidden, codes, strict=True))


def bare(text: str) -> str:
    """The text without its hidden characters, with composed letters: the same for texts that look the same."""
    return unicodedata.normalize("NFC", _HIDDEN.sub("", text)).strip()


def alike(texts: Iterable[str]) -> list[tuple[str, ...]]:
    """Those of these different texts that look the same: letters composed or not, hidden characters, spaces at the ends."""
    found = defaultdict[str, list[str]](list)
    for text in texts:
        found[bare(text)].append(text)
    return [tuple(group) for group in found.values() if len(group) > 1]
