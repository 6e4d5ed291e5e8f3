"""What every release does before it spends: for the command and for the function of notebooks alike."""

from __future__ import annotations

from pathlib import Path

from synthrelease.attempt import read_priors
from synthrelease.bundle import check_free
from synthrelease.bundle.preview import preview
from synthrelease.errors import InputError
from synthrelease.memory import check_memory
from synthrelease.shortlist import narrowed
from synthrelease.spec import ReleaseSpec, load_spec


def chosen_spec(config: str | Path, shortlist: str | Path | None) -> ReleaseSpec:
    """The specification, drawing from the configurations of a shortlist alone where one is given."""
    spec = load_spec(config)
    return spec if shortlist is None else narrowed(spec, shortlist)


def check_before_spending(spec: ReleaseSpec, data: str | Path, out: str | Path, jobs: int = 1) -> None:
    """Find the mistakes that would cost the whole budget, while nothing is spent.

    Raises
    ------
    OutputError : when the output folder exists, or cannot be made.
    BudgetError : when the plan costs more than the limit.
    ResourceError : when the run does not fit into the memory of this machine.
    InputError : when there is no private file, a public table does not fit, a library is missing, or jobs is below 1.

    And whatever `preview` raises for a text that a document cannot hold.
    """
    if jobs < 1:
        raise InputError(f"jobs: expected at least 1, found {jobs}. Nothing was spent.")
    check_free(out)
    preview(spec)
    spec.plan.check_limit(spec.limit)
    check_memory(spec, jobs)
    for generator in spec.space.generators:
        generator.load()
    read_priors(spec)
    if not _is_file(Path(data)):
        raise InputError(f"{data}: expected a file with a header and rows, found no such file. Nothing was spent.")


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a name that is too long, or behind a folder that may not be entered
        return False
