"""All tables, and named ones."""

from functools import partial

from synthrelease.studio.audit.sweep import FLAT, SMALL, WIDE, Households, Neighbours, sweep

EXAMPLES: tuple[list[dict[str, object]], ...] = ([{}], [{"tables": ["a:c", "all columns"]}])

_sweep = partial(sweep, "mean_marginal_error")
SWEEPS = (
    _sweep("mean of tables, 2 x 3", WIDE, {}, furthest=Neighbours((0, 0, 0), (0, 0, 4), (0, 4, 4))),
    _sweep("mean of tables, 6", FLAT, {}),
    _sweep("mean of named tables, 2 x 3", WIDE, {"largest": 1, "tables": ("all columns",)}),
    _sweep("mean of tables, with missing values, 2 x 2", SMALL, {}, missing=("b",)),
    Households(members={"a": 1}, most=3).sweep("mean_marginal_error", "pairs", "pairs", {"tables": ("a:other.a",)}),
    Households(members={"a": 1}, most=2).sweep("mean_marginal_error", "members", "members", {"tables": ("a", "a:n")}),
)
