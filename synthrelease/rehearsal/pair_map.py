"""Every pair of columns, as it hangs together in the public file, in a typical candidate, and were columns independent."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations

from synthrelease.data.counts import Counts
from synthrelease.data.marginals import lattice
from synthrelease.generators.space import Configuration
from synthrelease.rehearsal.dependence import cramers_v, valued
from synthrelease.rehearsal.unguarded import UnguardedPair, with_gaps


@dataclass(frozen=True, kw_only=True)
class PairMap:
    """Cramer's V of all pairs, in the order of `itertools.combinations`.

    Attributes
    ----------
    columns : their names.
    public, independent : of the public rows, and of rows whose columns are drawn one by one.
    candidate : of one candidate; empty without any.
    unseen : the pairs that hang together and that nothing looks at, by their places.
    """

    columns: tuple[str, ...]
    public: tuple[float, ...]
    candidate: tuple[float, ...]
    independent: tuple[float, ...]
    unseen: tuple[tuple[int, int], ...]

    @classmethod
    def of(
        cls,
        configuration: Configuration,
        original: Counts,
        candidate: Counts | None,
        independent: Counts,
        unguarded: Iterable[UnguardedPair],
    ) -> PairMap:
        """From tables on the bins of the configuration."""
        names, gaps = original.layout.columns, with_gaps(configuration)

        def all_of(table: Counts) -> tuple[float, ...]:
            marginals = lattice(table)
            return tuple(
                cramers_v(valued(marginals.get((a, b)), names[a] in gaps, names[b] in gaps))
                for a, b in combinations(range(len(names)), 2)
            )

        places = [sorted(map(names.index, pair.columns)) for pair in unguarded]
        return cls(
            columns=names,
            public=all_of(original),
            candidate=() if candidate is None else all_of(candidate),
            independent=all_of(independent),
            unseen=tuple(sorted((first, second) for first, second in places)),
        )
