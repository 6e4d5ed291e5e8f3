"""Format numbers and strings for the documents of a bundle, and load the templates of these documents."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Callable, Iterable
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from html import escape as escaped
from pathlib import Path
from typing import Any

from jinja2 import Environment
from jinja2.environment import TemplateModule
from markupsafe import Markup, escape

from synthrelease.criteria.facts import figure as figure
from synthrelease.criteria.facts import in_words as in_words
from synthrelease.criteria.facts import words as words
from synthrelease.data.texts import visible
from synthrelease.privacy.charges import decimal_text
from synthrelease.privacy.curves import RenyiCurve
from synthrelease.published.charges import ChargePart
from synthrelease.published.document import ReleaseDocument
from synthrelease.resources import templates
from synthrelease.settings.card import is_email

# The templates of the card, and the filters that they use.

FOLDER = Path(__file__).parent / "templates"
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#+!|~&])")


@lru_cache(maxsize=1)
def environment() -> Environment:
    loaded = templates(FOLDER, __file__)
    named = [paragraphs, link, plain, sentence, md, md_paragraphs, markdown, called, r, ascii_line, stata_comment, xml, bullet]
    loaded.filters |= {filter_.__name__: filter_ for filter_ in named}
    loaded.filters |= {"json": json.dumps, "repr": repr, "words": words}
    loaded.globals["n"] = sys.modules[__name__]
    return loaded


def filled(name: str, **values: object) -> dict[str, Any]:
    entry: dict[str, Any] = json.loads(environment().get_template(name).render(values))
    return entry


@lru_cache(maxsize=1)
def _texts() -> TemplateModule:
    return environment().get_template("said.txt").module


def said(name: str, *values: object) -> str:
    """Return one passage of the card: the macro `name` of templates/said.txt, filled in with these values."""
    return " ".join(getattr(_texts(), name)(*values).split())


def paragraphs_of(name: str, *values: object) -> tuple[str, ...]:
    """Return the paragraphs of a passage of the card (`said`)."""
    return tuple(" ".join(part.split()) for part in _parts(getattr(_texts(), name)(*values)))


def r(text: str) -> str:
    """Convert a string to an R string literal in ASCII."""
    plain = text.replace("\\", "\\\\").replace('"', '\\"')
    signs = (sign if sign.isascii() and sign.isprintable() else f"\\U{{{ord(sign):x}}}" for sign in plain)
    return f'"{"".join(signs)}"'


def ascii_line(text: str) -> str:
    return " ".join(text.split()).encode("ascii", errors="backslashreplace").decode("ascii")


def stata_comment(text: str) -> str:
    """Convert a string to one line for a Stata comment, without characters that start another comment or a macro."""
    return re.sub(r"[`$\"'/*\\]", " ", " ".join(text.split()))


def xml(text: str) -> str:
    """Escape a string for an element or attribute of XML, with its line ends."""
    return escaped(text, quote=False).replace('"', "&quot;")


def bullet(text: str) -> str:
    return f"- {' '.join(text.split())}\n"


def paragraphs(text: str) -> Markup:
    return Markup("\n").join(Markup("<p>{}</p>").format(" ".join(part.split())) for part in _parts(text))


def link(address: str) -> Markup:
    """Convert an e-mail or web address to an HTML link, and escape any other string."""
    target = f"mailto:{address}" if is_email(address) else address
    if not target.startswith(("mailto:", "https://", "http://")):
        return escape(address)
    return Markup('<a href="{}"><bdi dir="ltr">{}</bdi></a>').format(target, address)


def sentence(text: str) -> str:
    """End a string with a full stop, unless it ends with "!" or "?"."""
    return text if text.endswith((".", "!", "?")) else f"{text}."


def plain(text: object) -> str:
    return escape(text).striptags()


def md(text: object) -> str:
    """Escape plain text for Markdown, and replace line breaks by spaces."""
    plain = _MARKDOWN.sub(r"\\\1", " ".join(str(text).split()))
    return re.sub(r"^(\d+)([.)])", r"\1\\\2", re.sub(r"^([-=])", r"\\\1", plain))


def markdown(text: object) -> Markup:
    return Markup(visible(md(plain(text))))


def called(names: str | Iterable[str], title_of: Callable[[str], str]) -> str:
    """Return the title of a column, or the titles of several columns as in "age × sex"."""
    return title_of(names) if isinstance(names, str) else " × ".join(map(title_of, names))


def md_paragraphs(text: str) -> str:
    return "\n\n".join(md(part) for part in _parts(text))


def _parts(text: str) -> list[str]:
    return [part for part in re.split(r"\n\s*\n", text) if part.strip()]


def exact_epsilon(exact: str) -> str:
    """Format an exact epsilon, rounded up at the tenth decimal place."""
    return decimal_text(Fraction(exact))


def public_epsilon(exact: str) -> str:
    """Format an exact epsilon for the public, rounded up to three significant digits."""
    value = Fraction(exact)
    unit = Fraction(10) ** (math.floor(math.log10(value)) - 2) if value else Fraction(1)
    return decimal_text(math.ceil(value / unit) * unit)


def cost(node: ChargePart) -> str:
    """Format the cost of a charge: an epsilon, or an upper bound on the Renyi divergence of order a."""
    if node.renyi is None:
        return f"epsilon {exact_epsilon(node.epsilon_exact)}"
    rho, constant, log_mean = (Fraction(text) for text in (node.renyi.rho, node.renyi.constant, node.renyi.log_mean))
    return f"Renyi {RenyiCurve(rho=rho, constant=constant, log_mean=log_mean).text()}"


def without_exponent(value: float, digits: int = 3) -> str:
    return format(Decimal(f"{value:.{digits}g}"), "f")


def three_digits(exact: str) -> str:
    return f"{float(Fraction(exact)):.3g}"


def right_at_most(wrong: Fraction | float) -> str:
    """Convert the smallest probability of a wrong guess to the largest of a right guess, as a percentage that is rounded
    up.

    It reaches 100% only if a wrong guess is impossible.

    Examples
    --------
    >>> [right_at_most(wrong) for wrong in (Fraction(1, 2), 0.1199, Fraction(3, 10_000))]
    ['50%', '89%', '99.970%']
    """
    if wrong <= 0:
        return "100%"
    digits = max(2, 1 - math.floor(math.log10(wrong))) if wrong > Fraction(1, 10**12) else 12
    unit = Fraction(1, 10**digits)
    return f"{float(100 * (1 - (Fraction(wrong) // unit) * unit)):.{digits - 2}f}%"


def share(value: float, digits: int = 2) -> str:
    return f"{100 * value:.{digits}f}%"


def rounded_up(value: float, digits: int = 2) -> str:
    """Format an upper bound, rounded up to a number of digits if it is positive."""
    if value <= 0:
        return figure(value)
    unit = 10.0 ** (math.floor(math.log10(value)) - digits + 1)
    return figure(float(f"{math.ceil(value / unit - 1e-9) * unit:.{digits}g}"), digits)


def rounded_down(value: float, digits: int = 4) -> str:
    """Format the lower end of an interval, rounded down if it is positive."""
    if value <= 0:
        return figure(value)
    unit = 10.0 ** (math.floor(math.log10(value)) - digits + 1)
    return figure(float(f"{math.floor(value / unit + 1e-9) * unit:.{digits}g}"), digits)


def worst_factor(epsilon: Fraction) -> str:
    """Format e^epsilon, rounded up: the largest factor by which one record can change the probability of a result, apart
    from delta.
    """
    if epsilon > 40:
        return "10^" + str(math.ceil(float(epsilon) / math.log(10)))
    return rounded_up(math.exp(float(epsilon)))


def probability(exact: str) -> str:
    """Format an exact probability, such as "1/50", as a percentage."""
    return f"{float(100 * Fraction(exact)):.6g}%"


def program(document: ReleaseDocument) -> str:
    """Return the name and version of the program that can read the release, with the publisher's address and checksum of
    it.

    The text names no package index, because anybody could upload a package with this name.
    """
    published_program = document.card.program
    source = "" if published_program is None else f", from {published_program.address} (SHA-256 {published_program.sha256})"
    return f"synthrelease {document.written_by}{source}"


# The title of a release in its documents, which always says that the data are synthetic.

_SAYS_SO = ("synthetic", "סינתט")


def labelled_title(document: ReleaseDocument) -> str:
    return labelled(document.card.title or document.title)


def labelled(title: str) -> str:
    return title if any(word in title.casefold() for word in _SAYS_SO) else f"{title} (synthetic data)"
