"""The commands as functions, for notebooks and scripts: `synthrelease.plan`, `rehearse`, `release`, `load`, `bound`,
`estimate`.

They do what the commands do, in the same order, and raise `SynthreleaseError` where a command ends with a message. None of
them prints.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from synthrelease.privacy.plan import Plan
from synthrelease.sources.paths import checked_path
from synthrelease.sources.source import Source
from synthrelease.spec.requests import RehearsalRequest, ReleaseRequest, names_in

if TYPE_CHECKING:
    from synthrelease.published import PublishedRelease
    from synthrelease.spec.release_spec import ReleaseSpec
    from synthrelease.spec.shortlist import PlanTable
    from synthrelease.studio.rehearsal.rehearse import Rehearsal


def plan(config: str | Path) -> Plan:
    """Return what a release would cost. Reads no data.

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
    (Fraction(21725739, 1250000), Fraction(0, 1))
    >>> [(charge.name, float(charge.epsilon)) for charge in cost.leaves()]
    [('generation', 10.0), ('criterion: marginals', 0.5)]
    """
    from synthrelease.spec.load import load_spec

    spec = load_spec(config)
    spec.check_unit_answered()
    return spec.plan


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
    """Try the configurations on **public** data; writes the report and shortlist.toml into `out`.

    Parameters
    ----------
    data : a public file of the layout of the private one, as of `release`. Its figures are shown without noise: never give a
        private file.
    out : a folder for the results; an earlier one is continued.
    table : of the data, where these are a database.
    members : the file of the members of the rows of the data, with [members] (docs/linked.md).
    jobs : processes.
    target, keep : the acceptance probability that is wanted, and how many configurations go on the shortlist.
    minutes : start no attempts after so many minutes.
    seed : the same seed gives the same results.
    copies, attacks, quasi_identifiers, noise_level, nothing : as the options of the command (docs/rehearsal.md).
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
    from synthrelease.spec.load import load_spec
    from synthrelease.studio.rehearsal.rehearse import rehearse as run
    from synthrelease.studio.rehearsal.report import write_report

    request = RehearsalRequest(
        config=checked_path(config),
        data=data,
        out=checked_path(out),
        table=table,
        members=members,
        jobs=jobs,
        target=target,
        keep=keep,
        minutes=minutes,
        seed=seed,
        copies=copies,
        attacks=attacks,
        quasi_identifiers=names_in(quasi_identifiers) if isinstance(quasi_identifiers, str) else _tuple(quasi_identifiers),
        noise_level=noise_level,
        nothing=nothing,
    )
    rehearsal = run(load_spec(request.config), request, progress=progress)
    write_report(rehearsal, request.out, noise_level)
    return rehearsal


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
    """Release one dataset that meets all acceptance criteria, from a private file. Spends the planned budget, once.

    Parameters
    ----------
    data : the private file, in any format that docs/columns.md names; a folder, pattern or object store of Parquet
        and CSV files; the URI of a database; or a `Source`, which may have its table and its members.
    out : a new folder for the released files.
    table : of the data, where these are a database.
    members : the file of the members of the rows of the data, with [members] (docs/linked.md).
    jobs : processes that run rounds ahead of need.
    shortlist : draw from these configurations only (from a rehearsal).
    ledger : the budget ledger of the dataset. Without one, OUT.ledger is used, which knows only of releases into `out`.
    split_key : the secret key of a split register; the ledger's name with .key when omitted.
    dataset, expect_head : the name that the ledger must have, and the head from the steward's logbook.
    sign, password_file : a private key that signs the files, and a file whose first line is its password.
    archive : a new .zip of the released files that tells no times.
    unrehearsed : also release two files that were never tried on public data (a draft, a rehearsal), or were changed since.
    trust : packages of [[plugins]] that may run on the private file, as the configuration says, too.
    rows : how many the private file has: criteria that no table of so many rows can meet are refused before the charge. By
        default the stated number, or that of the public table that was rehearsed.
    progress : told the phase; it never learns how many rounds were run.

    Returns
    -------
    The release as it was published, or None when nothing was: the budget is spent either way.

    Raises
    ------
    SpecError, InputError, OutputError : nothing was spent, unless the file turned out not to fit.
    BudgetError : the plan costs more than the limit or than the ledger has left, and nothing was read; or delta is too large
        for so many rows, and the budget is spent.
    PrivateFailure, InternalError, Interrupted : the run ended after the charge; the budget counts as spent.

    Warns
    -----
    UserWarning : when no ledger is named, and there are some nearby; when the shortlist carries a cheaper plan.

    Privacy
    -------
    As `synthrelease.publish.publish`: the whole plan is written into the ledger before the first private byte is read.

    Examples
    --------
    >>> import synthrelease
    >>> released = synthrelease.release("coins.toml", "coins.csv", "another", unrehearsed=True)
    >>> released.n_rows
    400
    """
    from synthrelease import publish as room
    from synthrelease.privacy.charges import decimal_text
    from synthrelease.published import load

    class Told(room.Listener):
        def cheaper(self, spec: ReleaseSpec, proposal: PlanTable) -> None:
            warnings.warn(
                f"The shortlist carries a cheaper plan, of epsilon = {decimal_text(proposal.epsilon)} in place of "
                f"{decimal_text(spec.plan.total.epsilon)}: `synthrelease rehearse ... --adopt` writes it into the "
                "configuration. This release spends what the configuration says.",
                stacklevel=5,
            )

        def nearby(self, ledgers: tuple[Path, ...]) -> None:
            names = ", ".join(str(path) for path in ledgers[:5])
            warnings.warn(
                f"No ledger was named, and there are some nearby ({names}). If one of them belongs to these data, it does not "
                "learn of this run.",
                stacklevel=5,
            )

        def phase(self, name: str) -> None:
            progress(name)

    request = ReleaseRequest(
        config=checked_path(config),
        data=data,
        table=table,
        members=members,
        out=checked_path(out),
        jobs=jobs,
        shortlist=_path(shortlist),
        ledger=_path(ledger),
        split_key=_path(split_key),
        dataset=dataset,
        expect_head=expect_head,
        sign=_path(sign),
        password_file=_path(password_file),
        archive=_path(archive),
        unrehearsed=unrehearsed,
        trust=tuple(trust),
        rows=rows,
    )
    published = room.publish(request, Told())
    return None if published is None else load(published.folder)


def _tuple(names: Sequence[str] | None) -> tuple[str, ...] | None:
    return None if names is None else tuple(names)


def _path(name: str | Path | None) -> Path | None:
    return None if name is None else checked_path(name)
