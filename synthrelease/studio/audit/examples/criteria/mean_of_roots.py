"""Agreement, sums and means of up to three members, that may lack values, and are clipped; and rows without members."""

from functools import partial

from synthrelease.studio.audit.exact import means_of_roots
from synthrelease.studio.audit.sweep import FLAT, SMALL, Households, Neighbours, sweep

EXAMPLES = (
    [{"column": "c", "number": "mean", "by": ["a", "b"], "range": [0, 3]}],
    [{"column": "b", "number": "sum", "bins": ["1"], "range": [0, 1]}],
)

_sweep = partial(sweep, "mean_of_roots", reference=means_of_roots, attained=1)
_of_roots = partial(Households.sweep, kind="mean_of_roots", of="", reference=means_of_roots)
_THREE = Households(members={"a": 1}, most=3)
_IN_TOWNS = Households(members={"a": 1}, most=2, least=1, roots={"t": 1})
_AGES = Households(members={"a": 2}, most=2, lacking=("a",))
SWEEPS = (
    _sweep(
        "mean of rows, clipped, 6",
        FLAT,
        {"column": "a", "number": "mean", "range": (1, 3.5)},
        furthest=Neighbours((0, 0, 0), (0, 0, 0), (0, 0, 5)),
    ),
    _sweep(
        "sum of b by a, with missing values, 2 x 2",
        SMALL,
        {"column": "b", "number": "sum", "by": ["a"], "range": (0, 1)},
        missing=("b",),
    ),
    _of_roots(_THREE, name="alike", settings={"column": "a", "number": "agreement"}),
    _of_roots(_THREE, name="how many, clipped", settings={"column": "a", "number": "sum", "bins": ["1"], "range": (0, 2)}),
    _of_roots(_THREE, name="sums, clipped", settings={"column": "a", "number": "sum", "range": (0.5, 3)}),
    _of_roots(_THREE, name="means", settings={"column": "a", "number": "mean", "range": (0, 1)}),
    _of_roots(_THREE, name="shares", settings={"column": "a", "number": "mean", "bins": ["0"]}),
    _of_roots(
        _IN_TOWNS, name="means by town", attained=2, settings={"column": "a", "number": "mean", "by": ["t"], "range": (0, 1)}
    ),
    _of_roots(_IN_TOWNS, name="alike by town", settings={"column": "a", "number": "agreement", "by": ["t"], "overall": False}),
    _of_roots(_AGES, name="alike, lacking", settings={"column": "a", "number": "agreement"}),
    _of_roots(_AGES, name="means, lacking, clipped", settings={"column": "a", "number": "mean", "range": (0.5, 1.5)}),
)
