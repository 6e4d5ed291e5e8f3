"""Offer the commands `plan`, `rehearse` and `release` as functions for notebooks and scripts.

The functions do the same as the commands but print nothing. Errors are raised as `SynthreleaseError`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from synthrelease.privacy.plan import Plan
from synthrelease.sources.source import Source
from synthrelease.spec.requests import RehearsalRequest, ReleaseRequest, described_by, requested

if TYPE_CHECKING:
    from synthrelease.published import PublishedRelease
    from synthrelease.spec.release_spec import ReleaseSpec
    from synthrelease.spec.shortlist import PlanTable
    from synthrelease.studio.rehearsal.rehearse import Rehearsal


def plan(config: str | Path) -> Plan:
    """Compute the privacy cost of a release from its configuration, without reading any data.

    Parameters
    ----------
    config : path of the configuration, a TOML file.

    Raises
    ------
    SpecError : if the configuration or the acceptance file has mistakes. The error lists the mistakes found in one pass.

    Examples
    --------
    >>> import synthrelease
    >>> cost = synthrelease.plan("coins.toml").total
    >>> cost.epsilon, cost.delta
    (Fraction(21725739, 1250000), Fraction(0, 1))
    >>> [(charge.name, float(charge.epsilon)) for charge in cost.leaves()]
    [('generation', 10.0), ('criterion: marginals', 0.5)]
    """
    from synthrelease.spec.load import load_spec

    spec = load_spec(config)
    spec.check_unit_answered()
    return spec.plan


@described_by(RehearsalRequest)
def rehearse(
    config: str | Path,
    data: str | Path | Source,
    out: str | Path,
    *,
    table: str | None = None,
    members: str | Path | Source | None = None,
    jobs: int = 1,
    target: float = 0.1,
    keep: int = 10,
    minutes: float | None = None,
    seed: int | None = None,
    copies: int = 3,
    attacks: int = 100,
    quasi_identifiers: Sequence[str] | None = None,
    noise_level: float = 0.05,
    nothing: float = 0.05,
    progress: Callable[[str, int, int], None] = lambda phase, done, total: None,
) -> Rehearsal:
    """Try the configurations on **public** data. The folder `out` receives the report and, if a configuration is accepted often
    enough, shortlist.toml.

    Parameters
    ----------
    progress : a function of the name of a phase, its number of finished attempts, and its total number of attempts.

    Raises
    ------
    SpecError, InputError, OutputError : if the configuration, the data or the output folder cannot be used.

    Examples
    --------
    >>> import synthrelease
    >>> found = synthrelease.rehearse("coins.toml", "coins.csv", "rehearsal", keep=1, copies=0, minutes=0.02, seed=1)
    >>> found.n_rows, found.seed
    (400, 1)
    """
    request = requested(RehearsalRequest, locals())
    from synthrelease.spec.load import load_spec
    from synthrelease.studio.rehearsal.rehearse import rehearse as run
    from synthrelease.studio.rehearsal.report import write_report

    rehearsal = run(load_spec(request.config), request, progress=progress)
    write_report(rehearsal, request.out, noise_level)
    return rehearsal


@described_by(ReleaseRequest)
def release(
    config: str | Path,
    data: str | Path | Source,
    out: str | Path,
    *,
    table: str | None = None,
    members: str | Path | Source | None = None,
    jobs: int = 1,
    shortlist: str | Path | None = None,
    ledger: str | Path | None = None,
    split_key: str | Path | None = None,
    dataset: str | None = None,
    expect_head: str | None = None,
    sign: str | Path | None = None,
    password_file: str | Path | None = None,
    archive: str | Path | None = None,
    unrehearsed: bool = False,
    trust: Sequence[str] = (),
    rows: int | None = None,
    progress: Callable[[str], None] = lambda phase: None,
) -> PublishedRelease | None:
    """Release one dataset that meets all acceptance criteria, from a private file. This spends the planned budget once.

    Parameters
    ----------
    progress : a function that receives the name of each phase at its start. The names do not reveal how many rounds were run.

    Returns
    -------
    The published release, or None if no table was accepted. The budget is spent in both cases.

    Raises
    ------
    SpecError, InputError, OutputError, ResourceError : if the release cannot be made. No budget is spent, except if the private
        file does not fit the configuration; the message then says that the budget is spent.
    BudgetError : if the plan costs more than its limit or than the ledger has left (nothing is spent), or if delta is too large
        for the number of rows (the budget is spent).
    PrivateFailure, InternalError, Interrupted : if the run ends after the ledger was charged. The budget then counts as spent.

    Warns
    -----
    UserWarning : if no ledger is named although there are ledgers nearby, or if the shortlist contains a cheaper plan.

    Privacy
    -------
    The ledger on the disk contains the whole plan before the first private byte is read.

    Examples
    --------
    >>> import synthrelease
    >>> released = synthrelease.release("coins.toml", "coins.csv", "another", unrehearsed=True)
    >>> released.n_rows
    400
    """
    request = requested(ReleaseRequest, locals())
    from synthrelease import publish as publishing
    from synthrelease.privacy.charges import decimal_text
    from synthrelease.published import load

    class Warned(publishing.Listener):
        def cheaper(self, spec: ReleaseSpec, proposal: PlanTable) -> None:
            warnings.warn(
                f"The shortlist has a cheaper plan: epsilon = {decimal_text(proposal.epsilon)} in place of "
                f"{decimal_text(spec.plan.total.epsilon)}. `synthrelease rehearse ... --adopt` writes it into the "
                "configuration. This release spends the budget in the configuration.",
                stacklevel=5,
            )

        def nearby(self, ledgers: tuple[Path, ...]) -> None:
            names = ", ".join(str(path) for path in ledgers[:5])
            warnings.warn(
                f"No ledger was named, but there are ledgers nearby: {names}. If one of them belongs to the data, name it. "
                "Otherwise that ledger does not count this run.",
                stacklevel=5,
            )

        def phase(self, name: str) -> None:
            progress(name)

    published = publishing.publish(request, Warned())
    return None if published is None else load(published.folder)
