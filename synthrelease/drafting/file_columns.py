"""Every column of a public file as a draft has it, or the reason why it is left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from synthrelease.drafting.areas import AreasDraft, areas_asked, nested_columns
from synthrelease.drafting.codebook import CodebookEntry, no_answers
from synthrelease.drafting.codelists import one_to_one
from synthrelease.drafting.column_draft import Answers, ColumnDraft, LeftOut
from synthrelease.drafting.columns import draft_column
from synthrelease.drafting.dates import DateColumn, date_column, date_format, draft_dates
from synthrelease.drafting.gaps import with_bins_for_gaps
from synthrelease.drafting.public_file import PublicFile
from synthrelease.drafting.rows import every_row, public_rows
from synthrelease.drafting.together import Order, orders
from synthrelease.drafting.typing_errors import without_typing_errors
from synthrelease.settings.columns import InputTable


def drafted_columns(
    file: PublicFile, book: Mapping[str, CodebookEntry], key: str | None = None, as_key: str = ""
) -> tuple[list[ColumnDraft], list[LeftOut], list[str]]:
    """Every column of the file, in its order, without that of the key, left out because `as_key`; and which hold dates."""
    read = {
        source: without_typing_errors(answers_of(file, source, texts, book.get(source, CodebookEntry())))
        for source, texts in file.columns.items()
        if source != key
    }
    answers = {source: found for source, (found, _) in read.items()}
    mistyped = {source: asked for source, (_, asked) in read.items()}
    dated = draft_dates(_date_columns(file, answers), [])
    rows = public_rows(file, answers)
    once = one_to_one({source: found for source, found in answers.items() if source not in dated}, rows, file)
    order = orders(once.answers, rows)
    columns: list[ColumnDraft] = []
    drafts = dict[str, ColumnDraft | LeftOut]()
    left_out = [
        LeftOut(source=source, because=f"it cannot be read ({because.partition(': ')[2].rstrip('.')})")
        for source, because in file.unreadable.items()
    ]
    left_out += [LeftOut(source="", because="it has no name in the header")] * file.unnamed
    left_out += file.not_wanted
    left_out += [LeftOut(source=key, because=as_key)] if key is not None else []
    left_out += once.left_out
    for source in (source for source in answers if source in dated or source in once.answers):
        taken = [column.name for column in columns]
        own = order.get(source, Order())
        drafted = dated[source] if source in dated else draft_column(once.answers[source], taken, own)
        if not isinstance(drafted, list):
            drafts[source] = drafted
        if isinstance(drafted, LeftOut):
            left_out.append(drafted)
        else:
            columns += drafted if isinstance(drafted, list) else [drafted]
    nested = nested_columns(once.answers, drafts, rows)
    columns = [replace(column, doubt=_questions(column, mistyped, once.doubts, nested)) for column in columns]
    return with_bins_for_gaps(columns, rows), left_out, list(dated)


def _questions(column: ColumnDraft, *others: Mapping[str, str]) -> str:
    """What the steward is asked about a column."""
    return "; ".join(filter(None, [column.doubt, *(questions.get(column.source, "") for questions in others)]))


def answers_of(file: PublicFile, source: str, texts: Mapping[str | None, int], entry: CodebookEntry) -> Answers:
    """The answers of a column, by its texts without surrounding blanks."""
    notes, standard = file.notes.get(source), InputTable().missing_values
    present, empty = Counter[str](), 0
    for text, times in texts.items():
        if text is None or text.strip() in standard:
            empty += times
        else:
            present[text.strip()] += times
    if notes:
        labels = dict(notes.value_labels)
        declared = frozenset(text for text in {**present, **labels} if notes.means_missing(text))
        entry = entry.or_else(CodebookEntry(description=notes.label, labels=labels, missing=declared | no_answers(labels)))
    return Answers.of(source, present, empty, entry)


def _date_columns(file: PublicFile, answers: Mapping[str, Answers]) -> list[DateColumn]:
    """The columns of dates, row by row: only they need a second look at the file."""
    dated = [source for source, found in answers.items() if date_format(found.texts) and not found.entry.number]
    columns = [date_column(answers[source], *found) for source, found in every_row(file, dated).items()]
    return [column for column in columns if column is not None]


def with_areas(
    asked: str, file: PublicFile, book: Mapping[str, CodebookEntry], columns: Sequence[ColumnDraft], left_out: Sequence[LeftOut]
) -> tuple[AreasDraft, list[ColumnDraft], list[LeftOut]]:
    """The draft of the areas, and the other columns, which are drafted first."""
    *larger, smallest = areas_asked(asked, file)
    others = [replace(each, doubt="") if each.source in larger else each for each in columns if each.source != smallest]
    texts = answers_of(file, smallest, file.columns[smallest], book.get(smallest, CodebookEntry()))
    gone = [each for each in left_out if each.source != smallest]
    return AreasDraft.of(asked, file, texts, others), others, gone
