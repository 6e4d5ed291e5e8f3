"""Limits for the file: the figure's limit plus what the drawing of the rows adds, each with its part of the risk."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pytest

from synthrelease.answers.limits import RISK
from synthrelease.bundle.card.page import page_bytes
from synthrelease.bundle.card.sections import drawn_text
from synthrelease.bundle.document import release_document
from synthrelease.bundle.limits import drawing_behind, error_band, file_end, public_facts, with_file_ends
from synthrelease.bundle.verify import verify_files
from synthrelease.generators.drawing import Drawing
from synthrelease.privacy.charges import NUMBER_OF_ROWS, SHORTFALL, RowsRule
from synthrelease.privacy.subsets import PartitionRule
from synthrelease.published.charges import CriterionPart
from synthrelease.published.document import ReleaseDocument, read_strictly
from synthrelease.published.options import PartitionPart
from synthrelease.published.table import ReleasedTable
from tests.helpers.cards import rich_bundle, rich_release
from tests.helpers.forgeries import of_version, written_anew

COUNTED = Fraction(1, 20)
TABLE = ReleasedTable.of(rich_release().candidate)


def with_rows(way: str, file_rows: int | None) -> ReleaseDocument:
    """The release, with its rows from a file of so many."""
    document = release_document(rich_release(), {})
    changed: dict[str, object] = {"way": way, "file_rows": file_rows}
    charges = document.charges
    if way == "counted":
        rule = RowsRule(way="counted", epsilon=COUNTED)
        changed |= {"margin": rule.margin, "shortfall": str(SHORTFALL)}
        counting = charges.model_copy(update={"name": NUMBER_OF_ROWS, "epsilon_exact": str(COUNTED), "parts": []})
        charges = charges.model_copy(update={"parts": [*charges.parts, counting]})
    domain = document.domain.model_copy(update=changed)
    return with_file_ends(document.model_copy(update={"domain": domain, "charges": charges}), TABLE.counts)


def first(document: ReleaseDocument) -> CriterionPart:
    return document.criteria[0]


def test_where_all_rows_were_used_the_limit_of_the_figure_is_that_of_the_file() -> None:
    for document in (with_rows("whole", document_rows()), with_rows("exact", None)):
        interval = first(document).interval
        assert interval is not None
        assert interval.file_high is None
        assert error_band(document) == error_band(document, 1) == interval.high
        assert drawn_text(document) == ""
        assert b"limit for the file" not in page_bytes(document, TABLE, "en")


def document_rows() -> int:
    return release_document(rich_release(), {}).n_rows


def test_of_stated_rows_the_whole_rest_of_the_file_may_have_been_kept() -> None:
    document = with_rows("stated", 10 * document_rows())
    interval = first(document).interval
    assert interval is not None
    assert interval.high is not None
    n = document_rows()
    band = error_band(document, 1)
    assert band is not None
    one_column = Drawing(n=n, most=10 * n, risk=0.025).of_shares(1 + 4)  # of two bins one
    assert band == pytest.approx(float(interval.high) + one_column)
    every_table = Drawing(n=n, most=10 * n, risk=0.025).of_shares(1 + 4 + 2 * 4)
    assert interval.file_high == pytest.approx(float(interval.high) + every_table)
    assert error_band(document) == interval.file_high
    assert "according to the publisher at least 400" in drawn_text(document)


def test_the_card_says_the_limit_that_release_json_states() -> None:
    """`verify` computes limits again; a card has the stated one, so that the two never say different numbers."""
    document = with_rows("stated", 10 * document_rows())
    criterion = first(document)
    assert criterion.interval is not None
    stated = criterion.interval.model_copy(update={"file_high": 0.8765})
    criteria = [criterion.model_copy(update={"interval": stated}), *document.criteria[1:]]
    page = page_bytes(document.model_copy(update={"criteria": criteria}), TABLE, "en").decode()
    assert "at most 0.8765" in page


def test_the_parts_of_the_risk_add_up() -> None:
    """Half of 5% to the figure's upper end, 0.1% to public rows that fill up, a fiftieth of the rest to the noise of K."""
    document = with_rows("counted", 10 * document_rows())
    drawing = drawing_behind(first(document), document)
    assert drawing is not None
    spare = 0.025 - 0.001
    assert drawing.risk == pytest.approx(spare * (1 - RISK))
    decay = math.exp(-float(COUNTED))
    more = drawing.most - drawing.n - (document.domain.margin or 0)
    tail = [decay ** (t + 1) / (1 + decay) for t in (more, more - 1)]  # of -Z beyond t
    assert tail[0] <= RISK * spare < tail[1]


def test_a_drawing_among_several_bins_divides_its_risk() -> None:
    document = with_rows("stated", 10 * document_rows())
    selection = document.selection.model_copy(update={"configurations": 6})
    columns = [column.model_copy(update={"alternatives": ["single", "pairs", "all"]}) for column in document.columns]
    several = document.model_copy(update={"selection": selection, "columns": columns})
    assert (error_band(several) or 0) > (error_band(document) or 0)
    assert drawing_behind(first(several), several).ways == {"face": 3, "year": 3}  # type: ignore[union-attr]


def test_a_changed_copy_has_public_facts_of_its_own() -> None:
    document = with_rows("stated", 10 * document_rows())
    assert (public_facts(document).n, set(public_facts(document).criteria)) == (document.n_rows, names_of(document))
    changed = document.model_copy(update={"n_rows": document.n_rows + 1, "criteria": document.criteria[1:]})
    facts = public_facts(changed, TABLE.counts)
    assert (facts.n, facts.counts) == (document.n_rows + 1, TABLE.counts)
    assert set(facts.criteria) == names_of(changed) != names_of(document)
    assert public_facts(document).counts is None


def names_of(document: ReleaseDocument) -> set[str]:
    return {part.name for part in document.criteria if part.criterion() is not None}


def test_a_figure_that_uses_the_risk_up_says_nothing_of_the_file() -> None:
    document = with_rows("stated", 10 * document_rows())
    interval = first(document).interval
    assert interval is not None
    answered = first(document).model_copy(update={"interval": interval.model_copy(update={"how": "measurements"})})
    for risk, told in (("1/100", True), ("1/20", False), ("1/2", False)):
        bounds = {"risk_exact": risk, "transformations": 1}
        selection = type(document.selection).model_validate({**document.selection.model_dump(), "bounds": bounds})
        found = document.model_copy(update={"selection": selection, "criteria": [answered, *document.criteria[1:]]})
        assert (file_end(answered, found, public_facts(found, TABLE.counts)) is not None) is told
        assert (error_band(found) is not None) is told


def test_a_figure_about_a_piece_says_nothing_of_the_file() -> None:
    document = with_rows("stated", 10 * document_rows())
    piece = document.model_copy(update={"partition": PartitionPart.of(PartitionRule(fit=Fraction(1, 2)), 800)})
    assert piece.figures_about
    assert drawing_behind(first(piece), piece) is None
    assert error_band(piece) is None


def test_verify_computes_limits_for_the_file_again_and_takes_documents_of_1_0_0_without_them() -> None:
    files = dict(rich_bundle())
    document = read_strictly(files["release.json"])
    assert first(document).interval.file_high  # type: ignore[union-attr]

    def problems(changed: float | None) -> list[str]:
        interval = first(document).interval.model_copy(update={"file_high": changed})  # type: ignore[union-attr]
        part = first(document).model_copy(update={"interval": interval})
        edited = document.model_copy(update={"criteria": [part, *document.criteria[1:]]})
        report = verify_files({**files, "release.json": edited.dumped()}, documents=False)
        return [problem for check in report.checks if check.name == "criterion values" for problem in check.problems]

    (problem,) = problems(None)
    assert "release.json states no limit for the file, but the value and the random draw of rows give the limit" in problem
    (problem,) = problems(first(document).interval.high)  # type: ignore[union-attr,arg-type]
    assert "release.json states the limit" in problem
    tables = json.loads(of_version(files, "1.0.0")["release.json"])
    for part in tables["criteria"]:
        part["interval"].pop("file_high", None)
    report = verify_files(written_anew(files, tables))
    assert report.passed
    assert "The criterion values have no limits for the file, because version 1.0.0 did not write them." in report.closing


@pytest.mark.parametrize("ones", [100, 900, 1900])
def test_the_band_holds_for_files_and_not_the_limit_of_the_drawn_rows(ones: int) -> None:
    """400 of 4,000 rows: the share of the drawn rows is released as it is, so a figure says that it is off by nothing."""
    random, n, rows = np.random.default_rng(1), 400, 4000
    limit = Drawing(n=n, most=rows, risk=0.025).of_shares(1)
    shares = random.hypergeometric(ones, rows - ones, n, 1000) / n
    off = np.abs(shares - ones / rows)
    assert (off <= limit).mean() >= 0.975
    assert (off > 0.001).mean() > 0.8
