"""What R and Stata read as a text, and as a name."""

from __future__ import annotations

STATA_WORDS = frozenset(
    [
        "_all",
        "_b",
        "_coef",
        "_cons",
        "_n",
        "_N",
        "_pi",
        "_pred",
        "_rc",
        "_skip",
        "byte",
        "double",
        "float",
        "if",
        "in",
        "int",
        "long",
        "strL",
        "using",
        "with",
    ]
    + [f"str{number}" for number in range(1, 2046)]
)
"""They mean something else in Stata than the name of a variable."""


def r_text(text: str) -> str:
    """A text as R reads it in any encoding."""
    plain = text.replace("\\", "\\\\").replace('"', '\\"')
    signs = (sign if sign.isascii() and sign.isprintable() else f"\\U{{{ord(sign):x}}}" for sign in plain)
    return f'"{"".join(signs)}"'
