"""Write, read and verify the folder of a scout. All files in the folder can be computed from scout.json."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path

from pydantic import ValidationError

from synthrelease import __version__
from synthrelease.data.texts import is_executable
from synthrelease.errors import InputError, SynthreleaseError, so_many
from synthrelease.privacy.cap import text_threshold
from synthrelease.published.base import CHECKSUMS, json_bytes, read_checksums, sha256
from synthrelease.published.verify.checks import Check, Report
from synthrelease.scouting.document import NAME, ScoutDocument, lines_of
from synthrelease.scouting.pages import pages


def files_of(document: ScoutDocument) -> dict[str, bytes]:
    """Return the contents of all files that a scout publishes except the checksums, by file name.

    In counts.csv, each string that a spreadsheet would execute as a formula begins with an additional apostrophe.
    """
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["column", "value", "count", "lower", "upper"])
    for name, value, count, noises in lines_of(document):
        margin = document.margin_of(noises)
        lower, upper = max(0, count - margin), min(document.rows, max(0, count + margin))
        shown = [f"'{text}" if is_executable(text) else text for text in (name, value)]
        writer.writerow([*shown, count, min(lower, upper), upper])
    return {
        NAME: json_bytes(document.model_dump(mode="json"), indent=1),
        "counts.csv": text.getvalue().encode("utf-8"),
        **pages(document),
    }


def read_scout(folder: str | Path) -> tuple[ScoutDocument, bytes]:
    """Return scout.json of a scout's folder as a document and as bytes.

    Raises
    ------
    InputError : if the folder has no scout.json, or if `verify_scout` finds a problem in the folder.
    """
    folder = Path(folder)
    if not (folder / NAME).is_file():
        raise InputError(f"{folder}: this is not the folder of a scout, because it has no {NAME}.")
    report = verify_scout(folder)
    problems = [problem for check in report.checks for problem in check.problems]
    if problems:
        raise InputError(
            f"{folder}: this scout does not pass `synthrelease verify`. {problems[0].rstrip('.')}. Use an unchanged copy."
        )
    content = (folder / NAME).read_bytes()
    return _read(content), content


def _read(content: bytes) -> ScoutDocument:
    try:
        return ScoutDocument.model_validate_json(content)
    except ValidationError as error:
        first = error.errors()[0]
        problem = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
        raise InputError(f"{NAME}: this file is not the document of a scout ({problem}).") from None


def verify_scout(folder: Path) -> Report:
    """Verify the folder of a scout, without private data, and return a report.

    The checks cover the checksums, the cap, the thresholds for texts, the cells of the tables, and all files that follow
    from scout.json.
    """
    files = {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}
    checks, document = [_checksums(files)], None
    try:
        document = _read(files.get(NAME, b""))
        checks.append(Check(name=NAME, found=f"{so_many(len(document.columns), 'column')}, {document.rows:,} rows"))
        checks.append(Check(name="cap", found=_cap_words(document), problems=tuple(_cap_problems(document))))
        other = document.written_by != __version__
        wrong = tuple(_table_problems(document, other))
        checks.append(Check(name="tables", found="cells that follow the codebook", problems=wrong))
        again = files_of(document)
        compared = [name for name in again if not other or name in (NAME, "counts.csv") or name not in files]
        wrong = tuple(
            f"{name}: the file differs from the contents of {NAME}" for name in compared if files.get(name) != again[name]
        )
        wrong += tuple(
            f"{name}: the folder of a scout has no file with this name" for name in files if name not in (*again, CHECKSUMS)
        )
        writer = f"Written by another version, synthrelease {document.written_by}; pages not compared."
        found = f"{len(compared)} of {len(again)} files agree with {NAME}"
        checks.append(Check(name="documents", found=found, problems=wrong, limits=(writer,) if other else ()))
    except (SynthreleaseError, ValueError, KeyError, IndexError, ArithmeticError) as error:
        checks.append(Check(name=NAME, problems=(f"{error}",)))
    beyond = (
        "that the noise was drawn correctly, and that the counts come from the private file",
        "that the scout was charged to the ledger before the file was read: `synthrelease ledger show`",
    )
    return Report(checks=tuple(checks), signed_by=None, beyond=beyond)


def _checksums(files: Mapping[str, bytes]) -> Check:
    listed = read_checksums(files.get(CHECKSUMS, b"x"))
    actual = {name: sha256(content) for name, content in files.items() if name != CHECKSUMS}
    problems = () if listed == actual else (f"{CHECKSUMS}: the listed checksums are not the checksums of the files",)
    return Check(name="checksums", found=f"{len(actual)} files as listed", problems=problems)


def _cap_words(document: ScoutDocument) -> str:
    cap = document.cap
    return f"epsilon {float(cap.alone):.6g} by itself, {float(cap.epsilon):g} with the release, delta {float(cap.delta):g}"


def _cap_problems(document: ScoutDocument) -> Iterator[str]:
    texts = sum(part.kind == "texts" for part in document.columns)
    if Fraction(document.rare_exact) != (texts * text_threshold(document.cost_per_table)[1] if texts else 0):
        yield "cap: the stated probability does not follow from the thresholds of texts"
    if not 0 < Fraction(document.tables_exact) < document.cap.cost:
        yield "cap: the cost of the tables must be above 0 and below the whole cost, because the dependence costs a part"
    if texts and document.cap.pure:
        yield "columns: if delta is 0, texts without a list of codes are not allowed, but a column has them"


def _table_problems(document: ScoutDocument, other: bool) -> Iterator[str]:
    """Yield the problems in the noisy tables of a scout, such as cells that do not follow from the first table.

    `other` states whether another version of the program, which may choose other cells, wrote the scout.
    """
    least = 0 if document.cap.pure else text_threshold(document.cost_per_table)[0]
    figure, number = document.dependence, len(document.columns)
    if len({part.name for part in document.columns}) < number:
        yield "columns: two columns have the same name"
    if figure.rows > document.rows or figure.one != figure.rows**2 * number * (number - 1):
        yield "dependence: the number of steps does not follow from the columns and rows"
    for part in document.columns:
        column, name = part.column, part.name
        if column.kind == "number":
            edges = part.lower_limits
            chosen = sorted({*edges} & {*column.atoms}) if other else column.second_look(part.first, document.noise_sd)
            if edges != tuple(chosen):
                yield f"{name}: the cells of the second table do not follow from the first table"
            if len(part.first) != len(column.cells) + 2 or len(part.second) != len(edges) + 2 or part.counts:
                yield f"{name}: there must be two tables, with {len(column.cells) + 2} and {len(edges) + 2} counts"
        elif column.kind == "listed":
            if list(part.counts) != [*column.codes, ""] or part.other is None or part.first or part.second:
                yield f"{name}: the counts must be those of each code, of missing values and of other texts"
        elif "" not in part.counts or part.other is not None or any(n < least for text, n in part.counts.items() if text):
            yield f"{name}: the counts must be those of missing values, and of texts with at least {least} rows"
