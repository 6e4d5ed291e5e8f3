"""The one way to spend: choose, check, try on made-up rows, reserve, read, run, write. `cli` and `api` both call it.

The order matters. What can be known without the private data is checked before the charge, what opens them is loaded
(`releasing.opening`), and the output's name is taken with space for it, so that of two releases into one folder one alone is
charged. The whole charge is on the disk before the first private row is read (but see `enclave.ingest.check_not_public`); what
depends on the number of rows is checked after reading, and a refusal then says that the budget is spent. From the charge on,
nothing that a failure holds reaches a screen or a disk.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from synthrelease.bundle.preview import preview, released_bytes
from synthrelease.bundle.write import check_archive, check_free, keep_space, taking, write_archive, write_bundle
from synthrelease.data.counts import Counts
from synthrelease.enclave.ingest import CalledPublic, check_not_public, tables_in
from synthrelease.enclave.record_numbers import PieceOfRegister
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


SPENT = (
    "Nothing was published. The whole planned budget counts as spent, because the file was opened. Run `synthrelease check "
    "--data` before a release: it finds files, columns and values that do not fit."
)


@dataclass(frozen=True, kw_only=True)
class Published:
    """A release that was written: the folder, and the archive of it where one was asked for."""

    release: Release
    folder: Path
    archive: Path | None = None


class Listener:
    """Told what happens, in this order; nothing here depends on private data but `n` and the release. By default silent."""

    def chosen(self, spec: ReleaseSpec) -> None:
        """Hear of the specification, before anything is checked."""

    def cheaper(self, spec: ReleaseSpec, proposal: PlanTable) -> None:
        """Hear of a shortlist with a plan that costs less than this release will spend. The release goes on."""

    def never_tried(self, spec: ReleaseSpec) -> bool:
        """Hear that nothing is known of a trial of these two files on public data. Returns whether they are released all the
        same: by default, where nobody can be asked, they are not.
        """
        return False

    def tried(self, dry: DryRun) -> None:
        """Hear that all checks passed, and attempts on made-up rows."""

    def nearby(self, ledgers: tuple[Path, ...]) -> None:
        """Hear that no ledger was named, and these are near: perhaps one of them is that of the data."""

    def reserved(self, ledger: Path, statement: Statement) -> None:
        """Hear that the whole plan is charged, on the disk."""

    def phase(self, name: str) -> None:
        """Hear what is being done; never how many rounds were run."""


@dataclass(frozen=True, kw_only=True)
class Checked:
    """A release that may be paid for: the priors as read, the digests of public tables, the key that signs, about how many
    bytes will be written, and what tells the rows of its piece of a register."""

    spec: ReleaseSpec
    priors: Mapping[str, Counts]
    public_tables: tuple[str, ...]
    key: Ed25519PrivateKey | None
    size: int
    piece: PieceOfRegister | None = None


@dataclass(frozen=True, kw_only=True)
class Places:
    """Where the names of the folder and of the archive were taken; what is written is put together there."""

    folder: Path
    archive: Path | None


def publish(request: ReleaseRequest, listener: Listener | None = None) -> Published | None:
    """Release one dataset that meets all acceptance criteria. Spends the planned budget, once.

    Returns
    -------
    What was published, or None when nothing was: the budget is spent either way.

    Raises
    ------
    SpecError, InputError, OutputError, ResourceError : nothing was spent, unless the private file turned out not to fit.
    BudgetError : the plan costs more than the limit or than the ledger has left, and nothing was read; or delta is too large
        for so many rows, and the budget is spent.
    PrivateFailure, InternalError, Interrupted : the run ended after the charge; the budget counts as spent.

    Privacy
    -------
    As `releasing.release`: `spec.plan.total`, charged as a whole before the first private byte is read.
    """
    listener = listener or Listener()
    spec = chosen(request)
    listener.chosen(spec)
    proposal = None if request.shortlist is None else cheaper_plan(spec, request.shortlist)
    if proposal is not None:
        listener.cheaper(spec, proposal)
    checked = check_before_spending(spec, request)
    rehearsed = request.nobodys or request.unrehearsed or tried(spec, request.shortlist)
    if not rehearsed and not listener.never_tried(spec):
        raise InputError(f"{request.config}: {NEVER} {INSTEAD}.")
    listener.tried(dry_run(spec, checked.priors, request.jobs))
    with ExitStack() as held:
        places = Places(
            folder=held.enter_context(taking(request.out)),
            archive=None if request.archive is None else held.enter_context(taking(request.archive, "an archive")),
        )
        for place in filter(None, (places.folder, places.archive)):
            keep_space(place, checked.size)
        reserve(spec, request, listener, checked.piece)
        with protected():
            return _spent(checked, request, listener, places)


def chosen(request: ReleaseRequest) -> ReleaseSpec:
    """Return the specification, drawing from the configurations of a shortlist alone where one is given."""
    spec = load_spec(request.config, request.trust)
    return spec if request.shortlist is None else narrowed(spec, request.shortlist)


def check_before_spending(spec: ReleaseSpec, request: ReleaseRequest) -> Checked:
    """Find the mistakes that would cost the whole budget, while nothing is spent.

    Raises
    ------
    SpecError : when [unit] is not answered, the criteria accept every table or none, or the specification is of an erratum.
    OutputError : when the output exists, or cannot be made.
    BudgetError : when the plan costs more than the limit, or than a named ledger has left; for a delta that no number of rows
        allows, or more stated rows than the specification takes.
    LedgerError : when a named ledger is not there, or cannot be relied on.
    ResourceError : when the run does not fit into the memory of this machine.
    InputError : when there is no private file, it is one that is said to be public, a public table does not fit, a library is
        missing, or jobs is below 1.

    And whatever `preview` raises for a text that a document cannot hold, and a key that cannot be used.
    """
    if request.jobs < 1:
        raise InputError(f"jobs: expected at least 1, found {request.jobs}. Nothing was spent.")
    check_free(request.out)
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
        raise InputError(f"{data}: expected a file with a header and rows, found no such file. Nothing was spent.")
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
        role = f"what {request.shortlist} was rehearsed on"
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
    """Raise as `reserve` would now, for a named ledger, before the attempts on made-up rows, which may take minutes; and
    BudgetError where a plan over years needs one and none is named."""
    if request.nobodys:
        return
    if request.ledger is not None:
        ledger = load_ledger(request.ledger, dataset=request.dataset, expect_head=request.expect_head)
        ledger.check(spec.plan.total, purpose_of(_charged_for(spec)), _charged_run(spec, piece))
    elif spec.year is not None:
        raise BudgetError(
            "Refused: a release of a plan over years is charged to the ledger that has the plan and knows the years that are "
            "done: name it (--ledger FILE; `synthrelease ledger years` notes the plan). Nothing was spent."
        )
    elif spec.options.scout is not None:
        raise BudgetError(
            "Refused: a release after a scout is charged to the ledger that has the scout: name it (--ledger FILE). "
            "Nothing was spent."
        )


def check_released(folder: Path) -> None:
    """Raise InputError for an earlier release that does not pass `verify`: a forger chose what this one starts from."""
    from synthrelease.bundle.verify import verify_bundle

    report = verify_bundle(folder)
    problems = [problem for check in report.checks for problem in check.problems]
    if problems or not report.passed:
        raise InputError(
            f"the prior {folder}: expected a release that passes `synthrelease verify`, found one that does not: "
            f"{problems[0] if problems else 'a check was not made'}. Nothing was spent."
        )


def _key(request: ReleaseRequest) -> Ed25519PrivateKey | None:
    if request.sign is None:
        return None
    from synthrelease.bundle.write import signing_key

    return signing_key(request.sign, request.password_file)


def reserve(spec: ReleaseSpec, request: ReleaseRequest, listener: Listener, piece: PieceOfRegister | None = None) -> None:
    """Charge the whole plan, before the first private byte is read; to one piece where one alone is read."""
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
    """Return what the ledger has to know of the release; of one piece where one alone is read."""
    run = ChargedRun(
        domain=spec.exact_domain,
        year=spec.year,
        cap=None if spec.options.scout is None else spec.options.scout.cap,
        key=spec.unit.key,
    )
    if piece is None:
        return run
    split = Split(pieces=piece.rule.of, key=piece.key.digest, register=piece.register)
    return replace(run, piece=piece.rule.piece, split=split)


def _charged_for(spec: ReleaseSpec) -> str:
    """Return the notes of a ledger on a release: its title, whose rows are a record where a key tells that, and which packages
    took part, whose claims are theirs."""
    rows = "the first row" if spec.unit.records == 1 else f"up to {spec.unit.records} rows"
    notes = [] if spec.unit.key is None else [f"persons by a key, {rows} of each"]
    notes += [f"with {table.package} {table.version}" for table in spec.plugins]
    return f"{spec.title[:150]} ({'; '.join(notes)})" if notes else spec.title


def ledgers_near(request: ReleaseRequest) -> tuple[Path, ...]:
    """Return other ledgers beside the output, beside the private file and in the working folder. They are not opened."""
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
    """Read, run and write, and end in nothing private, whatever happens."""
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
