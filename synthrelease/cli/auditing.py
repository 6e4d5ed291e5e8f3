"""audit: the guarantee put to the test."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from synthrelease.cli.terminal import Jobs, err, progress_bars
from synthrelease.cli.terminal import out as terminal

if TYPE_CHECKING:
    from synthrelease.audit.audit import Part
    from synthrelease.audit.loss_findings import LossFinding
    from synthrelease.audit.running import Finding
    from synthrelease.audit.summary import AuditResult

CONTRADICTED = 5


class AuditPart(StrEnum):
    """Parts of the audit, as they are written on the command line."""

    sensitivity = "sensitivity"
    selection = "selection"
    losses = "losses"
    cases = "cases"
    power = "power"


def audit(
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Write every figure to this JSON file.")] = None,
    jobs: Jobs = 1,
    hours: Annotated[float | None, typer.Option(min=0.01, help="Draw from all mechanisms for so long.")] = None,
    draws: Annotated[int | None, typer.Option(min=50, help="Draws on each side of every case.")] = None,
    part: Annotated[
        list[AuditPart] | None, typer.Option(help="Run this part; may be repeated. Without it all but power.")
    ] = None,
    only: Annotated[str | None, typer.Option(metavar="TEXT", help="Only what has this text in its name.")] = None,
    release: Annotated[
        Path | None,
        typer.Option(
            "--release", metavar="DIR", help="Only what a published release rests on: its generator, criteria and selection."
        ),
    ] = None,
    records: Annotated[
        int | None,
        typer.Option(min=1, max=5, help="Records of the largest tables that are enumerated. [default: 5, of a release 4]"),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(
            metavar="LIBRARY",
            help="Instead, hold noise and private choices against diffprivlib or opendp (extra `audit`).",
        ),
    ] = None,
) -> None:
    """Put the guarantee to the test, on made-up tables: enumerate sensitivities, compute laws and losses, draw from mechanisms.

    Reads no file but release.json of a release that is named; spends nothing. There is no seed: the machine's own entropy is
    part of what is audited.
    """
    from synthrelease.audit.audit import OF_A_RELEASE, RECORDS_OF_A_RELEASE, USUAL, run_audit
    from synthrelease.audit.running import Effort
    from synthrelease.audit.scope import Scope
    from synthrelease.audit.sweeps import MOST_RECORDS
    from synthrelease.errors import InputError, OutputError
    from synthrelease.published.folder import document_of

    if hours is not None and draws is not None:
        raise InputError("--hours and --draws: expected one of them, found both.")
    if out is not None and (out.exists() or not out.parent.is_dir()):
        found = "one" if out.exists() else f"no folder {out.parent}"
        raise OutputError(f"{out}: expected a new file in a folder that exists, found {found}.")
    if against is not None:
        if part or only or release or hours is not None:
            found = "--part, --only, --release or --hours"
            raise InputError(f"--against: expected it with --draws, --out or nothing else, found {found}.")
        _compare_laws(against, draws, out)
        return
    wanted: list[Part] = [each.value for each in part or ()]
    if release is not None and (only or hours is not None or draws is not None or set(wanted) - set(OF_A_RELEASE)):
        expected = f"it with --part {' or '.join(OF_A_RELEASE)}, --records, --jobs, --out or nothing else"
        raise InputError(f"--release: expected {expected}, found --only, --hours, --draws or another part.")
    scope = Scope(text=only or "") if release is None else Scope.of(document_of(release / "release.json"))
    with progress_bars() as progress:
        result = run_audit(
            parts=wanted or (USUAL if release is None else OF_A_RELEASE),
            effort=Effort(draws=draws, hours=hours),
            jobs=jobs,
            scope=scope,
            most_records=records or (MOST_RECORDS if release is None else RECORDS_OF_A_RELEASE),
            progress=progress,
        )
    if out is not None:
        out.write_text(json.dumps(result.document(), indent=2) + "\n", encoding="utf-8")
        terminal.print(f"Every figure is in {str(out)}.")
    _print_result(result)
    if not result.passed:
        for name in result.violations:
            err.print(f"Above its claim: {name}.", style="red")
        for name in result.missed:
            err.print(f"A known fault that was not found (more draws are needed): {name}.", style="red")
        raise typer.Exit(CONTRADICTED)
    terminal.print("Nothing contradicts a claim.")


def _compare_laws(library: str, draws: int | None, out: Path | None) -> None:
    """Draws of both libraries against the exact laws."""
    from rich.table import Table

    from synthrelease.audit.against import DRAWS, compare_laws

    with progress_bars() as progress:
        found = compare_laws(library, draws=draws or DRAWS, progress=progress)
    table = Table("law", "draws", "p of synthrelease", f"p of {library}", title="Draws against exact laws, chi-square")
    for each in found:
        table.add_row(each.name, f"{each.draws:,}", f"{each.ours:.3g}", f"{each.theirs:.3g}")
    terminal.print(table)
    if out is not None:
        rows = [{**asdict(each), "agrees": each.agrees} for each in found]
        out.write_text(json.dumps({"against": library, "laws": rows}, indent=2) + "\n", encoding="utf-8")
        terminal.print(f"Every figure is in {str(out)}.")
    if off := [each.name for each in found if not each.agrees]:
        for name in off:
            err.print(f"Draws that do not follow the law: {name}.", style="red")
        raise typer.Exit(CONTRADICTED)
    terminal.print(f"Both follow all {len(found)} laws.")


def _print_result(result: AuditResult) -> None:
    from rich.table import Table

    if result.sensitivities:
        _print_sensitivities(result)
    if result.laws:
        laws, shipped = result.laws, [law for law in result.laws if law.claim == "price"]
        terminal.print(
            f"Selection law, exact: {len(laws)} combinations of claim, way to repeat rounds and cap; "
            f"{sum(law.pairs for law in laws):,} pairs of laws, {sum(law.exceeded for law in laws)} above the claim. The "
            f"largest ratio realises {max(law.share for law in shipped):.1%} of the price that is charged."
        )
    if result.losses:
        _print_losses(result.losses)
    if result.findings:
        _print_findings(result)
    if result.power:
        table = Table("fault", "draws", "found", "probability, at least", title="Power")
        for part in result.power:
            table.add_row(part.name, f"{part.draws:,}", f"{part.found} of {part.repeats}", f"{part.at_least:.4f}")
        terminal.print(table)


def _print_sensitivities(result: AuditResult) -> None:
    from rich.table import Table

    table = Table(
        "figure", "triples", "of files", "violations", "disagreements", "largest share of the bound", title="Sensitivities"
    )
    by_kind = defaultdict(list)
    for part in result.sensitivities:
        by_kind[part.kind].append(part)
    for kind, found in by_kind.items():
        shares = sorted({f"{float(part.largest):.3g}" for part in found}, key=float)
        table.add_row(
            kind,
            f"{sum(part.triples for part in found):,}",
            f"{sum(part.files for part in found):,}",
            str(sum(part.violations for part in found)),
            str(sum(part.disagreements for part in found)),
            shares[0] if len(shares) == 1 else f"{shares[0]} to {shares[-1]}",
        )
    triples = sum(part.triples for part in result.sensitivities)
    violations = sum(part.violations for part in result.sensitivities)
    terminal.print(table)
    files = sum(part.files for part in result.sensitivities)
    terminal.print(f"{triples:,} triples of tables and {files:,} of files with rows left out, {violations} violations.")


def _print_losses(losses: Sequence[LossFinding]) -> None:
    """The largest loss that was shown beside the claim, and how the claim divides into what noise and choices show."""
    from rich.table import Table

    from synthrelease.audit.library_losses import installed

    honest = [loss for loss in losses if not loss.case.faulty]
    columns = "generator", "neighbours, charge", "claimed", "shown", "shown / claimed", "of the budget: noise", "choices"
    table = Table(*columns, title="Largest losses")
    for loss in honest:
        budget = float(loss.case.claim)
        table.add_row(
            loss.case.generator,
            loss.case.name,
            f"{loss.unit} {loss.claimed:.3g}",
            f"{loss.shown:.3f}",
            f"{loss.share:.3f}{'*' if loss.case.because else ''}",
            f"{loss.noise / budget:.3f}",
            f"{loss.choices / budget:.3f}",
        )
    terminal.print(table)
    for because in dict.fromkeys(loss.case.because for loss in honest if loss.case.because):
        terminal.print(f"* {because[0].upper()}{because[1:]}.")
    found = [loss for loss in losses if loss.case.faulty]
    terminal.print(
        f"{len(honest)} cases, {sum(loss.exceeded for loss in honest)} above the claim; "
        f"{sum(loss.exceeded for loss in found)} of {len(found)} known faults are above it."
    )
    if not installed():
        terminal.print('MST and AIM were not looked at: their library is not installed (it comes with the extra "smartnoise").')


def _print_findings(result: AuditResult) -> None:
    from rich.table import Table

    table = Table("mechanism", "cases", "claims", "largest proven / claimed", "above the claim", title="Cases")
    by_family = defaultdict(list)
    for finding in result.findings:
        if not finding.case.faulty:
            by_family[finding.case.family].append(finding)
    for family, found in by_family.items():
        claims = sorted({finding.case.claim for finding in found})
        span = f"{claims[0]:.3g}" if len(claims) == 1 else f"{claims[0]:.3g} to {claims[-1]:.3g}"
        above = sum(finding.exceeded for finding in found)
        table.add_row(family, str(len(found)), span, _largest(found), str(above))
    terminal.print(table)
    faults = [finding for finding in result.findings if finding.case.faulty]
    if faults:
        table = Table("known fault", "claimed", "proven", title="Faults that the audit must find")
        for finding in faults:
            table.add_row(finding.case.name, f"{finding.case.claim:.3g}", f"{finding.epsilon:.3g}")
        terminal.print(table)
    honest = [finding for finding in result.findings if not finding.case.faulty]
    terminal.print(
        f"{len(honest)} cases, {sum(finding.exceeded for finding in honest)} above the claim; "
        f"{sum(finding.exceeded for finding in faults)} of {len(faults)} known faults found. Confidence of all together: 99.9%."
    )


def _largest(found: list[Finding]) -> str:
    """The largest share of its claim that a case was proven to realise."""
    finding = max(found, key=lambda each: each.epsilon / each.case.claim if each.case.claim else each.epsilon)
    if not finding.epsilon > 0:
        return "nothing"
    return f"{finding.epsilon:.3g} / {finding.case.claim:.3g}"
