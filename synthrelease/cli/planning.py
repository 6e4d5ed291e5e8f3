"""plan and check: nothing is spent, and nothing of the data is shown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from synthrelease.cli.publishing import warn_of_gaps
from synthrelease.cli.terminal import Config, Jobs, out, print_plan, progress_line
from synthrelease.privacy import decimal_text


def plan(
    config: Config,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs instead of a tree.")] = False,
    jobs: Jobs = 1,
) -> None:
    """Show what a release would cost: privacy, number of configurations, memory. Reads no data."""
    from synthrelease.card_texts import gaps
    from synthrelease.memory import peak_megabytes
    from synthrelease.spec import load_spec

    spec = load_spec(config)
    total = spec.plan.total
    if as_json:
        from synthrelease.bundle.document import charge_tree

        document = {
            "title": spec.title,
            "total": {"epsilon": float(decimal_text(total.epsilon)), "delta": float(total.delta)},
            "limit": None if spec.limit is None else float(decimal_text(spec.limit)),
            "charges": charge_tree(total),
            "configurations": len(spec.space),
            "stop_probability": float(spec.stop_probability),
            "memory_mb": peak_megabytes(spec, jobs),
            "card_lacks": list(gaps(spec.card, spec.schema.names)),
        }
        print(json.dumps(document, indent=2))
    else:
        print_plan(spec)
        out.print(f"Configurations: {len(spec.space)}   Memory: about {peak_megabytes(spec, jobs)} MB")
        warn_of_gaps(spec)
    spec.plan.check_limit(spec.limit)


def check(
    config: Config,
    data: Annotated[Path | None, typer.Option("--data", metavar="FILE", help="Also check that this file can be read.")] = None,
) -> None:
    """Check a configuration, and that a file fits it. Spends no privacy budget and shows no value of the file."""
    from synthrelease.spec import load_spec

    spec = load_spec(config)
    out.print(
        f"{escape(spec.title)}: the specification is valid: {len(spec.schema.columns)} columns, {len(spec.rules)} rules, "
        f"{len(spec.space)} configurations, {len(spec.criteria)} criteria, epsilon {decimal_text(spec.plan.total.epsilon)}."
    )
    if data is not None:
        from synthrelease.ingest import ingest

        with progress_line() as phase:
            phase("reading the private file")
            private = ingest(data, spec.schema, spec.input, spec.raw, ())
        out.print(f"{escape(str(data))}: fits the specification; {private.n} rows follow the plausibility rules.")
    spec.plan.check_limit(spec.limit)
