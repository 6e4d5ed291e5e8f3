"""Names that Stata and SPSS can hold: a public function of the column names, the same for every release of a configuration."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from synthrelease.bundle.code import STATA_WORDS
from synthrelease.data.weights import WEIGHT
from synthrelease.settings.tables import SYNTHETIC

_SPSS_WORDS = frozenset(["all", "and", "by", "eq", "ge", "gt", "le", "lt", "ne", "not", "or", "to", "with"])


@dataclass(frozen=True, kw_only=True)
class NamingRules:
    """What a package takes as the name of a variable.

    Attributes
    ----------
    length, longest : measures a name, and the most that it may come to: characters for Stata, bytes of UTF-8 for SPSS.
    same : two names are one where this gives the same for both.
    reserved : whether a name means something else.
    """

    name: str
    length: Callable[[str], int]
    longest: int
    same: Callable[[str], str]
    reserved: Callable[[str], bool]


STATA = NamingRules(name="Stata", length=len, longest=32, same=str, reserved=STATA_WORDS.__contains__)
SPSS = NamingRules(
    name="SPSS",
    length=lambda name: len(name.encode("utf-8")),
    longest=64,
    same=str.casefold,
    reserved=lambda name: name.casefold() in _SPSS_WORDS,
)


def renamed(names: Sequence[str], package: NamingRules, taken: Sequence[str] = (WEIGHT, SYNTHETIC)) -> dict[str, str]:
    """For every column its name in the package, all different; names that can be held stay as they are.

    Others get "_" for every sign that is no letter, digit or underscore, "v_" before what cannot begin a name or means
    something else, and are cut; the first number from 2 on that makes a name new stands at its end.

    Parameters
    ----------
    taken : names of further columns of the file, which no other may have.
    """
    used = {package.same(name) for name in taken}
    found: dict[str, str] = {}
    for name in names:
        if _holds(name, package) and package.same(name) not in used:
            found[name] = name
            used.add(package.same(name))
    for name in names:
        if name in found:
            continue
        base, number = _fitting(name, package), 1
        new = base
        while package.same(new) in used:
            number += 1
            new = f"{_cut(base, package, len(str(number)) + 1)}_{number}"
        found[name] = new
        used.add(package.same(new))
    return {name: found[name] for name in names}


def _holds(name: str, package: NamingRules) -> bool:
    return _fitting(name, package) == name


def _fitting(name: str, package: NamingRules) -> str:
    plain = "".join(sign if sign.isalnum() or sign == "_" else "_" for sign in name)
    starts = plain[:1].isalpha() or (plain[:1] == "_" and package is STATA)
    if not starts or package.reserved(plain):
        plain = f"v_{plain}"
    return _cut(plain, package)


def _cut(name: str, package: NamingRules, less: int = 0) -> str:
    while package.length(name) > package.longest - less:
        name = name[:-1]
    return name


def renamings(names: Sequence[str], chosen: Collection[str]) -> list[str]:
    """What the packages that were chosen will call otherwise, a line for each package."""
    asked = [package for kind, package in (("stata", STATA), ("spss", SPSS)) if kind in chosen]
    found = []
    for package in asked:
        changed = [f"{old} is {new}" for old, new in renamed(names, package).items() if old != new]
        if changed:
            found.append(f"{package.name} cannot hold some names. There {', '.join(changed)}, with the own name in the label.")
    return found
