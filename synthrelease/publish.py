"""Run a release: check the request, try it on made-up rows, charge the ledger, read the private file, select a table, write it.

Only this module spends privacy budget, for the command and for the function `release`. Before the charge, it checks all facts
that are known without the private data, loads the libraries that read the data (`releasing.opening`), and reserves the name and
the disk space of the output folder: of two simultaneous releases into the same folder, only one is charged. The whole charge is
on the disk before the first private row is read (but see `enclave.ingest.check_not_public`). Checks that depend on the number
of rows come after reading, and their messages say that the budget is spent. If the run fails after the charge, no detail of the
failure is shown or written.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from synthrelease.bundle.preview import preview, released_bytes
from synthrelease.bundle.write import check_archive, check_free_name, keep_space, taking, write_archive, write_bundle
from synthrelease.data.counts import Counts
from synthrelease.enclave.ingest import CalledPublic, check_not_public, tables_in
from synthrelease.errors import BudgetError, InputError
from synthrelease.privacy.ledger import ChargedRun, ledger_beside, load_ledger, place_beside, purpose_of, reserve_for_release
from synthrelease.privacy.ledger_file import Statement
from synthrelease.privacy.plan import check_delta
from synthrelease.privacy.protection import after_the_charge, protected
from synthrelease.privacy.subsets import Split
from synthrelease.releasing.attempt import check_rows, read_priors
from synthrelease.releasing.attempt_costs import check_memory, check_possible
from synthrelease.releasing.dry_run import DryRun, dry_run
from synthrelease.releasing.opening import check_opens, tables_to_read
from synthrelease.releasing.release import KnownSplit, Release, piece_to_read, release
from synthrelease.settings.base import RELEASED
from synthrelease.sources.source import check_members
from synthrelease.spec.load import load_spec
from synthrelease.spec.register import check_scout
from synthrelease.spec.release_spec import ReleaseSpec
from synthrelease.spec.requests import ReleaseRequest
from synthrelease.spec.shortlist import PlanTable, cheaper_plan, narrowed, rehearsed_on
from synthrelease.spec.tried import INSTEAD, NEVER, tried

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from synthrelease.enclave.record_numbers import PieceOfRegister


SPENT = (
    "Nothing was published. The whole planned budget counts as spent, because the file was opened. Run `synthrelease check "
    "--data` before a release: it finds files, columns and values that do not fit."
)


@dataclass(frozen=True, kw_only=True)
class Published:
    """A release that was written to disk: its result, folder and archive (None if no archive was requested)."""

    release: Release
    folder: Path
    archive: Path | None = None


class Listener:
    """Receive the progress of a release: its methods are called in the order of their definition. By default, each method does
    nothing. The arguments contain no private data."""

    def chosen(self, spec: ReleaseSpec) -> None:
        """Receive the specification before anything is checked."""

    def cheaper(self, spec: ReleaseSpec, proposal: PlanTable) -> None:
        """Receive the proposal of a cheaper plan in a shortlist. The release continues with its own plan."""

    def never_tried(self, spec: ReleaseSpec) -> bool:
        """Decide whether to continue although the configuration was probably never tried on public data. The default is
        False."""
        return False

    def tried(self, dry: DryRun) -> None:
        """Receive the result of the attempts on made-up rows, after all checks have passed."""

    def nearby(self, ledgers: tuple[Path, ...]) -> None:
        """Receive the ledgers found nearby, if the request names no ledger."""

    def reserved(self, ledger: Path, statement: Statement) -> None:
        """Receive the ledger and its statement, after the whole plan was charged on the disk."""

    def phase(self, name: str) -> None:
        """Receive the name of the phase that begins. The names never reveal how many rounds were run."""


@dataclass(frozen=True, kw_only=True)
class Checked:
    """What the checks before the charge return.

    Attributes
    ----------
    priors : the counts of each public table from which a generator starts, by name.
    public_tables : digests of tables that are known to be public. The private table must not equal one of them.
    key : the key that signs the release, or None.
    size : the expected total size of the output files, in bytes.
    piece : the piece of a split register that the release reads, or None.
    """

    spec: ReleaseSpec
    priors: Mapping[str, Counts]
    public_tables: tuple[str, ...]
    key: Ed25519PrivateKey | None
    size: int
    piece: PieceOfRegister | None = None


@dataclass(frozen=True, kw_only=True)
class Places:
    """Temporary files that reserve the names of the output folder and of the archive (None if not requested) until the release
    is written."""

    folder: Path
    archive: Path | None


def publish(request: ReleaseRequest, listener: Listener | None = None) -> Published | None:
    """Release one dataset that meets all acceptance criteria. This spends the planned budget once.

    Returns
    -------
    The published release, or None if no table was accepted. The budget is spent in both cases.

    Raises
    ------
    SynthreleaseError : as in `synthrelease.release`.

    Privacy
    -------
    As in `releasing.release`: `spec.plan.total` is charged as a whole before the first private byte is read.
    """
    listener = listener or Listener()
    spec = chosen(request)
    listener.chosen(spec)
    proposal = None if request.shortlist is None else cheaper_plan(spec, request.shortlist)
    if proposal is not None:
        listener.cheaper(spec, proposal)
    rehearsed = request.nobodys or request.unrehearsed or tried(spec, request.shortlist)
    if not rehearsed and not listener.never_tried(spec):
        raise InputError(f"{request.config}: {NEVER} {INSTEAD}.")
    checked = check_before_spending(spec, request)
    listener.tried(dry_run(spec, checked.priors, request.jobs))
    with ExitStack() as held:
        places = Places(
            folder=held.enter_context(taking(request.out, spends=True)),
            archive=None if request.archive is None else held.enter_context(taking(request.archive, spends=True)),
        )
        for place in filter(None, (places.folder, places.archive)):
            keep_space(place, checked.size)
        reserve(spec, request, listener, checked.piece)
        with protected():
            return _spent(checked, request, listener, places)


def chosen(request: ReleaseRequest) -> ReleaseSpec:
    """Return the specification of a request, narrowed to the configurations of its shortlist, if any."""
    spec = load_spec(request.config, request.trust)
    return spec if request.shortlist is None else narrowed(spec, request.shortlist)


def check_before_spending(spec: ReleaseSpec, request: ReleaseRequest) -> Checked:
    """Check everything that can be checked without the private data, and return what the release needs. No budget is spent.

    Raises
    ------
    SpecError : if [unit] does not say which rows belong to one person, the criteria accept every table or none, or the
        specification is for an erratum.
    OutputError : if the output folder already exists or cannot be created.
    BudgetError : if the plan costs more than its limit or than the named ledger has left, or if delta or the stated number of
        rows is too large.
    LedgerError : if a named ledger is missing or damaged.
    ResourceError : if the run does not fit into the memory of this machine.
    InputError : if the private file is missing or public, a public table does not fit, a library is missing, the key cannot be
        used, or jobs is below 1.
    """
    if request.jobs < 1:
        raise InputError(f"jobs: expected at least 1, found {request.jobs}. Nothing was spent.")
    check_free_name(request.out)
    if request.archive is not None:
        check_archive(request.archive, request.out)
    spec.check_new()
    spec.check_unit_answered()
    spec.check_can_fail()
    check_possible(spec, request.rows)
    documents = preview(spec)
    spec.check_limit()
    check_delta(spec.plan.total.delta, 1)
    check_rows(spec, spec.rows.stated or 1)
    check_memory(spec, request.jobs)
    for generator in spec.space.generators:
        generator.load()
    priors = read_priors(spec)
    data = request.source
    if not data.is_there():
        raise InputError(f"{data}: there is no such file. Nothing was spent.")
    tables_read = tables_in(data, spec.schema, spec.input)
    check_members(tables_read, asked=spec.schema.linked is not None)
    released = [prior.path for name, prior in spec.priors.items() if name.startswith(RELEASED)]
    for path in released:
        check_released(path)
    files = {name: prior.path for name, prior in spec.priors.items() if prior.path not in released}
    public = [CalledPublic.of(f"the prior {name!r}", path) for name, path in files.items()]
    tables = []
    rehearsed = None if request.shortlist is None else rehearsed_on(request.shortlist)
    if rehearsed is not None:
        role = f"the files with which {request.shortlist} was rehearsed"
        public.append(CalledPublic(role=role, size=rehearsed.bytes, digest=rehearsed.sha256))
        tables.append(rehearsed.table)
    for source, schema, further in tables_to_read(spec.schema, tables_read):
        persons = [] if spec.unit.key is None else [spec.unit.key, *spec.unit.order]
        names = [*further, *persons] if spec.options.split is None else [spec.options.split.by]
        check_opens(source, schema, spec.input, names, rows_are_public=tables_read.members is None)
    check_not_public(data, public)
    if spec.options.scout is not None:
        check_scout(spec.options.scout, Path(spec.path), spec.unit)
    split = KnownSplit(
        ledger=None if request.nobodys else request.ledger,
        key=request.split_key,
        dataset=request.dataset,
        expect_head=request.expect_head,
    )
    key = _key(request)
    piece = piece_to_read(spec, split)
    check_ledger(spec, request, piece)
    size = released_bytes(spec, documents, data)
    return Checked(spec=spec, priors=priors, public_tables=tuple(tables), key=key, size=size, piece=piece)


def check_ledger(spec: ReleaseSpec, request: ReleaseRequest, piece: PieceOfRegister | None) -> None:
    """Raise the errors that `reserve` would raise for the named ledger, and BudgetError if a required ledger is not named."""
    if request.nobodys:
        return
    if request.ledger is not None:
        ledger = load_ledger(request.ledger, dataset=request.dataset, expect_head=request.expect_head)
        ledger.check(spec.plan.total, purpose_of(_charged_for(spec)), _charged_run(spec, piece))
    elif spec.year is not None:
        raise BudgetError(
            "Refused: a release in a multi-year plan must be charged to the ledger with this plan. Name the ledger (--ledger "
            "FILE; `synthrelease ledger years` writes the plan to a ledger). Nothing was spent."
        )
    elif spec.options.scout is not None:
        raise BudgetError("Refused: a release after a scout needs the ledger of the scout (--ledger FILE). Nothing was spent.")


def check_released(folder: Path) -> None:
    """Raise InputError if `verify` rejects an earlier release from which a generator starts, because this release may be a
    forgery."""
    from synthrelease.bundle.verify import verify_bundle

    report = verify_bundle(folder)
    problems = [problem for check in report.checks for problem in check.problems]
    if problems or not report.passed:
        raise InputError(
            f"{folder}: this prior does not pass `synthrelease verify`. "
            f"{problems[0].rstrip('.') if problems else 'One of the checks cannot be made here'}. Nothing was spent."
        )


def _key(request: ReleaseRequest) -> Ed25519PrivateKey | None:
    if request.sign is None:
        return None
    from synthrelease.bundle.write import signing_key

    return signing_key(request.sign, request.password_file)


def reserve(spec: ReleaseSpec, request: ReleaseRequest, listener: Listener, piece: PieceOfRegister | None = None) -> None:
    """Charge the cost of the whole plan to the ledger, before the first private byte is read. A `piece` restricts the charge to
    this piece of the register."""
    if request.nobodys:
        return
    if request.ledger is None and (near := ledgers_near(request)):
        listener.nearby(near)
    ledger = request.ledger or ledger_beside(request.out, spec.plan, spec.title, spec.budget.limit)
    statement = reserve_for_release(
        ledger,
        spec.plan,
        _charged_for(spec),
        _charged_run(spec, piece),
        dataset=request.dataset,
        expect_head=request.expect_head,
    )
    listener.reserved(ledger, statement)


def _charged_run(spec: ReleaseSpec, piece: PieceOfRegister | None) -> ChargedRun:
    scout = spec.options.scout
    run = ChargedRun(domain=spec.exact_domain, year=spec.year, cap=None if scout is None else scout.cap, key=spec.unit.key)
    if piece is None:
        return run
    split = Split(pieces=piece.rule.of, key=piece.key.digest, register=piece.register)
    return replace(run, piece=piece.rule.piece, split=split)


def _charged_for(spec: ReleaseSpec) -> str:
    """Return the text that the ledger stores: the title, how many rows of each person are used, and the plug-in packages."""
    rows = "the first row" if spec.unit.records == 1 else f"up to {spec.unit.records} rows"
    notes = [] if spec.unit.key is None else [f"persons by a key, {rows} of each"]
    notes += [f"with {table.package} {table.version}" for table in spec.plugins]
    return f"{spec.title[:150]} ({'; '.join(notes)})" if notes else spec.title


def ledgers_near(request: ReleaseRequest) -> tuple[Path, ...]:
    """Return the paths of ledgers beside the output, beside the private file and in the working directory, without opening
    them."""
    beside_output, data = place_beside(request.out), request.source.path
    beside = () if data is None else (data.absolute().parent,)
    folders = dict.fromkeys((beside_output.parent, *beside, Path.cwd()))
    ledgers: set[Path] = set()
    for folder in folders:
        try:
            ledgers |= {path for path in folder.glob("*.ledger") if path.is_file()}
        except OSError:
            continue
    return tuple(sorted(ledgers - {beside_output}))


def _spent(checked: Checked, request: ReleaseRequest, listener: Listener, places: Places) -> Published | None:
    """Read the private file, run the rounds and write the release. Errors that leave this function contain nothing private."""
    return after_the_charge(
        lambda: _released(checked, request, listener, places),
        lambda error: str(error) if request.nobodys else f"{error} {SPENT}",
    )


def _released(checked: Checked, request: ReleaseRequest, listener: Listener, places: Places) -> Published | None:
    result = release(
        checked.spec,
        request.source,
        jobs=request.jobs,
        progress=listener.phase,
        priors=checked.priors,
        public=checked.public_tables,
        piece=checked.piece,
        trust=request.trust,
    )
    if result is None:
        return None
    listener.phase("writing the release")
    folder = write_bundle(result, request.out, checked.key, places.folder)
    archive = None if request.archive is None else write_archive(folder, request.archive, places.archive)
    return Published(release=result, folder=folder, archive=archive)
