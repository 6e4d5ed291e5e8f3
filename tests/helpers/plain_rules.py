"""Random rules as plain trees, rendered as text and evaluated row by row: the obvious reference for masks.

A tree is ("and" | "or", tree, ...), ("not", tree), ("in", column, values), ("is missing", column) or (operator, column, value).
A row has None where a value is missing.
"""

from __future__ import annotations

import operator as op
from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from synthrelease.data.rules import Domain

Tree = tuple[Any, ...]

DOMAINS = {
    "age": Domain(kind="integer", bounds=(0, 9)),
    "wage": Domain(kind="real", bounds=(0, 4)),
    "sector": Domain(kind="category", categories=("farm", "shop", "it's", "Q&A")),
}
_COMPARE = {"<": op.lt, "<=": op.le, ">": op.gt, ">=": op.ge, "==": op.eq, "!=": op.ne}


def evaluated(tree: Tree, row: Mapping[str, float | str | None]) -> bool | None:
    """What a tree says of one row: true, false, or None where a missing value leaves it open.

    It is open just when filling the gaps of each comparison by itself, in whatever way, can make it true and can make it false.
    """
    kind, *rest = tree
    if kind in ("and", "or"):
        said = [evaluated(part, row) for part in rest]
        decided = kind == "or"
        return decided if decided in said else None if None in said else not decided
    if kind == "not":
        inner = evaluated(rest[0], row)
        return None if inner is None else not inner
    if kind == "is missing":
        return row[rest[0]] is None
    column, value = rest
    if row[column] is None:
        return None
    return row[column] in value if kind == "in" else _COMPARE[kind](row[column], value)


def rendered(tree: Tree) -> str:
    """A tree as the text of a rule, with every parenthesis written."""
    kind, *rest = tree
    if kind in ("and", "or"):
        return f" {kind} ".join(f"({rendered(part)})" for part in rest)
    if kind == "not":
        return f"not ({rendered(rest[0])})"
    if kind == "is missing":
        return f"{rest[0]} is missing"
    column, value = rest
    return f"{column} in [{', '.join(map(_quoted, value))}]" if kind == "in" else f"{column} {kind} {_quoted(value)}"


def _quoted(value: float | str) -> str:
    if isinstance(value, str):
        return f'"{value}"' if "'" in value else f"'{value}'"
    return str(value)


def trees(*, missing: bool = False) -> st.SearchStrategy[Tree]:
    """Rules over DOMAINS whose comparisons each divide their column; with `missing`, some ask whether a value is missing."""
    labels = st.sampled_from(DOMAINS["sector"].categories)
    leaves = st.one_of(
        st.tuples(st.sampled_from(["<", ">="]), st.just("age"), st.integers(1, 9)),
        st.tuples(st.sampled_from(["<=", ">"]), st.just("age"), st.integers(0, 8)),
        st.tuples(st.sampled_from(["==", "!="]), st.just("age"), st.integers(0, 9)),
        st.tuples(st.sampled_from(["<", ">="]), st.just("age"), st.sampled_from([0.5, 2.5, 8.5])),
        st.tuples(st.just("in"), st.just("age"), st.lists(st.integers(0, 9), min_size=1, max_size=3)),
        st.tuples(st.sampled_from(["<", ">="]), st.just("wage"), st.sampled_from([0.5, 1, 2.7, 4])),
        st.tuples(st.sampled_from(["==", "!="]), st.just("sector"), labels),
        st.tuples(st.just("in"), st.just("sector"), st.lists(labels, min_size=1, max_size=3)),
    )

    if missing:
        leaves |= st.tuples(st.just("is missing"), st.sampled_from(list(DOMAINS)))

    def grown(parts: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
        several = st.lists(parts, min_size=2, max_size=3)
        return st.one_of(
            st.builds(lambda kind, inner: (kind, *inner), st.sampled_from(["and", "or"]), several),
            st.tuples(st.just("not"), parts),
        )

    return st.recursive(leaves, grown, max_leaves=6)
