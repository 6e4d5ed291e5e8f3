"""Tables of all sizes, of one column, and by name."""

from functools import partial

from synthrelease.studio.audit.sweep import FLAT, SMALL, TALL, WIDE, Households, Neighbours, sweep

EXAMPLES: tuple[list[dict[str, object]], ...] = ([{}], [{"largest": 1}], [{"tables": ["a:c", "b"]}])

_sweep = partial(sweep, "absolute_marginal_error")
_FURTHEST = Neighbours((0, 0, 0), (0, 0, 1), (0, 1, 1))
SWEEPS = (
    _sweep("absolute, 2 x 3, all tables", WIDE, {}, furthest=_FURTHEST),
    _sweep("absolute, 3 x 2, all tables", TALL, {}),
    _sweep("absolute, 6, all tables", FLAT, {}, furthest=_FURTHEST),
    _sweep("absolute, 2 x 2, all tables", SMALL, {}),
    _sweep("absolute, 2 x 3, one-way tables", WIDE, {"largest": 1}, furthest=_FURTHEST),
    _sweep("absolute, 2 x 3, named tables", WIDE, {"tables": ("b", "a:b")}, furthest=_FURTHEST),
    _sweep("absolute, with missing values, 2 x 2", SMALL, {}, missing=("b",)),
    Households(members={"a": 1}, most=3).sweep("absolute_marginal_error", "members", "members", {"tables": ("a",)}),
    Households(members={"a": 1}, most=1, roots={"t": 1}, lacking=("a",)).sweep(
        "absolute_marginal_error", "members by root, with missing values", "members", {"tables": ("t:a", "n")}
    ),
)
