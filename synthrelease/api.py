"""The commands as functions, for notebooks and scripts: `synthrelease.plan`, `rehearse`, `release`, `load`, `bound`.

They do what the commands do, in the same order, and raise `SynthreleaseError` where a command ends with a message. None of
them prints.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from synthrelease.privacy import Plan

if TYPE_CHECKING:
    from synthrelease.published import PublishedRelease
    from synthrelease.rehearsal.rehearse import Rehearsal


def plan(config: str | Path) -> Plan:
    """What a release would cost. Reads no data.

    Parameters
    ----------
    config : the configuration, a TOML file; it names its acceptance file.

    Raises
    ------
    SpecError : with all mistakes that can be found at once.

    Examples
    --------
    >>> import synthrelease
    >>> cost = synthrelease.plan("coins.toml").total
    >>> cost.epsilon, cost.delta
    (Fraction(21, 1), Fraction(0, 1))
    >>> [(charge.name, float(charge.epsilon)) for charge in cost.leaves()]
    [('generation', 10.0), ('criterion: marginals', 0.5)]
    """
    from synthrelease.spec import load_spec

    return load_spec(config).plan


def rehearse(
    config: str | Path,
    data: str | Path,
    out: str | Path,
    *,
    jobs: int = 1,
    target: float = 0.1,
    keep: int = 10,
    minutes: float | None = None,
    seed: int | None = None,
    copies: int = 3,
    quasi_identifiers: Sequence[str] | None = None,
    noise_level: float = 0.05,
    progress: Callable[[str, int, int], None] = lambda phase, done, total: None,
) -> Rehearsal:
    """Try the configurations on **public** data; writes the report and shortlist.toml into `out`.

    Parameters
    ----------
    data : a public file of the layout of the private one. Its figures are shown without noise: never give a private file.
    out : a folder for the results; an earlier one is continued.
    jobs : processes.
    target, keep : the acceptance probability that is wanted, and how many configurations go on the shortlist.
    minutes : start no attempts after so many minutes.
    seed : the same seed gives the same results.
    copies, quasi_identifiers, noise_level : as the options of the command (docs/rehearsal.md).
    progress : told the phase, the attempts done in it and their number.

    Raises
    ------
    SpecError, InputError, OutputError : when the specification, the file or the folder cannot be used.

    Examples
    --------
    >>> import synthrelease
    >>> found = synthrelease.rehearse("coins.toml", "coins.csv", "rehearsal", keep=1, copies=0, minutes=0.02, seed=1)
    >>> found.n_rows, found.seed
    (400, 1)
    """
    from synthrelease.rehearsal.parallel import Workers
    from synthrelease.rehearsal.racing import RaceRules
    from synthrelease.rehearsal.rehearse import rehearse as run
    from synthrelease.rehearsal.report import write_report
    from synthrelease.spec import load_spec

    found = run(
        load_spec(config),
        data,
        out,
        rules=RaceRules(target=target, keep=keep),
        workers=Workers(jobs=jobs),
        seed=seed,
        minutes=minutes,
        copies=copies,
        quasi_identifiers=quasi_identifiers,
        noise_level=noise_level,
        progress=progress,
    )
    write_report(found, Path(out), noise_level)
    return found


def release(
    config: str | Path,
    data: str | Path,
    out: str | Path,
    *,
    jobs: int = 1,
    shortlist: str | Path | None = None,
    ledger: str | Path | None = None,
    dataset: str | None = None,
    expect_head: str | None = None,
    progress: Callable[[str], None] = lambda phase: None,
) -> PublishedRelease | None:
    """Release one dataset that meets all acceptance criteria, from a private file. Spends the planned budget, once.

    Parameters
    ----------
    data : the private file: CSV (also gzip) or Parquet.
    out : a new folder for the released files.
    jobs : processes that run rounds ahead of need.
    shortlist : draw from these configurations only (from a rehearsal).
    ledger : the budget ledger of the dataset. Without one, OUT.ledger is used, which knows only of releases into `out`.
    dataset, expect_head : the name that the ledger must have, and the head from the steward's logbook.
    progress : told the phase; it never learns how many rounds were run.

    Returns
    -------
    The release as it was published, or None when nothing was: the budget is spent either way.

    Raises
    ------
    SpecError, InputError, OutputError : nothing was spent, unless the file turned out not to fit.
    BudgetError : the plan costs more than the limit or than the ledger has left; nothing was read.
    PrivateFailure : private code failed; the budget counts as spent.

    Privacy
    -------
    As `synthrelease.releasing.release`: the whole plan is written into the ledger before the first private byte is read.

    Examples
    --------
    >>> import synthrelease
    >>> released = synthrelease.release("coins.toml", "coins.csv", "another")
    >>> released.n_rows
    400
    """
    from synthrelease.bundle import write_bundle
    from synthrelease.ledger import ledger_beside, reserve_for_release
    from synthrelease.published import load
    from synthrelease.publishing import check_before_spending, chosen_spec
    from synthrelease.releasing import release as run

    spec = chosen_spec(config, shortlist)
    check_before_spending(spec, data, out, jobs)
    path = Path(ledger) if ledger is not None else ledger_beside(out, spec.plan, spec.title, spec.limit)
    reserve_for_release(path, spec.plan, spec.title, dataset=dataset, expect_head=expect_head)
    result = run(spec, data, jobs=jobs, progress=progress)
    return None if result is None else load(write_bundle(result, out))
