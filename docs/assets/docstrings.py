"""Griffe extension: docstrings with "name : description" on one line, in the form that the site's reference needs.

In the sections for parameters, attributes and errors the description goes on a line of its own, so that it is not taken for a
type (types are in the signatures). Sections that numpydoc does not know, and "Returns" in words, become paragraphs before the
first list: behind one they would be taken for its last entry.
"""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object

_SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.MULTILINE)
_ENTRY = re.compile(r"^(\*{0,2}\w[\w, ]*?) : (.*)$", re.MULTILINE)
_LISTS = {"Parameters", "Attributes", "Raises"}


def rewritten(text: str) -> str:
    """A docstring in the form that griffe reads."""
    parts = _SECTION.split(text)
    texts, lists = [parts[0].strip()], []
    for title, body in zip(parts[1::2], parts[2::2], strict=True):
        if title in _LISTS:
            lists.append(f"{title}\n{'-' * len(title)}\n" + _ENTRY.sub(r"\1\n    \2", body.rstrip()))
        elif title == "Examples":
            lists.append(f"{title}\n{'-' * len(title)}\n{body.rstrip()}")
        else:
            texts.append(f"**{title}:** {body.strip()}")
    return "\n\n".join([*texts, *lists])


class Docstrings(Extension):
    """Rewrites every docstring as it is loaded."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = rewritten(obj.docstring.value)
