"""The count of the kept rows, by enumeration: what the program adds noise to, for every file and every neighbour of it."""

from __future__ import annotations

from fractions import Fraction

from synthrelease.audit.left_out_rows import Rows, file_pairs
from synthrelease.audit.sensitivity import Enumeration, Recording
from synthrelease.audit.worlds import World
from synthrelease.data.plausibility import Plausibility
from synthrelease.enclave.resizing import resize
from synthrelease.privacy.charges import RowsRule

NUMBER_OF_ROWS = "number of rows"
_HIGHS = {"a": 1, "b": 2}
_RULE = RowsRule(way="counted", epsilon=Fraction(1))


def enumerate_numbers(most_records: int) -> Enumeration:
    """Files of `most_records` rows: the noisy integer is the number of kept rows, and moves by at most its sensitivity.

    A number of rows that noise does not cover counts as a violation where it differs between neighbours.
    """
    world = World(_HIGHS)
    pairs = list(file_pairs(world.layout.n_cells, most_records))
    counted = {kept: _counted(world, kept, most_records) for pair in pairs for kept in (pair.kept(0), pair.kept(1))}
    changes = [
        (abs(left - right), sensitivity)
        for pair in pairs
        for (left, sensitivity), (right, _) in [(counted[pair.kept(0)], counted[pair.kept(1)])]
    ]
    return Enumeration(
        name=NUMBER_OF_ROWS,
        kind=NUMBER_OF_ROWS,
        tight=True,
        most_records=most_records,
        cells=world.layout.n_cells,
        figures=len(counted),
        triples=0,
        violations=sum(change > sensitivity for change, sensitivity in changes),
        disagreements=sum(number != len(kept) for kept, (number, _) in counted.items()),
        largest=max(change / max(sensitivity, Fraction(1, 1000)) for change, sensitivity in changes),
        files=len(pairs),
    )


def _counted(world: World, kept: Rows, n_file: int) -> tuple[int, Fraction]:
    """The integer that gets noise, and the sensitivity that the noise is for; without noise the published number, and 0."""
    recorder = Recording()
    raw = Plausibility(layout=world.layout, masks=())
    charge = _RULE.charge
    found = resize(world.rows(kept, n_file, recorder), _RULE, raw, [charge] if charge else [])
    if not recorder.values:
        return found.n, Fraction(0)
    return int(recorder.values[0][0]), Fraction(recorder.scales[0]) * (_RULE.epsilon or 0)
