"""release and demo: the commands that spend."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from synthrelease.cli.publishing import Password, Sign, private_key, warn_of_gaps
from synthrelease.cli.terminal import NOTHING_RELEASED, Config, Jobs, err, print_plan, progress_line
from synthrelease.cli.terminal import out as terminal
from synthrelease.privacy import decimal_text

if TYPE_CHECKING:
    from synthrelease.spec import ReleaseSpec


def release(
    config: Config,
    data: Annotated[Path, typer.Option("--data", metavar="FILE", help="The private file: CSV (also gzip) or Parquet.")],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="A new folder for the released files.")],
    jobs: Jobs = 1,
    shortlist: Annotated[
        Path | None, typer.Option("--shortlist", metavar="FILE", help="Draw from these configurations (see rehearse).")
    ] = None,
    ledger: Annotated[
        Path | None, typer.Option("--ledger", metavar="FILE", help="The budget ledger of the dataset (see ledger open).")
    ] = None,
    dataset: Annotated[str | None, typer.Option("--dataset", help="The name that the ledger must have.")] = None,
    expect_head: Annotated[
        str | None, typer.Option("--expect-head", help="The head from your logbook, against an old copy of the ledger.")
    ] = None,
    sign: Sign = None,
    password_file: Password = None,
) -> None:
    """Release one dataset that meets all acceptance criteria. Spends the planned privacy budget, once, whatever happens.

    The whole budget is written into a ledger before the first private byte is read. Without --ledger that is OUT.ledger,
    which knows only of releases into that folder.
    """
    from synthrelease.ledger import ledger_beside, reserve_for_release

    def reserve(spec: ReleaseSpec) -> None:
        path = ledger or ledger_beside(out, spec.plan, spec.title, spec.limit)
        receipt = reserve_for_release(path, spec.plan, spec.title, dataset=dataset, expect_head=expect_head)
        terminal.print(f"Reserved in {escape(str(path))}. For your logbook: {escape(receipt.logbook_line())}")
        if ledger is None:
            terminal.print("This ledger sees only releases into this folder. With --ledger FILE one ledger guards a dataset.")

    _release(config, data, out, jobs, shortlist, reserve, lambda: private_key(sign, password_file))


def demo(
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="A new folder for the released files.")],
    jobs: Jobs = 1,
) -> None:
    """Run a whole release on public surrogate births that come with synthrelease. Needs nothing from outside."""
    from synthrelease.resources import resource

    config, simulated = resource("configs/births.toml"), resource("public_data/births_surrogate.csv.gz")
    _release(config, simulated, out, jobs, None, lambda spec: None, lambda: None)  # nobody's data: no ledger


def _release(
    config: Path,
    data: Path,
    out: Path,
    jobs: int,
    shortlist: Path | None,
    reserve: Callable[[ReleaseSpec], None],
    read_key: Callable[[], Any],
) -> None:
    from synthrelease.bundle import write_bundle
    from synthrelease.publishing import check_before_spending, chosen_spec
    from synthrelease.releasing import release as run

    spec = chosen_spec(config, shortlist)
    print_plan(spec)
    warn_of_gaps(spec)
    check_before_spending(spec, data, out, jobs)
    key = read_key()
    reserve(spec)
    with progress_line() as phase:
        result = run(spec, data, jobs=jobs, progress=phase)
        if result is not None:
            phase("writing the release")
            write_bundle(result, out, key)
    if result is None:
        err.print(
            "Nothing was released: the search ended by the stop probability before a dataset met all criteria. The planned "
            "budget is spent. Rehearse on public data to find configurations that are accepted more often."
        )
        raise typer.Exit(NOTHING_RELEASED)
    table = Table(
        "criterion",
        "threshold",
        "released value",
        "noise sd",
        "epsilon",
        title="Acceptance criteria",
        caption="Released values carry noise: a small one may lie below 0."
        if spec.joint_test is None
        else "All criteria passed the joint test. The figures got their noise afterwards: one may lie above its threshold.",
    )
    for score in result.scores:
        noise = "" if score.noise_sd is None else f"{score.noise_sd:.3g}"
        table.add_row(escape(score.name), f"{score.threshold:g}", f"{score.value:.4g}", noise, decimal_text(score.epsilon))
    terminal.print(table)
    spent = f"epsilon = {decimal_text(result.guarantee.epsilon)}"
    if result.guarantee.delta:
        spent += f", delta = {float(result.guarantee.delta):g}"
    terminal.print(f"Released {result.candidate.n} synthetic rows with {spent}.")
    terminal.print(
        f"The data are in {escape(str(out / 'data.csv'))}; what they are and are not good for is in "
        f"{escape(str(out / 'README.html'))}. Check the files with synthrelease verify {escape(str(out))}."
    )
