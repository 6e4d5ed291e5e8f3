"""Whether any table can meet the criteria: what the settings and the number of rows tell, without data."""

from __future__ import annotations

from synthrelease.criteria.scoring import NobodyPasses, unanswerable, uninformative
from synthrelease.errors import Problem, SpecError
from synthrelease.releasing.attempt_costs import usual_rows
from synthrelease.spec.release_spec import ReleaseSpec
from synthrelease.spec.space import least_bounds
from synthrelease.spec.tried import rows_tried


def doubts(spec: ReleaseSpec, rows: int) -> list[tuple[str, str]]:
    """Criteria that can say nothing of a file of so many rows, by name, and why."""
    n = spec.scored_rows(rows)
    least = least_bounds(spec, n)
    unanswered = [(each.name, text) for each in spec.setting.answered for text in unanswerable(each, least[each.name])]
    return unanswered + [
        (criterion.name, text)
        for criterion in spec.criteria
        for text in uninformative(criterion, spec.joint_test, criterion.least_sensitivity(n, spec.setting))
    ]


def check_possible(spec: ReleaseSpec, rows: int | None) -> None:
    """Raises SpecError for criteria that no table of the file's size can meet: a plan and a release refuse the same.

    Parameters
    ----------
    rows : of the file, as somebody says. Otherwise the stated number counts, the size of the public table that the files were
        tried on, or a usual one.
    """
    if rows is not None or spec.rows.stated is not None:
        n, source = rows or usual_rows(spec), ""
    elif (public := rows_tried(spec)) is not None:
        n, source = public, " (as the public file has; say with --rows how many the private file has)"
    else:
        n, source = usual_rows(spec), " (say with --rows how many the file has)"
    expected = f"a threshold that some table of {n:,} rows{source} can meet"
    problems = [
        Problem(file=spec.path, path=f"criteria {name!r}", expected=expected, found=f"one that none can: {text.rstrip('.')}")
        for name, text in doubts(spec, n)
        if isinstance(text, NobodyPasses)
    ]
    if problems:
        raise SpecError(problems)
