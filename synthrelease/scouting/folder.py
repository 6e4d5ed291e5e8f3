"""Write, read and verify the folder of a scout. Every file of the folder is a function of scout.json."""

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
    """Return the contents of all files of the folder except the checksums, by file name.

    In counts.csv, an apostrophe precedes a text that a spreadsheet would execute as a formula.
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
    """Return the document of a scout's folder, and the bytes of scout.json.

    Raises
    ------
    InputError : when the folder has no scout.json, or when `verify_scout` finds a problem in it.
    """
    folder = Path(folder)
    if not (folder / NAME).is_file():
        raise InputError(f"{folder}: expected the folder of a scout, found no {NAME} in it.")
    report = verify_scout(folder)
    problems = [problem for check in report.checks for problem in check.problems]
    if problems:
        raise InputError(f"{folder}: expected a scout that passes `synthrelease verify`, found: {problems[0]}")
    content = (folder / NAME).read_bytes()
    return _read(content), content


def _read(content: bytes) -> ScoutDocument:
    try:
        return ScoutDocument.model_validate_json(content)
    except ValidationError as error:
        first = error.errors()[0]
        problem = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
        raise InputError(f"{NAME}: expected the document of a scout, found other content ({problem}).") from None


def verify_scout(folder: Path) -> Report:
    """Verify a scout's folder without private data and return the report.

    The checks cover the checksums, the cap, the thresholds of texts and the cells of tables. All other files are computed from
    scout.json again and compared.
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
        wrong += tuple(f"{name}: expected no further file, found this one" for name in files if name not in (*again, CHECKSUMS))
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
    problems = () if listed == actual else (f"{CHECKSUMS}: expected the checksums of the files, found other checksums",)
    return Check(name="checksums", found=f"{len(actual)} files as listed", problems=problems)


def _cap_words(document: ScoutDocument) -> str:
    cap = document.cap
    return f"epsilon {float(cap.alone):.6g} by itself, {float(cap.epsilon):g} with the release, delta {float(cap.delta):g}"


def _cap_problems(document: ScoutDocument) -> Iterator[str]:
    texts = sum(part.kind == "texts" for part in document.columns)
    if Fraction(document.rare_exact) != (texts * text_threshold(document.share)[1] if texts else 0):
        yield "cap: expected the probability that follows from the thresholds of texts, found another probability"
    if not 0 < Fraction(document.tables_exact) < document.cap.cost:
        yield "cap: expected a part of the cost for tables and a part for the dependence, found another division"
    if texts and document.cap.pure:
        yield "columns: with a delta of 0, expected only codes or numbers, found texts without a list of codes"


def _table_problems(document: ScoutDocument, other: bool) -> Iterator[str]:
    """Yield the problems in the tables. The cells need not be the cells that this version would choose."""
    least = 0 if document.cap.pure else text_threshold(document.share)[0]
    figure, number = document.dependence, len(document.columns)
    if len({part.name for part in document.columns}) < number:
        yield "columns: expected different names, found a name twice"
    if figure.rows > document.rows or figure.one != figure.rows**2 * number * (number - 1):
        yield "dependence: expected the number of steps that follows from the columns and rows, found another number"
    for part in document.columns:
        column, wanted = part.column, f"{part.name}: expected"
        if column.kind == "number":
            edges = part.lower_limits
            chosen = sorted({*edges} & {*column.atoms}) if other else column.second_look(part.first, document.deviation)
            if edges != tuple(chosen):
                yield f"{wanted} the cells that follow from its first table, found other cells"
            if len(part.first) != len(column.cells) + 2 or len(part.second) != len(edges) + 2 or part.counts:
                yield f"{wanted} tables of {len(column.cells) + 2} and {len(edges) + 2} counts, found other tables"
        elif column.kind == "listed":
            if list(part.counts) != [*column.codes, ""] or part.other is None or part.first or part.second:
                yield f"{wanted} a count of each code, of missing values and of other texts, found other counts"
        elif "" not in part.counts or part.other is not None or any(n < least for text, n in part.counts.items() if text):
            yield f"{wanted} a count of missing values and counts of texts of at least {least} rows, found other counts"
