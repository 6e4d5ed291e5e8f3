"""Define the commands for finished releases (bound, estimate, rows, verify, card), for keys and plug-ins, and for the audit."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from synthrelease.cli.terminal import err, print_or_write, progress_bars, progress_line, screen
from synthrelease.errors import InputError, VerificationFailed, listing, so_many
from synthrelease.spec.arguments import Config, File, Folder, Json, Key, Names, Number, Option, ReleasedFolder, Text

if TYPE_CHECKING:
    from synthrelease.answers.bounds import Bound
    from synthrelease.answers.words import Estimate
    from synthrelease.published import PublishedRelease
    from synthrelease.published.document import ReleaseDocument
    from synthrelease.published.verify.checks import Report
    from synthrelease.settings.questions import QuestionTable
    from synthrelease.studio.audit.audit import AuditResult, Part
    from synthrelease.studio.audit.losses import LossFinding

CONTRADICTED = 5


class AuditPart(StrEnum):
    """The names of the parts of the audit in the command line."""

    sensitivity = "sensitivity"
    selection = "selection"
    losses = "losses"


def audit(
    out: File | None = None,
    jobs: Number = 1,
    part: list[AuditPart] | None = None,
    only: Text | None = None,
    release: Folder | None = None,
    records: Annotated[int | None, Option(least=1, most=5)] = None,
) -> None:
    """Test the guarantee on made-up tables.

    Enumerates sensitivities and the distributions of the selection, and computes the privacy loss of the noisy answers of
    each generator. Reads no file except release.json of --release, and spends nothing.

    Parameters
    ----------
    out : Write all results to this JSON file. By default only print them.
    part : Run only this part of the audit. May be repeated. By default all parts.
    only : Run only those enumerations and losses whose names contain this text. By default all.
    release : Audit only the generator, criteria and selection of this published release. By default all generators and
        criteria.
    records : Enumerate tables of at most this many records. [default: 5; 4 with --release]
    """
    from synthrelease.bundle.write import check_free_name
    from synthrelease.errors import InputError
    from synthrelease.published.folder import document_of
    from synthrelease.studio.audit.audit import PARTS, RECORDS_OF_A_RELEASE, Scope, run_audit
    from synthrelease.studio.audit.enumeration import MOST_RECORDS

    if out is not None:
        check_free_name(out)
    parts: list[Part] = [chosen.value for chosen in part or ()]
    if release is not None and only:
        raise InputError("Use --release or --only, not both. --release already says what to check.")
    document = None if release is None else document_of(release / "release.json")
    scope = Scope(text=only or "") if document is None else Scope.of(document)
    with progress_bars() as progress:
        most = records or (MOST_RECORDS if release is None else RECORDS_OF_A_RELEASE)
        result = run_audit(parts=parts or PARTS, jobs=jobs, scope=scope, most_records=most, progress=progress)
    if out is not None:
        print_or_write(json.dumps(result.document(), indent=2) + "\n", out)
    _print_result(result)
    if document is not None and result.sensitivities:
        _print_noise(document, sound=not result.violations)
    if not result.passed:
        for name in result.violations:
            err.print(f"This result contradicts a claim: {name}.", style="red")
        for name in result.missed:
            err.print(f"The audit missed a known fault: {name}.", style="red")
        raise typer.Exit(CONTRADICTED)
    screen.print("Nothing contradicts a claim.")


def _print_result(result: AuditResult) -> None:
    if result.sensitivities:
        _print_sensitivities(result)
    if result.laws:
        laws, shipped = result.laws, [law for law in result.laws if law.claim == "price"]
        screen.print(
            f"The selection was computed exactly for {len(laws)} combinations of a claim and a distribution of the number of "
            f"rounds, with {sum(law.pairs for law in laws):,} pairs of outcome distributions. The loss exceeds the claim in "
            f"{sum(law.exceeded for law in laws)} cases, and is at most {max(law.share for law in shipped):.1%} of the charge."
        )
    if result.losses:
        _print_losses(result.losses)


def _print_sensitivities(result: AuditResult) -> None:
    sums = ("triples", "files", "violations", "disagreements")
    kinds = {part.kind: [other for other in result.sensitivities if other.kind == part.kind] for part in result.sensitivities}
    rows = []
    for kind, parts in kinds.items():
        shares = sorted({f"{float(part.largest):.3g}" for part in parts}, key=float)
        span = shares[0] if len(shares) == 1 else f"{shares[0]} to {shares[-1]}"
        rows.append((kind, *(f"{sum(getattr(part, name) for part in parts):,}" for name in sums), span))
    headings = ("criterion", "triples of tables", "of files", "violations", "disagreements", "largest share of the bound")
    screen.table(headings, rows, title="Sensitivities")
    triples, files, violations = (sum(getattr(part, name) for part in result.sensitivities) for name in sums[:3])
    checked = f"{triples:,} triples of tables and {files:,} triples of files with excluded rows"
    screen.print(f"The audit compared {checked}, and found {so_many(violations, 'violation')}.")
    for part in result.sensitivities:
        if part.first:
            screen.print(f"{part.name}: {part.first}.")


def _print_noise(document: ReleaseDocument, *, sound: bool) -> None:
    """Print whether the sensitivity bounds are correct, and whether the noise is as large as sensitivity and epsilon
    require.

    Raises typer.Exit if the noise in a criterion value is smaller than required.
    """
    from synthrelease.bundle.sheets import laplace_noise

    charged = [part for part in document.criteria if part.epsilon_exact != "0"]
    recomputed = {part.name: laplace_noise(part) for part in charged}
    comparable = [part for part in charged if recomputed[part.name] is not None and part.noise_sd is not None]
    small = [part.name for part in comparable if not float(part.noise_sd or 0) >= 0.99 * (recomputed[part.name] or math.inf)]
    n_others = len(charged) - len(comparable)
    more = so_many(n_others, "more criterion", "more criteria")
    others = f" The noise of {more} follows from the noise that they share." if n_others else ""
    screen.print(
        "Sensitivities of this release: "
        + ("no pair of neighbours changes a criterion value by more than its bound" if sound else "A BOUND IS EXCEEDED")
        + f". {len(comparable) - len(small)} of {len(comparable)} criteria have the noise that the bound and epsilon "
        + f"require.{others}"
    )
    if small:
        err.print(f"These criteria have less noise than sensitivity and epsilon require: {listing(small)}.", style="red")
        raise typer.Exit(CONTRADICTED)


def _print_losses(losses: Sequence[LossFinding]) -> None:
    """Print the claimed and the largest found privacy loss of each case, with its parts from noise and from choices."""
    from synthrelease.studio.audit.losses import installed

    honest, faulty = ([loss for loss in losses if loss.case.faulty is fault] for fault in (False, True))

    def cells(loss: LossFinding) -> tuple[str, ...]:
        budget, mark = float(loss.case.claim), "*" if loss.case.because else ""
        claimed, share = f"{loss.unit} {loss.claimed:.3g}", f"{loss.share:.3f}{mark}"
        parts = (f"{part / budget:.3f}" for part in (loss.noise, loss.choices))
        return loss.case.generator, loss.case.name, claimed, f"{loss.shown:.3f}", share, *parts

    headings = ("generator", "case", "claimed loss", "found loss", "found / claimed", "share due to noise", "due to choices")
    screen.table(headings, map(cells, honest), title="Largest losses")
    for because in dict.fromkeys(loss.case.because for loss in honest if loss.case.because):
        screen.print(f"* {because[0].upper()}{because[1:]}.")
    screen.print(
        f"The loss exceeds the claim in {sum(loss.exceeded for loss in honest)} of {so_many(len(honest), 'case')}. The audit "
        f"finds {sum(loss.exceeded for loss in faulty)} of {so_many(len(faulty), 'known fault')}."
    )
    if not installed():
        screen.print('MST and AIM were not checked, because the extra "smartnoise" is not installed.')


def bound(
    folder: ReleasedFolder,
    query: Annotated[str, Option(metavar="QUERY", positional=True)] = "",
    given: Annotated[str, Option(metavar="CONDITION")] = "",
    mean: Annotated[str | None, Option(metavar="COLUMN")] = None,
    minus: Annotated[str | None, Option(metavar="QUERY")] = None,
    confidence: float = 0.95,
    acceptance: Annotated[float | None, Option(metavar="P")] = None,
    as_json: Json = False,
) -> None:
    """Answer a question from a release, with bounds for the file.

    "The file" means the rows of the private file that the rules keep. All bounds hold at the same time (docs/estimates.md).
    QUERY is a condition whose limits are edges of released bins, such as "age >= 35 and sex == 'F'". A condition alone asks
    for a number of rows, with --given for a share, with --mean for a mean. QUERY can also be a question of `synthrelease
    estimate`, such as "share weight < 2500: age >= 35 against < 35". If published noisy tables can answer it, their
    estimate is printed, too.

    Parameters
    ----------
    query : Ask this question, or count the rows that meet this condition, such as "age >= 35 and sex == 'F'".
    given : Ask for a share among the rows that meet this condition. By default the answer is a number of rows.
    mean : Ask for the mean of this column. By default the answer is a number of rows.
    minus : Ask for the answer minus the answer for this second condition. By default nothing is subtracted.
    confidence : Set the confidence with which all bounds hold at the same time.
    acceptance : Assume that a round is accepted with at least this probability. By default nothing is assumed.
    """
    from synthrelease.answers.bounds import bound as ask
    from synthrelease.answers.stated import verdict
    from synthrelease.published import load
    from synthrelease.settings.questions import QuestionTable

    release = load(folder)
    answer = ask(release, query, given=given, mean=mean, minus=minus, confidence=confidence, acceptance=acceptance)
    # without validation: `ask` has just read the question, which may have any length
    question = QuestionTable.model_construct(query=query, given=given, mean=mean, minus=minus)
    statement, estimated = verdict(release, question), _estimated(release, question, confidence)
    if as_json:
        beside = None if estimated is None else [asdict(term) for term in (*estimated.terms, *estimated.contrasts)]
        stated = {"stated": statement.word, "because": statement.because, "estimated": beside}
        print(json.dumps(_plain(answer) | stated, indent=2))
    else:
        screen.print(str(answer))
        if estimated is not None:
            screen.print(f"\nThe noisy tables give this estimate (synthrelease estimate): {estimated.short}\n", soft_wrap=True)
        screen.print(f"The card says about this answer: {statement.word} ({statement.because}).")


def _estimated(release: PublishedRelease, question: QuestionTable, confidence: float) -> Estimate | None:
    from synthrelease.answers.stated import in_words

    words = in_words(question)
    if release.measurements is None or not words:
        return None
    from synthrelease.answers.estimates import estimate

    try:
        return estimate(release, words, confidence=confidence)
    except InputError:
        return None


def _plain(bound: Bound) -> dict[str, Any]:
    """Convert a bound to a dict for JSON, with None for an infinite limit."""
    names = ("question", "kind", "answer", "low", "high", "unit", "confidence", "acceptance", "n_rows")
    return {name: getattr(bound, name) for name in names} | {
        "shares": list(bound.shares) if bound.kind == "count" else None,
        "binned": None if bound.binned_low is None else [bound.binned_low, bound.binned_high],
        "about": bound.about,
        "measured": bound.measured or None,
        "limits": {limit.score.name: limit.limit if limit.limit < float("inf") else None for limit in bound.limits},
    }


def keygen(file: Annotated[Path, Option(metavar="KEY", positional=True)], password_file: File | None = None) -> None:
    """Make a key pair for signing releases. Needs the extra `sign`.

    Parameters
    ----------
    file : Write the private key to this new file, and the public key to KEY.pub.
    """
    from synthrelease.bundle.write import make_key, read_password

    fingerprint = make_key(file, read_password(password_file))
    screen.print(f"The private key is {file!s}. Keep this file secret. The public key is {file!s}.pub.")
    screen.print(f"Publish the fingerprint of the public key, where readers of the release can find it: {fingerprint}")


def verify(
    folder: ReleasedFolder,
    public_key: File | None = None,
    earlier: Annotated[list[Path] | None, Option(metavar="DIR", flags=("--with",))] = None,
    commitment: File | None = None,
    plan: bool = True,
    documents: bool = True,
    trust: Names = (),
) -> None:
    """Check a published release without private data.

    Also lists what cannot be checked. Exits with code 5 if a check fails or needs a package that is not installed. With
    --no-plan and --no-documents, the command makes only those checks that work with any version of the program.

    Parameters
    ----------
    public_key : Check the signature with this public key of the publisher. By default the key in the folder is used.
    earlier : Compare with this earlier release of the register, or with the release that an erratum replaces. May be
        repeated. By default nothing is compared.
    commitment : Compare with this commitment, which was written before the run (see commit). By default nothing is
        compared.
    plan : Compute the plan and the criterion values again from the specification.
    documents : Write all other documents again, and compare them with the folder.
    trust : Run these packages, which took part in the release, for the checks that need them. By default none.
    """
    from synthrelease.bundle.verify import verify_bundle

    if (folder / "scout.json").is_file() and not (folder / "release.json").exists():
        from synthrelease.scouting.folder import verify_scout

        _print_verified(report := verify_scout(folder), folder, "scout")
        screen.print(report.closing, style="green" if report.vouched_for else "yellow")
        return
    with progress_line(public=True) as progress:
        report = verify_bundle(
            folder, public_key, earlier or (), commitment, plan=plan, documents=documents, trust=trust, progress=progress
        )
    _print_verified(report, folder, "release")
    screen.print(report.closing, style="green" if report.vouched_for else "yellow")


def _print_verified(report: Report, folder: Path, what: str) -> None:
    """Print the checks, and what cannot be checked. Raise VerificationFailed if a check failed or needs another package."""
    print_report(report)
    if report.unknown:
        raise VerificationFailed(f"{folder}: no check failed, but some checks need another package.")
    if not report.passed:
        raise VerificationFailed(f"{folder}: a check of this {what} failed. See the problems above.")
    screen.print("Without the private file, nobody can check:")
    screen.bullets(map(printable, report.beyond))


def plugin(package: Annotated[str, Option(metavar="PACKAGE", positional=True)]) -> None:
    """Print the table [[plugins]] of a package, and try its parts.

    Runs the code of the package: tries its criteria and generators on small tables. Exits with code 5 if one fails.

    Parameters
    ----------
    package : Describe and try this package.
    """
    from synthrelease.spec.plugins import described
    from synthrelease.studio.audit.contracts import check_package

    table = described(package)
    settings = {"package": table.package, "version": table.version, "sha256": table.sha256}
    screen.print("\n".join(["[[plugins]]", *(f'{name} = "{value}"' for name, value in settings.items())]))
    failed = 0
    for name, problems in check_package(table):
        failed += len(problems)
        screen.print(f"{name}: {'; '.join(problems) or 'small tables show no problem'}.")
    if failed:
        raise VerificationFailed(f"{package}: the checks found {so_many(failed, 'problem')}. See above.")


def card(
    config: Config,
    target: Annotated[Path, Option(metavar="DIR", flags=("--out",))],
    bundle: Folder | None = None,
    sign: Key | None = None,
    password_file: File | None = None,
) -> None:
    """Preview the data card, or write a release again with new texts.

    Uses [card], [calibration], [bundle] and questions of CONFIG. Spends nothing and reads no private data.

    Parameters
    ----------
    target : Write the files to this new folder.
    bundle : Write the finished release in this folder again, with new texts. By default a preview is written.
    """
    from synthrelease.bundle.write import check_free_name, new_folder, signing_key, write_folder
    from synthrelease.spec.load import load_spec

    spec = load_spec(config)
    check_free_name(target)
    key = signing_key(sign, password_file)
    if bundle is None:
        from synthrelease.bundle.preview import preview

        write_folder(preview(spec), target, key)
        warn_of_gaps(spec)
        screen.print(f"Wrote a preview of the data card: {target / 'README.html'!s}. Its results are placeholders.")
        return
    from synthrelease.bundle.preview import rewritten
    from synthrelease.bundle.verify import verify_bundle
    from synthrelease.published.verify.alone import COMPLETE
    from synthrelease.published.verify.checks import read_files

    report, anew = verify_bundle(bundle), (COMPLETE, "documents", "calibration")
    if not all(check.passed for check in report.checks if check.name not in anew):
        print_report(report)
        raise VerificationFailed(f"{bundle}: this release does not pass its checks. Nothing was written.")
    with new_folder(target) as new:
        new.seal(rewritten(read_files(bundle), spec, new.keep), key)
    warn_of_gaps(spec)
    screen.print(f"The release with the new texts is in {target!s}.")
    print_outcomes(target)


def print_outcomes(folder: Path) -> None:
    from synthrelease.bundle.options import outcomes
    from synthrelease.published.document import read_leniently

    for outcome in outcomes(read_leniently((folder / "release.json").read_bytes())):
        (err if outcome.failed else screen).print(outcome.text, style="yellow" if outcome.failed else None)


def print_report(report: Report) -> None:
    """Print a table of the checks. Control characters, which could hide other text, are shown as escape codes."""
    from rich.text import Text

    rows = []
    for check in report.checks:
        finding = "\n".join(map(printable, check.problems or [check.found]))
        rows.append([Text(cell, style="" if check.passed else "red") for cell in (check.name, check.mark, finding)])
    screen.table(("check", "", "found"), rows, title="Verification")


def printable(text: str) -> str:
    """Replace characters that cannot be printed with escape codes."""
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)


def warn_of_gaps(spec: Any) -> None:
    """Warn of what the published folder will lack: facts on the card, and column names that statistical packages must
    change.
    """
    if spec.bundle.chosen:
        from synthrelease.bundle.formats import renamings

        for line in renamings(spec.schema.names, spec.bundle.formats):
            screen.print(line, style="yellow")
    if missing := spec.unstated:
        listed = ", ".join(missing[:8]) + (f" and {len(missing) - 8} more" if len(missing) > 8 else "")
        screen.print(f"The data card will say that these facts are not stated: {listed}.", style="yellow")
    if not str(spec.tables["acceptance"].get("description", "")).strip():
        screen.print(
            "The acceptance file has no description of the intended use. So the published specification.json will have none, "
            "either.",
            style="yellow",
        )


def estimate(
    words: Annotated[list[str], Option(metavar="DIR... QUESTION", positional=True)],
    confidence: float = 0.95,
    as_json: Json = False,
    together: bool = False,
    as_csv: Annotated[bool, Option(flags=("--csv",))] = False,
) -> None:
    """Estimate shares, means, quantiles or slopes from noisy tables.

    QUESTION is "share CONDITION", "mean COLUMN", "median COLUMN", "quantile 0.9 COLUMN" or "slope COLUMN on COLUMN,
    COLUMN". "by COLUMN" asks for each bin of a column. "where CONDITION" selects rows. "share weight < 2500: age >= 35
    against < 35" compares two groups. The second group may be "the rest". Limits in conditions lie between released bins.

    Each estimate has two intervals (docs/estimates.md): one for the file (the rows that the rules keep), and one for a
    population from which these rows are a simple random sample. If no noisy table contains the columns, use `synthrelease
    bound`.

    For several releases, the command also prints the changes between releases with intervals, and the mean level.

    Parameters
    ----------
    words : The released folder, or the folders of several years in order, then the question, such as "mean income by sex
        where age >= 30".
    confidence : Set the confidence of each interval. With --together, set the confidence that all intervals hold at the
        same time.
    together : Widen the intervals so that all of them hold at the same time. By default the confidence applies to each
        interval separately.
    as_csv : Print CSV for R, Stata or a spreadsheet. By default text is printed.
    """
    from synthrelease.answers.estimates import estimate as ask
    from synthrelease.answers.estimates import trend

    if as_json and as_csv:
        raise InputError("Use --json or --csv, not both.")
    *folders, question = words
    if not folders:
        raise InputError("`estimate` needs the folder of a release and a question, but there is only one argument.")
    if len(folders) == 1:
        answer = ask(folders[0], question, confidence=confidence, together=together)
    else:
        answer = trend(folders, question, confidence=confidence, together=together)
    if as_json:
        print(json.dumps(asdict(answer), indent=2, allow_nan=False))
    elif as_csv:
        print(answer.csv, end="")
    else:
        screen.print(str(answer), soft_wrap=True)


def rows(
    folder: ReleasedFolder,
    where: Annotated[str, Option(metavar="CONDITION")],
    out: Annotated[Path, Option(metavar="FILE.csv")],
    n: Annotated[int, Option(flags=("-n", "--rows"), least=1)] = 1000,
) -> None:
    """Draw rows that meet a condition, from published noisy tables.

    The rows come from a model of the noisy tables. The private file is not read, and no epsilon is spent. The command says
    which columns were measured together with the condition. If noise hides whether the group has any rows, it draws none.

    Parameters
    ----------
    where : Draw rows that meet this condition, such as "region == 'north' and age >= 80".
    out : Write the rows to this new CSV file, which has the format of data.csv.
    n : Draw this number of rows.
    """
    from synthrelease.bundle.rows import conditional_rows
    from synthrelease.bundle.write import check_free_name

    check_free_name(out)
    drawn = conditional_rows(folder, where, n)
    drawn.write(out)
    screen.print(str(drawn))
    screen.print(f"Wrote {out}.")
