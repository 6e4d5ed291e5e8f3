"""The middle, a high quantile and the largest distance of tables."""

from functools import partial

from synthrelease.studio.audit.sweep import WIDE, Households, Neighbours, sweep

EXAMPLES = ([{"quantile": 0.75}], [{"quantile": 1, "largest": 1, "tables": ["a:c"]}])

_sweep = partial(sweep, "quantile_marginal_error")
SWEEPS = (
    _sweep("quantile 0.5 of tables, 2 x 3", WIDE, {"quantile": 0.5}),
    _sweep("quantile 0.7 of tables, 2 x 3", WIDE, {"quantile": 0.7}, furthest=Neighbours((0, 0, 0), (0, 0, 1), (0, 1, 1))),
    _sweep("quantile 1 of tables, 2 x 3", WIDE, {"quantile": 1}),
    Households(members={"a": 1}, most=3).sweep(
        "quantile_marginal_error", "others", "others", {"quantile": 0.5, "tables": ("a:first.a", "a:n")}
    ),
)
