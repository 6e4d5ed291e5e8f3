"""Define the commands that come before a release: plan, check, commit, schema. They spend nothing and show no value in the
data.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from synthrelease.cli.reading import warn_of_gaps
from synthrelease.cli.terminal import (
    accepts_untried,
    alike_in_words,
    cheaper_text,
    err,
    print_or_write,
    print_plan,
    print_untried,
    progress_line,
    refusals,
    screen,
)
from synthrelease.errors import InputError, OutputError, listing, so_many
from synthrelease.privacy.charges import decimal_text
from synthrelease.privacy.plan import check_delta, loss_text
from synthrelease.privacy.selection import nothing_where
from synthrelease.spec.arguments import Config, Data, File, Json, Names, Number, Option, Public, TableName

if TYPE_CHECKING:
    from synthrelease.spec.release_spec import ReleaseSpec

MOST_LINES = 30
MOST_TRIPLES = 10


def carried_lines(spec: ReleaseSpec, rows: int | None = None) -> Iterator[str]:
    """Yield the lines on the pairs of columns whose association the rows are expected to preserve, for a file of `rows`
    rows.
    """
    from synthrelease.bundle.card import sentences, uses_in_words
    from synthrelease.generators.associations import LEAST_STRENGTH, CarriedPairs
    from synthrelease.releasing.attempt_costs import usual_rows
    from synthrelease.spec.associations import planned_associations
    from synthrelease.spec.tried import WITHHELD, kept_in_trial

    counted_on = rows or usual_rows(spec)
    models = planned_associations(spec, counted_on)
    trial = kept_in_trial(spec)
    told = trial not in ("", WITHHELD)  # the trial says which pairs are lost
    lost = [(first, second) for first, _, second in (pair.partition(":") for pair in spec.not_promised.pairs if told)]
    gone = {*lost, *(pair[::-1] for pair in lost)}
    pairs = CarriedPairs.of(models, gone)  # each pair stands in one list
    if not pairs.pairs:
        return
    good, *others = uses_in_words(pairs)
    for_rows = "" if pairs.unknown == pairs.pairs else f"This holds for a file of {counted_on:,} rows."
    yield " ".join(filter(None, [good, for_rows, trial]))
    if others:
        yield " ".join(others)
    strengths = {tuple(pair.split(":")): strength for pair, strength in models[0].strengths.pairs.items()}
    named = {*gone, *pairs.noisy, *(pair[::-1] for pair in pairs.noisy)}
    known = [pair for pair in strengths if {*pair} <= {*models[0].layout.columns} and pair not in named]
    not_preserved = [pair for pair in known if not all(model.of(*pair) for model in models)]
    strong = sorted((pair for pair in not_preserved if strengths[pair] >= LEAST_STRENGTH), key=lambda pair: -strengths[pair])
    if weak := len(not_preserved) - len(strong):
        yield f"{so_many(weak, 'other pair has', 'other pairs have')} a Cramer's V below {LEAST_STRENGTH:g} in the public file."
    apart = f"Pairs with a Cramer's V of {LEAST_STRENGTH:g} or more that no measured table preserves"
    in_tables = {pair for model in models for pair in gone & {*model.in_tables()} if model.measured(*pair) != "not known"}
    listed: dict[str, Sequence[tuple[str, ...]]] = {
        "Pairs that were lost in the trial": [pair for pair in lost if pair not in in_tables],
        "Pairs that were lost in the trial, although a table measures them": [pair for pair in lost if pair in in_tables],
        f"{apart}{', and that were not lost in the trial' * told}": strong if pairs.only else [],
    }
    for words, of_list in listed.items():
        if of_list:
            yield f"{words}: {_shown([*map(' × '.join, of_list)])}."
    if pairs.columns and pairs.unknown < pairs.pairs:
        words = sentences("en")["carried_list" if pairs.only else "carried_others"]
        yield words.replace("all pairs", "all other pairs") if gone else words
    for line in pairs.columns[:MOST_LINES] if pairs.unknown < pairs.pairs else ():
        yield f"  {line.column} × {', '.join(line.others)}"
    if (further := len(pairs.columns) - MOST_LINES) > 0:
        yield f"  and the pairs of {so_many(further, 'more column')}. `synthrelease plan --json` lists every pair."
    if pairs.carried_triples:
        triples = _shown([" × ".join(triple) for triple in pairs.carried_triples])
        counted = f"{len(pairs.carried_triples):,} of {pairs.triples:,}"
        yield f"The rows preserve the joint association of {counted} combinations of three columns: {triples}."


def _shown(names: Sequence[str]) -> str:
    return "; ".join([*names[:MOST_TRIPLES], *(["..."] if len(names) > MOST_TRIPLES else [])])


def commit(
    config: Config,
    file: Annotated[Path, Option(metavar="FILE", flags=("--out",))],
    ledger: File | None = None,
    shortlist: File | None = None,
    unrehearsed: bool = False,
) -> None:
    """Commit to a release before the run.

    Writes a commitment file, and prints its digest, which you publish. Reads no data and spends nothing. Later, `verify
    --commitment FILE` compares the release with this file.

    Parameters
    ----------
    file : Write the commitment to this new file.
    ledger : Include the head of this ledger in the commitment. By default no ledger.
    shortlist : Commit to the configurations on this shortlist. By default all configurations.
    """
    from synthrelease.bundle.write import commitment, new_file
    from synthrelease.errors import InputError
    from synthrelease.spec.load import load_spec
    from synthrelease.spec.shortlist import narrowed
    from synthrelease.spec.tried import INSTEAD, NEVER, tried

    spec = load_spec(config)
    spec.check_unit_answered()
    if not (unrehearsed or tried(spec, shortlist) or accepts_untried(spec)):
        raise InputError(f"{config}: {NEVER} {INSTEAD}.")
    spec = spec if shortlist is None else narrowed(spec, shortlist)
    promise = commitment(spec, ledger)
    with new_file(file, "the commitment") as opened:
        opened.write(promise.dumped())
    named = promise.ledger
    head = "no ledger" if named is None else f"the ledger {named.dataset} with the head {named.head[:16]}"
    years = promise.years and f", and the plan and the thresholds of all {len(promise.years.epsilons_exact)} years"
    screen.print(f"Wrote {file!s}. Do not change this file. Before you run the release, publish this digest:")
    screen.print(f"SHA-256 {promise.digest}", soft_wrap=True)
    screen.print(
        f"The commitment covers the configuration and acceptance file (digest {promise.specification[:16]}...), the planned "
        f"charges, selection and criteria{years or ''}. It names synthrelease {promise.program} and {head}."
    )
    if promise.years is not None and promise.years.fallbacks and not promise.years.again:
        screen.print(
            "The commitment does not cover a second release of a year. Commit also to the configuration of the second release "
            "(again = true), and publish both digests."
        )


def schema(acceptance: bool = False, out: File | None = None) -> None:
    """Print the JSON Schema of a configuration. With the schema, an editor can complete, explain and check the file.

    Editors that use Taplo find the schema if the first line of the TOML file is `#:schema ./FILE`.

    Parameters
    ----------
    acceptance : Print the schema of the acceptance file. By default the schema of the configuration is printed.
    out : Write the schema to this file, and overwrite an existing file. By default the schema is printed.
    """
    from synthrelease.settings.tables import ACCEPTANCE_SCHEMA, CONFIGURATION_SCHEMA, schema_text

    if out is not None and out.suffix != ".json":
        raise OutputError(f"{out}: the name of the file must end in .json. Nothing was written.")
    print_or_write(schema_text(ACCEPTANCE_SCHEMA if acceptance else CONFIGURATION_SCHEMA), out)


def plan(
    config: Config,
    as_json: Json = False,
    jobs: Number = 1,
    rows: Number | None = None,
    shortlist: File | None = None,
    worksheet: File | None = None,
) -> None:
    """Show what a release would cost in privacy, time and memory. Reads no data.

    Also shows the probability that the search finds no acceptable table, from a rehearsal (--shortlist) or for several
    assumed shares of accepted rounds.

    Exits with code 2 if [unit] has no answer, if no table with this number of rows can meet a criterion, or if every table
    meets all criteria. Exits with code 4 if the plan costs more than its limit.

    Parameters
    ----------
    config : Configuration (TOML), or specification.json of a released folder.
    rows : Estimate time and memory for this number of rows. [default: 100000]
    shortlist : Use this shortlist: also show how often its rehearsal found no table, and a cheaper plan if there is one. By
        default no shortlist.
    worksheet : Write a page that you can print for a meeting with stakeholders to this new file (.html). By default no
        page.
    """
    from synthrelease.releasing.attempt_costs import check_memory, check_possible, peak_megabytes
    from synthrelease.spec.shortlist import cheaper_plan, narrowed
    from synthrelease.spec.tried import Changed, standing

    spec = _read(config)
    if worksheet is not None:
        _write_worksheet(spec, worksheet, rows)
    if shortlist is not None:
        spec = narrowed(spec, shortlist)
    if as_json:
        print(json.dumps(_document(spec, jobs, rows, shortlist), indent=2))
    else:
        print_plan(spec, shortlist)
        if shortlist is not None and (proposal := cheaper_plan(spec, shortlist)) is not None:
            err.print(cheaper_text(spec, proposal, config, shortlist), style="yellow", soft_wrap=True)
        screen.print(f"Configurations: {len(spec.space)}   Memory: about {peak_megabytes(spec, jobs, rows):,} MB")
        _print_estimates(spec, rows)
        _print_options(spec, rows)
        _print_unmeasured(spec)
        print_associations(spec, rows)
        _print_passed_by_noise(spec)
        _print_warnings(spec, rows)
        if isinstance(state := standing(spec, shortlist), Changed):
            err.print(
                f"These parts were changed since {state.by}: {state.parts}. `check`, `commit` and `release` refuse changed "
                "files. Rehearse them (`synthrelease rehearse`), or use --unrehearsed.",
                style="yellow",
            )
        if not _published(config):  # a published specification has no card
            warn_of_gaps(spec)
    spec.check_unit_answered()
    spec.check_can_fail()
    spec.check_limit()
    check_memory(spec, jobs, rows)
    check_possible(spec, rows)


def _write_worksheet(spec: ReleaseSpec, file: Path, rows: int | None) -> None:
    from synthrelease.bundle.sheets import worksheet
    from synthrelease.bundle.write import check_free_name
    from synthrelease.releasing.attempt_costs import usual_rows

    check_free_name(file)
    print_or_write(worksheet(spec, rows or usual_rows(spec)), file)
    err.print("Print the page from a browser, or save it as PDF.")


def _published(config: Path) -> bool:
    from synthrelease.spec.canonical import NAME

    return config.name == NAME


def _read(config: Path) -> ReleaseSpec:
    from synthrelease.spec.load import load_spec, read_specification

    if not _published(config):
        return load_spec(config)
    try:
        content = config.read_bytes()
    except OSError as error:
        raise InputError(f"Cannot read {config} ({error.strerror}).") from None
    return read_specification(content, plugins=True)


EXACT = (
    "These facts about private data are exact. Keep them in the enclave. Do not use them to change bounds, bins or "
    "categories. The number of rows that the rules keep is not shown."
)
UNREAD = (
    "A release counts such texts as missing values and does not report them. A few typing errors need no correction. If all "
    "values of a column are affected, correct the decimal sign, the delimiter or the date format in the configuration."
)

MANY = (
    "A release excludes such rows, or counts a number as the nearest bound, depending on the settings of the column. If the "
    "file writes codes, categories or units differently from the public file, correct these settings."
)


def _print_estimates(spec: ReleaseSpec, rows: int | None) -> None:
    from synthrelease.releasing.attempt_costs import attempt_costs, finest, usual_rows

    screen.print(
        f"One attempt with {rows or usual_rows(spec):,} rows needs, on one core of the machine in docs/appendix/benchmarks.md "
        "(other machines can be several times faster or slower):"
    )
    for cost in attempt_costs(spec, rows):
        time = f"{cost.seconds:.0f} s" if cost.seconds >= 10 else f"{max(cost.seconds, 0.1):.1f} s"
        screen.print(f"  {cost.family}: about {time} and {cost.megabytes:,} MB; the time grows {cost.grows}")
    layout = finest(spec)
    screen.print(f"  The columns with the most bins (of {len(layout.sizes)} columns): {layout.largest()}.")


def _print_options(spec: ReleaseSpec, rows: int | None) -> None:
    from synthrelease.privacy.plan import Loss
    from synthrelease.releasing.attempt_costs import usual_rows
    from synthrelease.spec.members import members_in_words

    if spec.schema.linked is not None:
        screen.print(members_in_words(spec.schema, spec.schema.linked))
    total = Loss(spec.plan.total.epsilon, spec.plan.total.delta)
    for text in spec.options.in_words(total, rows or usual_rows(spec)):
        screen.print(text)
    _print_weighted(spec)
    _print_models(spec, rows or usual_rows(spec))


def _print_weighted(spec: ReleaseSpec) -> None:
    """Print the columns with weighted answers, and with intervals for a population: those measured with the design weight
    or the random groups.
    """
    if (design := spec.options.design) is None or not spec.publish_measurements:
        return
    from synthrelease.studio.rehearsal.measured_tables import measured_tables

    for answers, name in (("Weighted answers", design.weight), ("Intervals for a population", design.groups)):
        if name is None:
            continue
        together = {column for table in measured_tables(spec) if name in table.columns for column in table.columns} - {name}
        columns = listing((column for column in spec.schema.names if column in together), 200) or "none"
        screen.print(f"{answers} exist for these columns: {columns}. To add a column, measure the table COLUMN:{name}.")


def _print_models(spec: ReleaseSpec, rows: int) -> None:
    if spec.models is None:
        return
    screen.print(
        f"Named models have these 95% intervals with {rows:,} rows, from the noise alone. The command assumes that all groups "
        "have the same number of rows, that columns are uncorrelated, and that the standard deviation of a column in a "
        "regression is a quarter of the distance between its limits."
    )
    for model in _models(spec, rows):
        told = ", ".join(f"{name} ± {half:.3g}" for name, half in model["half_widths"])
        refused = "; the noise may prevent an answer" if model["may_be_refused"] else ""
        screen.print(f"  {model['question']}: {told}{refused}", soft_wrap=True)


def _models(spec: ReleaseSpec, rows: int) -> list[dict[str, Any]]:
    if spec.models is None:
        return []
    from synthrelease.answers.models import expected_half_widths, may_be_refused

    answers = []
    for model in spec.models.models:
        groups = len(spec.space.transformations[0].binning(model.words.by)) if model.words.by else max(1, len(model.groups))
        widths = expected_half_widths(spec.models, model, rows, groups)
        refused = may_be_refused(model, [half for _, half in widths])
        answers.append({"question": model.words.text, "half_widths": widths, "may_be_refused": refused})
    return answers


def _intended(spec: ReleaseSpec, rows: int) -> list[dict[str, Any]]:
    """Return the expected half width, in rows, of the count behind each intended question, and whether noise may prevent an
    answer.
    """
    if not spec.questions:
        return []
    from synthrelease.studio.rehearsal.expected_noise import expected_answers

    return [
        {
            "question": answer.question,
            "table": list(answer.table),
            "half_width_rows": answer.off,
            "may_be_refused": not spec.publish_measurements or answer.off is None or 4 * answer.off >= rows,
            "why": answer.why,
        }
        for answer in expected_answers(spec)
    ]


def print_associations(spec: ReleaseSpec, rows: int | None = None) -> None:
    """Print the pairs of columns whose association the rows preserve, and the questions that readers can ask."""
    from synthrelease.studio.rehearsal.measured_tables import askable_in_words

    for line in carried_lines(spec, rows):
        screen.print(line, soft_wrap=line.startswith(" "))
    screen.print(askable_in_words(spec))


def _print_unmeasured(spec: ReleaseSpec) -> None:
    layout, rules = spec.space.common.layout, spec.synthetic.merge(spec.space.common)
    tied = [*(set(mask.columns) for mask in rules.masks), *(set(rule.places.values()) for rule in rules.records)]
    columns = set[int]().union(*(generator.unmeasured(layout, tied) for generator in spec.space.generators))
    if columns:
        screen.print(
            f"No measured table contains {listing(layout.columns[column] for column in sorted(columns))}. All bins of "
            "such a column would have the same probability in the released rows. Name each column in `tables`, or leave it out."
        )


SMALLEST_BIN, PASSED_BY_NOISE = 50, 0.05
"""The number of rows of the smallest bin, and the probability of a false pass, as in Hod & Canetti (2024)."""


def _print_passed_by_noise(spec: ReleaseSpec) -> None:
    """Print the probability that, because of noise, the worst possible ratio of counts (the clip) passes a threshold.

    Nothing is printed if a joint test decides on acceptance.
    """
    from synthrelease.criteria.marginals import RelativeMarginalError

    for criterion in spec.criteria if spec.joint_test is None else ():
        if isinstance(criterion, RelativeMarginalError) and criterion.answered_by is None:
            threshold = criterion.threshold_passed_by_noise(PASSED_BY_NOISE, SMALLEST_BIN)
            screen.print(
                f"{criterion.name}: because of the noise, a ratio of {criterion.clip:g} (the clip) passes the threshold of "
                f"{criterion.threshold:g} with probability {criterion.passed_by_noise(SMALLEST_BIN):.1%}, if the smallest bin "
                f"has {SMALLEST_BIN} rows. With a threshold of {threshold:.3f}, this probability is {PASSED_BY_NOISE:.0%} (Hod "
                "& Canetti 2024, Proposition 6)."
            )


def _print_warnings(spec: ReleaseSpec, rows: int | None) -> None:
    from synthrelease.releasing.attempt_costs import doubts, usual_rows

    criteria_to_reconsider = doubts(spec, rows or usual_rows(spec))
    if criteria_to_reconsider:
        screen.print(f"Reconsider these criteria for {rows or usual_rows(spec):,} rows (no data were read):")
    for name, text in criteria_to_reconsider:
        screen.print(f"  {name}: {text}")


def _document(spec: ReleaseSpec, jobs: int, rows: int | None, shortlist: Path | None) -> dict[str, Any]:
    from synthrelease.published.charges import ChargePart
    from synthrelease.releasing.attempt_costs import attempt_costs, doubts, peak_megabytes, usual_rows
    from synthrelease.settings.card import gaps
    from synthrelease.spec.shortlist import cheaper_plan, known_chances

    total, rule, split = spec.plan.total, spec.selection_rule, spec.options.split
    law = rule.law
    rehearsed = None if shortlist is None else known_chances(spec, shortlist)
    cheaper = None if shortlist is None else cheaper_plan(spec, shortlist)
    return {
        "title": spec.title,
        "total": {"epsilon": float(decimal_text(total.epsilon)), "delta": float(total.delta)},
        "limit": None if spec.budget.limit is None else float(decimal_text(spec.budget.limit)),
        "charges": ChargePart.of(total).model_dump(mode="json"),
        "configurations": len(spec.space),
        "rounds": None if rule.rounds is None else {str(rounds): float(share) for rounds, share in rule.rounds.atoms},
        "split": None if split is None else {"by": split.by, "piece": split.piece, "of": split.of},
        "stop_probability": None if rule.rounds is not None else float(rule.stop_probability),
        "nothing_where_accepted": law and {f"1/{rounds}": chance for rounds, chance in nothing_where(law).items()},
        "rehearsed": None if rehearsed is None else rehearsed.model_dump(mode="json"),
        "cheaper": None if cheaper is None else cheaper.model_dump(mode="json"),
        "refuses": refusals(spec),
        "memory_mb": peak_megabytes(spec, jobs, rows),
        "attempt": {
            "rows": rows or usual_rows(spec),
            "families": [
                {"family": cost.family, "seconds": round(cost.seconds, 1), "memory_mb": cost.megabytes, "grows": cost.grows}
                for cost in attempt_costs(spec, rows)
            ],
        },
        "models": _models(spec, rows or usual_rows(spec)),
        "questions": _intended(spec, rows or usual_rows(spec)),
        "associations": _associations(spec, rows),
        "warnings": [{"criterion": name, "text": text} for name, text in doubts(spec, rows or usual_rows(spec))],
        "card_lacks": list(gaps(spec.card, spec.schema.names)),
    }


def _associations(spec: ReleaseSpec, rows: int | None) -> list[dict[str, object]]:
    """Return, for every pair of columns, the smallest amount of its association that a generator is expected to preserve."""
    from synthrelease.generators.associations import weakest_of
    from synthrelease.releasing.attempt_costs import usual_rows
    from synthrelease.spec.associations import planned_associations

    planned = planned_associations(spec, rows or usual_rows(spec))
    pairs = combinations(planned[0].names, 2)
    return [asdict(weakest_of([associations.of(*pair) for associations in planned])) for pair in pairs]


def check(
    config: Config,
    data: Data | None = None,
    table: TableName | None = None,
    members: Public | None = None,
    unrehearsed: bool = False,
    trust: Names = (),
) -> None:
    """Check a configuration and whether a file fits it. Spends nothing and shows no value of the file.

    Lists columns with values that are not numbers or dates as declared, and columns in which more than one row in ten does
    not fit. With [members], states how many keys of the members' table have no row in the other table, if this is more than
    one in ten. These are exact facts about private data, like the exit code: keep them in the enclave. Do not change a
    bound, bin or category because of them. Use outside = "clip" or "drop", missing = "drop", or a category for missing
    values.

    Exits with code 2 if the file does not fit, if the configuration or the acceptance file changed since the rehearsal (see
    --unrehearsed), or if no table of this number of rows can meet a criterion.

    Parameters
    ----------
    data : Read this file, files or database, and check whether it fits. By default only the configuration is checked.
    """
    from synthrelease.privacy.charges import check_stated
    from synthrelease.releasing.attempt_costs import check_possible
    from synthrelease.sources.source import Source
    from synthrelease.spec.load import load_spec

    fits = True
    source = None if data is None else Source.of(data, table, members)
    spec = load_spec(config, None if data is None else trust)
    spec.check_unit_answered()
    spec.check_can_fail()
    if not unrehearsed:
        print_untried(spec)
    screen.print(
        f"{spec.title}: the specification is valid, with {so_many(len(spec.schema.columns), 'column')}, "
        f"{so_many(len(spec.rules), 'rule')}, {so_many(len(spec.space), 'configuration')}, "
        f"{so_many(len(spec.criteria), 'criterion', 'criteria')}, {loss_text(spec.plan.total)}."
    )
    for line in alike_in_words(spec):
        screen.print(line, style="yellow")
    _print_unmeasured(spec)
    print_associations(spec)
    if source is not None:
        from synthrelease.enclave.ingest import check_fit

        with progress_line() as phase:
            phase("reading the private file")
            rows = check_fit(source, spec.schema, spec.input, spec.raw, spec.unit)
        persons = spec.persons(rows.n_file)
        counted = so_many(rows.n_file, "row")
        if persons is not None:
            counted = f"{so_many(persons, 'person')} (different values of {spec.unit.key!r})"
        if (linked := spec.schema.linked) is not None:
            counted = f"{so_many(rows.n_file, 'key')} of the two tables (different values of {linked.key!r})"
        fits = rows.fits
        but = " except for the texts below" if fits and (rows.unread or rows.many) else ""
        screen.print(f"{source} {'fits' if fits else 'does not fit'} the specification{but}. The file has {counted}. {EXACT}")
        for texts, advice in ((rows.unread, UNREAD), (rows.many, MANY)):
            for text in texts:
                screen.print(text, style="yellow")
            if texts:
                screen.print(advice)
        check_delta(spec.plan.total.delta, rows.n_file)
        check_stated(spec.rows, rows.n_file)
        if spec.options.split is not None:
            from synthrelease.releasing.release import check_numbers

            check_numbers(spec, source)
            screen.print(f"Every row has a different record number in {spec.options.split.by!r}.")
        spec.check_rows(rows.n_file)
        _print_warnings(spec, rows.n_file)
        check_possible(spec, rows.n_file)
    spec.check_limit()
    if not fits:
        raise InputError(
            f"{source} does not fit the specification. The lines above name the columns. Nothing was spent. Do not run "
            "`release` on this file: `release` charges the budget before it reads a row, so the budget would be spent in "
            "vain."
        )
