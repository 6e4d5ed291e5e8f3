"""The command line: the only module that prints.

Exit codes: 0 released; 1 stopped while private data were in use; 2 a mistake in the specification or the input;
3 nothing released; 4 refused because of the budget.
"""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.tree import Tree

from synthrelease.errors import Interrupted, SynthreleaseError
from synthrelease.privacy import Charge, decimal_text

NOTHING_RELEASED = 3
STOPPED = 1

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Release differentially private synthetic microdata. Start with `synthrelease demo --out DIR`.",
    epilog="Exit codes: 0 released or fine, 1 stopped while private data were in use (the budget counts as spent), "
    "2 a mistake in the specification or the input, 3 nothing released, 4 refused because of the budget.",
)
Config = Annotated[Path, typer.Argument(metavar="CONFIG", help="The configuration of the release, a TOML file.")]
Jobs = Annotated[int, typer.Option("--jobs", min=1, help="Processes that try configurations side by side.")]
_out, _err = Console(), Console(stderr=True)


def main() -> None:
    """Run the command line; a user's mistake ends with its message and exit code, never with a traceback."""
    try:
        app()
    except SynthreleaseError as error:
        _err.print(escape(str(error)), style="red")
        sys.exit(error.exit_code)
    except Exception as error:  # its message and traceback could hold private values
        _err.print(
            f"synthrelease stopped because of a mistake in the program or the machine: {type(error).__name__} at "
            f"{_place(error)}. The message is not shown, because it could hold private values. Nothing was published; if "
            "private data had been read, the planned budget counts as spent.",
            style="red",
        )
        sys.exit(STOPPED)


def _place(error: BaseException) -> str:
    """File and line of synthrelease where an error passed last."""
    package = Path(__file__).parent
    frames = [(Path(frame.f_code.co_filename), line) for frame, line in traceback.walk_tb(error.__traceback__)]
    inside = [f"{path.relative_to(package.parent).as_posix()}:{line}" for path, line in frames if package in path.parents]
    return inside[-1] if inside else "the start of the program"


@app.command()
def plan(
    config: Config,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs instead of a tree.")] = False,
    jobs: Jobs = 1,
) -> None:
    """Show what a release would cost: privacy, number of configurations, memory. Reads no data."""
    from synthrelease.memory import peak_megabytes
    from synthrelease.spec import load_spec

    spec = load_spec(config)
    total = spec.plan.total
    if as_json:
        document = {
            "title": spec.title,
            "total": {"epsilon": float(decimal_text(total.epsilon)), "delta": float(total.delta)},
            "limit": None if spec.limit is None else float(decimal_text(spec.limit)),
            "charges": _charge_json(total),
            "configurations": len(spec.space),
            "stop_probability": float(spec.stop_probability),
            "memory_mb": peak_megabytes(spec, jobs),
        }
        print(json.dumps(document, indent=2))
    else:
        _print_plan(spec)
        _out.print(f"Configurations: {len(spec.space)}   Memory: about {peak_megabytes(spec, jobs)} MB")
    spec.plan.check_limit(spec.limit)


@app.command()
def check(
    config: Config,
    data: Annotated[Path | None, typer.Option("--data", metavar="FILE", help="Also check that this file can be read.")] = None,
) -> None:
    """Check a configuration, and that a file fits it. Spends no privacy budget and shows no value of the file."""
    from synthrelease.spec import load_spec

    spec = load_spec(config)
    _out.print(
        f"{escape(spec.title)}: the specification is valid: {len(spec.schema.columns)} columns, {len(spec.rules)} rules, "
        f"{len(spec.space)} configurations, {len(spec.criteria)} criteria, epsilon {decimal_text(spec.plan.total.epsilon)}."
    )
    if data is not None:
        from synthrelease.ingest import ingest

        with _progress() as phase:
            phase("reading the private file")
            private = ingest(data, spec.schema, spec.input, spec.raw, ())
        _out.print(f"{escape(str(data))}: fits the specification; {private.n} rows follow the plausibility rules.")
    spec.plan.check_limit(spec.limit)


@app.command()
def release(
    config: Config,
    data: Annotated[Path, typer.Option("--data", metavar="FILE", help="The private file: CSV (also gzip) or Parquet.")],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="A new folder for the released files.")],
    jobs: Jobs = 1,
) -> None:
    """Release one dataset that meets all acceptance criteria. Spends the planned privacy budget, once, whatever happens."""
    _release(config, data, out, jobs)


@app.command()
def demo(
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="A new folder for the released files.")],
    jobs: Jobs = 1,
) -> None:
    """Run a whole release on public surrogate births that come with synthrelease. Needs nothing from outside."""
    from synthrelease.resources import resource

    _release(resource("configs/births.toml"), resource("public_data/births_surrogate.csv.gz"), out, jobs)


def _release(config: Path, data: Path, out: Path, jobs: int) -> None:
    from synthrelease.bundle import check_free, write_bundle
    from synthrelease.release import release as run
    from synthrelease.spec import load_spec

    spec = load_spec(config)
    _print_plan(spec)
    check_free(out)
    with _progress() as phase:
        result = run(spec, data, jobs=jobs, progress=phase)
        if result is not None:
            phase("writing the release")
            write_bundle(result, out)
    if result is None:
        _err.print(
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
        caption="Released values carry noise: a small one may lie below 0.",
    )
    for score in result.scores:
        noise = "" if score.noise_sd is None else f"{score.noise_sd:.3g}"
        table.add_row(escape(score.name), f"{score.threshold:g}", f"{score.value:.4g}", noise, decimal_text(score.epsilon))
    _out.print(table)
    _out.print(f"Released {result.candidate.n} synthetic rows with epsilon = {decimal_text(result.guarantee.epsilon)}.")
    _out.print(f"The data are in {escape(str(out / 'data.csv'))}, the documentation in {escape(str(out / 'release.json'))}.")


@contextmanager
def _progress() -> Iterator[Any]:
    """A line with the phase and the elapsed time, on a terminal only. It never shows how many rounds were run."""
    try:
        if not _err.is_terminal:
            yield lambda phase: None
            return
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
        with Progress(*columns, console=_err, transient=True) as bar:
            task = bar.add_task("starting", total=None)
            yield lambda phase: bar.update(task, description=phase)
    except KeyboardInterrupt:
        raise Interrupted() from None


def _print_plan(spec: Any) -> None:
    total = spec.plan.total
    tree = Tree(f"[bold]{escape(spec.title)}[/bold]: epsilon = {decimal_text(total.epsilon)}, delta = {float(total.delta):g}")
    for part in total.parts:
        _grow(tree, part)
    _out.print(tree)
    _out.print("Guarantee: pure differential privacy; neighbouring tables differ in one record that is replaced.")


def _grow(tree: Tree, charge: Charge) -> None:
    branch = tree.add(f"{decimal_text(charge.epsilon)}  {escape(charge.name)} [dim]({escape(charge.because)})[/dim]")
    for part in charge.parts:
        _grow(branch, part)


def _charge_json(charge: Charge) -> dict[str, Any]:
    from synthrelease.bundle.document import charge_tree

    return charge_tree(charge)


if __name__ == "__main__":
    main()
