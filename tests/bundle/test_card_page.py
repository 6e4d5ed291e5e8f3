"""The card as a page: complete, accessible, self-contained, and true to release.json."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from synthrelease.bundle.card import page as context
from synthrelease.bundle.card import sentences
from synthrelease.bundle.card.numbers import rounded_up
from synthrelease.bundle.card.page import markdown_bytes, page_bytes
from synthrelease.bundle.card.sections import bin_text, measured_alone, parameter_texts, projection_text, value_text
from synthrelease.bundle.document import release_document
from synthrelease.bundle.pictures import BLUE, GREEN, INK, MUTED, PAPER, RED, SOFT
from synthrelease.bundle.sheets import sign_files
from synthrelease.bundle.write import written
from synthrelease.published.base import sha256
from synthrelease.published.charges import JointTestPart
from synthrelease.published.columns import ColumnPart
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.measurements import EstimatesPart
from synthrelease.published.table import ReleasedTable, read_csv
from synthrelease.settings.card import LANGUAGES, CardTable
from synthrelease.settings.tables import NotPromisedTable
from tests.helpers.cards import TITLE, Page, rich_bundle, rich_release

PAGES = ("README.html", "README.he.html")


def page(name: str = "README.html") -> Page:
    return Page(rich_bundle()[name])


def document() -> dict:
    return json.loads(rich_bundle()["release.json"])


@pytest.mark.parametrize("name", PAGES)
def test_headings_come_in_order(name: str) -> None:
    levels = [int(tag[1]) for tag, _ in page(name).elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(below <= above + 1 for above, below in zip(levels, levels[1:], strict=False))


@pytest.mark.parametrize(("name", "language", "direction"), [("README.html", "en", "ltr"), ("README.he.html", "he", "rtl")])
def test_a_page_says_its_language_and_direction(name: str, language: str, direction: str) -> None:
    found = page(name)
    assert found.all("html") == [{"lang": language, "dir": direction}]
    english = [attributes for tag, attributes in found.elements if tag in ("section", "footer") and attributes.get("lang")]
    assert {(one["lang"], one["dir"]) for one in english} == ({("en", "ltr")} if language == "en" else set())


@pytest.mark.parametrize("name", PAGES)
def test_every_picture_has_a_title_and_a_description_and_ids_are_unique(name: str) -> None:
    found = page(name)
    ids = found.ids()
    assert len(ids) == len(set(ids))
    pictures = found.all("svg")
    assert pictures
    for picture in pictures:
        assert picture["role"] == "img"
        assert set((picture["aria-labelledby"] or "").split()) <= set(ids)
    assert all(found.texts_of("title", "desc"))
    assert len(found.texts_of("desc")) == len(pictures)


@pytest.mark.parametrize("name", PAGES)
def test_every_link_within_the_page_leads_somewhere(name: str) -> None:
    found = page(name)
    inside = [str(link["href"])[1:] for link in found.all("a") if str(link["href"]).startswith("#")]
    assert len(inside) >= 8
    assert set(inside) <= set(found.ids())
    others = {str(link["href"]).partition("#")[0] for link in found.all("a") if not str(link["href"]).startswith("#")}
    local = {name for name in others if ":" not in name}
    assert local <= set(rich_bundle())


@pytest.mark.parametrize("name", PAGES)
def test_a_page_needs_no_other_file_and_no_network(name: str) -> None:
    found = page(name)
    assert not {tag for tag, _ in found.elements} & {"link", "iframe", "img", "object", "embed", "base", "form"}
    assert [each.get("type") for each in found.all("script")] == ["application/ld+json"] * (name == "README.html")
    attributes = {key for _, each in found.elements for key in each}
    assert not {key for key in attributes if key in ("src", "srcset", "style", "background") or key.startswith("on")}
    assert not re.search(r"url\(|@import|expression", found.text("style"))
    assert {str(link["href"]).partition(":")[0] for link in found.all("a") if ":" in str(link["href"])} <= {"https", "mailto"}


def test_tables_have_header_cells_and_what_scrolls_can_be_reached_by_keyboard() -> None:
    found = page()
    assert all(cell.get("scope") in ("row", "col") for cell in found.all("th"))
    regions = [one for one in found.all("div") if one.get("class") == "scroll"]
    assert len(regions) == len(found.all("table"))
    assert all(one.get("tabindex") == "0" and one.get("role") == "region" and one.get("aria-label") for one in regions)


def luminance(colour: str) -> float:
    """Relative luminance by the Web Content Accessibility Guidelines 2.2."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(left: str, right: str) -> float:
    light, dark = sorted((luminance(left), luminance(right)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


WARNING = "#fff4d6"
"""Of the style alone."""
TEXT_ON = {
    (INK, PAPER), (INK, SOFT), (INK, WARNING), (MUTED, PAPER), (MUTED, SOFT), (BLUE, PAPER), (RED, PAPER), (GREEN, PAPER),
    (PAPER, BLUE), (BLUE, SOFT),
}  # fmt: skip
"""Every pair of text and background that the card and the report use."""


def test_contrast_is_one_for_equal_colours_and_21_for_black_on_white() -> None:
    assert contrast("#777777", "#777777") == 1
    assert contrast("#000000", "#ffffff") == pytest.approx(21)


@pytest.mark.parametrize(("text", "background"), sorted(TEXT_ON))
def test_every_text_stands_out_from_its_background(text: str, background: str) -> None:
    assert contrast(text, background) >= 4.5


def test_no_text_of_a_picture_or_of_the_style_has_another_colour() -> None:
    found = page()
    allowed = {text for text, _ in TEXT_ON}
    assert {str(one["fill"]) for one in found.all("text")} <= allowed
    style = found.text("style")
    names = dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", style))
    rules = re.findall(r"\{([^{}]*)\}", style)
    used = set()
    for rule in rules:
        colour = re.search(r"(?<![-\w])color: var\(--([a-z-]+)\)", rule)
        background = re.search(r"background: var\(--([a-z-]+)\)", rule)
        if colour:
            used.add((names[colour[1]], names[background[1]] if background else "#ffffff"))
    assert used <= TEXT_ON
    assert len(used) >= 5
    assert not re.search(r"(?<![-\w])color: (?!var\(--|inherit)", style.replace("color: light", ""))


def test_texts_are_shown_as_they_were_written_whatever_signs_they_hold() -> None:
    found = page()
    assert found.texts_of("h1") == [TITLE]
    assert found.text("title") == f"{TITLE} (synthetic data)"
    assert not found.all("b", "i")
    assert "Mint <i>& Sons</i>" in found.texts_of("dd")
    assert "Year <of> minting (year)" in found.texts_of("h4")
    assert [text for text in found.texts_of("p") if text in ("A coin was tossed and looked at.", "By two people.")] == [
        "A coin was tossed and looked at.",
        "By two people.",
    ]


def test_every_text_of_the_publisher_is_on_the_page() -> None:
    body = " ".join(page().text("body").split())
    for text in ("To teach.", "Lessons.", "Bets.", "Nobody was asked.", "By hand.", "None at all.", "A locked drawer.", "2.1",
                 "2026-03-04", "Creative Commons Attribution 4.0", "Write to us.", "no such coins"):  # fmt: skip
        assert text in body
    hebrew = " ".join(page("README.he.html").text("body").split())
    for text in ("מטבעות", "הטלות מטבע.", "שיעורים.", "איש לא נשאל.", "כתבו לנו.", "mint@example.org", "46.7"):
        assert text in hebrew
    assert "Not stated" not in body
    assert sentences("he")["not_stated"] not in hebrew


def criteria_rows(found: Page) -> list[dict[str, str]]:
    """The rows of the table of criteria by their headings."""
    heading, *rows = [row for row in found.rows() if len(row) == 12]
    return [dict(zip(heading, row, strict=True)) for row in rows]


def test_every_criterion_stands_in_the_table_with_its_figures() -> None:
    """All columns of Table 2 of Hod & Canetti (2024): type, threshold, result, epsilon, mechanism, range, Delta, sigma."""
    by_name = {row["criterion"]: row for row in criteria_rows(page())}
    for one in document()["criteria"]:
        row = by_name[one["name"]]
        assert row["type"] == one["kind"].replace("_", " ")
        assert float(row["threshold"].split(" (")[0].replace(",", "")) == pytest.approx(one["threshold"], rel=1e-3)
        assert float(row["released value"].replace(",", "")) == pytest.approx(one["value"], rel=1e-3, abs=1e-12)
        assert row["mechanism"] == one["mechanism"].partition(":")[0]
        low, high = one["parameters"].get("range", (one["best"], one["worst"]))
        ends = row["range"].replace(",", "").replace("or more", "").split(" to ")
        assert [float(end) for end in ends] == pytest.approx([low] if high is None else [low, high], rel=1e-3)
        if one["noise_sd"] is None:
            assert (row["noise sd"], row["sensitivity"]) == ("none", "none")
        else:
            assert float(row["noise sd"]) == pytest.approx(one["noise_sd"], rel=1e-2)
        if one["sensitivity"] is not None:
            assert float(row["sensitivity"]) == pytest.approx(one["sensitivity"], rel=1e-3)
        if one["interval"]["how"] == "exact":
            assert row["interval"] == "exact"
        else:
            low, high = row["interval"].split(" to ")
            assert float(low) == pytest.approx(one["interval"]["low"], rel=1e-3, abs=1e-12)
            assert float(high) == pytest.approx(one["interval"]["high"], rel=1e-3)
        limit = one["interval"].get("file_high")
        assert row["limit for the file"] == ("not known" if limit is None else f"at most {rounded_up(limit, 4)}")
        assert row["met"] == "yes"
    assert by_name["pairs"]["epsilon"] == "0.3333333334"  # a third, rounded up


def test_every_bin_stands_in_the_table_with_its_rows() -> None:
    table = ReleasedTable.of(rich_release().candidate)
    found = [row for row in page().rows() if len(row) == 5 and row[0] in ("head", "tail", "1-2", "3-4", "5-6", "7-8")]
    counts = [*table.margins[0].tolist(), *table.margins[1].tolist()]
    assert [int(row[3]) for row in found] == counts
    assert [float(row[4].rstrip("%")) for row in found] == [pytest.approx(count / 4, abs=0.005) for count in counts]
    assert [row[1] for row in found[2:]] == ["1 to 2", "3 to 4", "5 to 6", "7 to 8"]


def test_of_very_many_bins_those_with_the_most_rows_are_listed_and_the_others_are_said_to_be_elsewhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(context, "MOST_BARS", 3)
    monkeypatch.setattr(context, "FEW_BARS", 2)
    table = ReleasedTable.of(rich_release().candidate)
    read = ReleaseDocument.model_validate_json(rich_bundle()["release.json"])
    counts, labels = table.margins[1].tolist(), table.labels[1]
    most = sorted(counts, reverse=True)[:2]
    for page in (page_bytes(read, table, "en"), markdown_bytes(read, table)):
        (told,) = [
            line
            for line in page.decode().splitlines()
            if "The table above lists only the 2 bins with the most rows. They have " in line
        ]
        stated = float(re.findall(r"have ([\d.]+)% of all rows", told)[0])
        assert stated == pytest.approx(100 * sum(most) / sum(counts), abs=0.01)
    found = [row for row in Page(page_bytes(read, table, "en")).rows() if len(row) == 5 and row[0] in labels]
    assert len(found) == 2
    assert sorted((int(row[3]) for row in found), reverse=True) == most
    assert [labels.index(row[0]) for row in found] == sorted(
        labels.index(row[0]) for row in found
    )  # in the order of the column


@pytest.mark.parametrize(("codes", "end"), [(40, "I39"), (41, "I19 and 21 more (see release.json)")])
def test_of_a_bin_of_hundreds_of_codes_the_first_ones_and_their_number_are_listed(codes: int, end: str) -> None:
    names = [f"I{code:02d}" for code in range(codes)]
    column = json.loads(rich_bundle()["release.json"])["schema"][0] | {
        "kind": "category",
        "bounds": None,
        "missing": "drop",
        "outside": "drop",
        "texts": {name: [name] for name in names},
        "bins": [{"label": "Circulation", "categories": names}],
    }
    text = bin_text(ColumnPart.model_validate(column), 0)
    assert text.startswith("I00, I01, ")
    assert text.endswith(end)
    assert text.count(", I") == (39 if codes == 40 else 19)


def test_years_have_no_comma_and_other_numbers_do() -> None:
    column = ColumnPart.model_validate(json.loads(rich_bundle()["release.json"])["schema"][1])
    bins = [{"label": "a", "below": 1960}, {"label": "b", "lower": 1960, "below": 1970}, {"label": "c", "lower": 1970}]

    def texts(**changed: object) -> list[str]:
        found = ColumnPart.model_validate(column.model_dump() | {"bins": bins} | changed)
        return [*(bin_text(found, place) for place in range(3)), value_text(found, 1964.5, 10)]

    years = ["up to 1959", "1960 to 1969", "1970 or more", "1964.5"]
    assert texts(part="year", bounds=[1, 9999]) == years
    assert texts(part=None, bounds=[1950, 2004]) == years
    assert texts(part=None, bounds=[500, 5000]) == ["up to 1,959", "1,960 to 1,969", "1,970 or more", "1,964.5"]


def test_the_charge_tree_stands_in_the_table_from_the_root_to_every_leaf() -> None:
    rows = [row for row in page().rows() if len(row) == 4 and row[2] in ("mechanism", "sum", "private selection: 2 x")]

    def nodes(node: dict, depth: int = 0) -> list[tuple[str, str]]:
        inside = [pair for part in node.get("parts", []) for pair in nodes(part, depth + 1)]
        return [("· " * depth + node["name"], node["rule"]), *inside]

    assert [(row[0], row[2]) for row in rows] == nodes(document()["charges"])
    assert rows[0][1] == "46.6666666667"


def test_the_statement_has_the_five_building_blocks() -> None:
    found = page()
    terms = found.texts_of("dt")
    for block in ("Domain", "Scope (what is published exactly)", "Unit", "Privacy definition", "Intensity"):
        assert block in terms
    assert any("Pure differential privacy" in text for text in found.texts_of("dd"))


def with_card(card: CardTable) -> ReleaseDocument:
    release = rich_release()
    spec = replace(release.spec, card=card)
    return release_document(replace(release, spec=spec), {"data.csv": "0" * 64})


def test_what_the_publisher_has_not_stated_is_said_to_be_missing() -> None:
    found = with_card(CardTable())
    text = Page(page_bytes(found, ReleasedTable.of(rich_release().candidate), "en")).text("body")
    assert text.count("Not stated by the publisher.") >= 10
    assert "Coins" in text


def hebrew_leaves() -> list[str]:
    """The innermost elements with text of the part for data users and of the foot, in Hebrew."""
    html = rich_bundle()["README.he.html"].decode()
    return [match[3] for match in context._LEAF.finditer(html[html.index('id="technical"') :])]


def test_a_card_in_hebrew_has_its_whole_technical_part() -> None:
    """As many headings, tables and rows as in English; what nobody translated is marked as English."""
    english, hebrew = page(), page("README.he.html")
    for tag in ("h3", "h4", "th", "td", "dt", "dd", "svg"):
        assert len(hebrew.all(tag)) == len(english.all(tag))
    headings = [heading for heading in hebrew.texts_of("h2", "h3") if re.search("[A-Za-z]{2}", heading)]
    assert headings == []
    loose = [re.sub(r"<(bdi|code|span)\b[^>]*>.*?</\1>|<[^>]+>|&\w+;", "", leaf) for leaf in hebrew_leaves()]
    assert [text for text in loose if re.search("[A-Za-z]{2}", text) and not re.search("[א-ת]", text)] == []


def test_most_sentences_of_the_technical_part_are_in_hebrew() -> None:
    """Whoever changes a sentence and not its translation finds it in English: no card fails for that, but few may be so."""
    leaves = [leaf for leaf in hebrew_leaves() if len(re.sub("<[^>]+>", "", leaf)) > 30]
    translated = [leaf for leaf in leaves if '<span lang="en"' not in leaf]
    assert len(translated) > 0.6 * len(leaves) > 30


def test_every_translation_takes_the_values_of_its_sentence() -> None:
    for language in set(LANGUAGES) - {"en"}:
        for english, translation in context._technical_words(language).items():
            values = [f"<{number}>" for number in range(english.count("{}"))]
            assert all(value in translation.format(*values) for value in values)


def test_a_sentence_is_translated_with_its_numbers_names_and_tags() -> None:
    def hebrew(html: str) -> str:
        return context.in_language(html, "he", {"birth_weight": "משקל"})

    assert hebrew("<td>22 to 44</td>") == '<td><bdi dir="ltr">22</bdi> עד <bdi dir="ltr">44</bdi></td>'
    assert hebrew("<dd>birth_weight to the nearest 10 grams.</dd>").startswith("<dd><bdi>משקל</bdi> בעיגול")
    assert (
        hebrew("<p>None of ours. Values are given as bins.</p>")
        == '<p><span lang="en" dir="ltr">None of ours.</span> הערכים הם תאים.</p>'
    )
    assert hebrew("<td>-0.5</td><th>&lt;18</th>") == '<td><bdi dir="ltr">-0.5</bdi></td><th><bdi dir="ltr">&lt;18</bdi></th>'
    assert hebrew("<p>see <b>a. b</b></p>") == '<p><span lang="en" dir="ltr">see <b>a. b</b></span></p>'


def test_a_card_whose_own_language_is_hebrew_is_hebrew_as_a_whole() -> None:
    found = with_card(CardTable(language="he", title="מטבעות"))
    read = Page(page_bytes(found, ReleasedTable.of(rich_release().candidate), "he"))
    assert read.all("html") == [{"lang": "he", "dir": "rtl"}]
    assert {"aria-labelledby": "technical"} in read.all("section")
    assert sentences("he")["part"] in read.texts_of("h2")
    assert "דיוק" in read.texts_of("h3")


def changed(language: str = "en", **update: object) -> str:
    """The text of the page of a release document with some parts exchanged."""
    found = with_card(CardTable(contact="mint@example.org")).model_copy(update=update)
    body = Page(page_bytes(found, ReleasedTable.of(rich_release().candidate), language)).text("body")
    return " ".join(body.split())


def test_a_release_by_a_joint_test_says_that_its_figures_did_not_decide() -> None:
    document = release_document(rich_release(), {})
    figures = [one.model_copy(update={"decides": one.noise_sd is None}) for one in document.criteria]
    test = JointTestPart(epsilon_exact="1", false_acceptance="1/50", margin=4)
    joint = changed(criteria=figures, selection=document.selection.model_copy(update={"joint_test": test}))
    single = changed()
    above = figures[0].model_copy(update={"value": 2 * figures[0].threshold})  # such a test may be passed: it was other noise
    for found, answers in ((figures, {"yes"}), ([above, *figures[1:]], {"yes", "no"})):
        page_of = release_document(rich_release(), {}).model_copy(update={"criteria": found})
        rows = criteria_rows(Page(page_bytes(page_of, ReleasedTable.of(rich_release().candidate), "en")))
        assert {row["met"] for row in rows} == answers
    assert "passed one noisy test of all criteria below together" in joint
    assert "passes this test with probability at most 2%" in joint
    assert "The first round that passed this test was released" in joint
    for text in (
        "released because it met every criterion",
        "favourable noise are released more often",
        "The first round that met all criteria was released",
    ):
        assert text in single
        assert text not in joint


def test_the_error_of_shares_is_stated_for_as_many_columns_as_the_criterion_looked_at() -> None:
    document = release_document(rich_release(), {})
    first = document.criteria[0].model_copy(update={"parameters": {**document.criteria[0].parameters, "largest": 1}})
    assert "Take any combination of values. Its share in" in changed()
    assert "Take any one value of a column. Its share in" in changed(criteria=[first, *document.criteria[1:]])


def test_bins_that_were_not_chosen_are_not_called_choices() -> None:
    columns = release_document(rich_release(), {}).columns
    wider = [columns[0], columns[1].model_copy(update={"alternatives": ["pairs", "single_years"]})]
    assert "Bins: pairs; other bins that were fixed beforehand: single years." in changed(columns=wider)
    assert "other bins" not in changed()


def test_the_contact_is_a_link_that_keeps_its_direction_in_every_language() -> None:
    for name in PAGES:
        links = re.findall(r'<a href="mailto:mint@example.org"><bdi dir="ltr">', rich_bundle()[name].decode())
        assert len(links) == 2


def test_measured_tables_and_projections_are_told_in_words() -> None:
    tables = "week_of_birth:sex + 2 region + all 2-way + 0.5 all 1-way"
    assert parameter_texts({"tables": tables}) == [
        ("tables", "week of birth by sex, region (weight 2), all 2-way, all 1-way (weight 0.5)")
    ]
    assert parameter_texts({"tables": "by cells: sex:(region + week_of_birth) + all 1-way"}) == [
        ("tables", "by cells: sex by (region, week of birth), all 1-way")
    ]
    assert "drawn at random" in projection_text({"kind": "minimum_count", "minimum_count": 2, "keep": "random"})
    assert "evenly" in projection_text({"kind": "minimum_count", "minimum_count": 2, "keep": "spread"})
    assert projection_text({"kind": "another"}) == ""


@pytest.mark.parametrize("language", LANGUAGES)
def test_all_languages_have_the_same_sentences_with_the_same_figures(language: str) -> None:
    english, other = sentences("en"), sentences(language)
    assert set(other) == set(english)
    for key, sentence in other.items():
        assert sorted(re.findall(r"\{(\w+)\}", sentence)) == sorted(re.findall(r"\{(\w+)\}", english[key])), key
        assert sentence.strip()


@pytest.mark.slow
def test_the_same_release_gives_the_same_bytes_in_another_process(root: Path) -> None:
    """The order of sets and hashes differs between processes; the documents must not."""
    code = (
        "import sys, json; from synthrelease.published.document import ReleaseDocument;"
        "from synthrelease.published.table import read_csv;"
        "from synthrelease.bundle.write import written; from synthrelease.published.base import sha256;"
        "d = ReleaseDocument.model_validate_json(sys.stdin.buffer.readline());"
        "t = read_csv(sys.stdin.buffer.read(), d.shape);"
        "print(json.dumps({n: sha256(b) for n, b in written(d, t, {'data.csv': 1, 'data.parquet': 1}).items()}))"
    )
    files = rich_bundle()
    line = json.dumps(json.loads(files["release.json"])).encode() + b"\n"
    there = subprocess.run(
        [sys.executable, "-c", code],
        input=line + files["data.csv"],
        capture_output=True,
        check=True,
        cwd=root,
        env={**os.environ, "PYTHONHASHSEED": "1"},
    ).stdout
    document = ReleaseDocument.model_validate_json(line)
    table = read_csv(files["data.csv"], document.shape)
    here = {name: sha256(content) for name, content in written(document, table, {"data.csv": 1, "data.parquet": 1}).items()}
    assert json.loads(there) == here
    assert set(here) == {
        "datapackage.json", "deployment.yaml", "CITATION.cff", "README.html", "README.he.html", "README.md",
        "SIGN.md", "associations.csv",
    }  # fmt: skip


@pytest.mark.parametrize("language", LANGUAGES)
def test_that_many_records_were_not_used_stands_among_what_may_not_be_concluded(language: str) -> None:
    document = release_document(rich_release(), {})
    counted = {"way": "counted", "margin": 12, "shortfall": "1/1000", "file_rows": 2 * document.rows_worked_with}
    many = document.domain.model_copy(update=counted)
    few = document.domain.model_copy(update=counted | {"file_rows": document.rows_worked_with + 20})
    said, _, after = sentences(language)["may_not_left_out"].partition("{left_out_least}")
    told = changed(language, domain=many)
    assert said in told
    assert f"50%{after.partition('{left_out_most}')[2]}" in told
    assert said not in changed(language, domain=few)


@pytest.mark.parametrize("language", LANGUAGES)
def test_columns_that_were_measured_alone_stand_among_what_may_not_be_concluded(language: str) -> None:
    words, document = sentences(language), release_document(rich_release(), {})
    said, tied_by_rules = words["may_not_alone"], words["may_not_alone_rules"]
    first, second = (column.name for column in document.columns[:2])
    part = EstimatesPart(level=0.95, together=[[first], [second], [first, first]], intended=[])
    assert f"{said} {first}; {second}." in changed(language, estimates=part, rules=[])
    raw = document.rules[0].model_copy(update={"applies_to": ("raw",)})
    assert f"{said} {first}; {second}." in changed(language, estimates=part, rules=[raw])
    ruled = changed(language, estimates=part)  # no row is (tail, 7-8)
    assert f"{tied_by_rules} {first}; {second}." in ruled
    assert said not in ruled
    tied = part.model_copy(update={"together": [[first], [first, second]]})
    assert said not in changed(language, estimates=tied, rules=[])
    assert said not in changed(language, estimates=None, rules=[])  # nobody can tell
    generator = {"generator": document.configuration["generator"] | {"prior": "a public table"}}
    prior = document.configuration | generator
    assert said not in changed(language, estimates=part, configuration=prior, rules=[])


@pytest.mark.parametrize(
    ("settings", "alone"),
    [
        ({"tables": "FIRST + SECOND"}, True),
        ({"tables": "FIRST + SECOND", "rare_bins": "FIRST[0 1]"}, True),
        ({"tables": "FIRST + SECOND", "only_measured": "FIRST:SECOND"}, True),  # the model leaves these aside
        ({"tables": "all 2-way"}, False),
        ({"family": "gaussian_marginals", "tables": "FIRST + SECOND"}, True),
        ({"tables": "FIRST + SECOND", "sums": "FIRST[0 1]:SECOND[0 1 2 3]"}, False),
    ],
)
@pytest.mark.parametrize("published", [False, True])
def test_what_the_model_ties_is_known_from_its_settings_where_they_state_its_tables(
    settings: dict[str, str], alone: bool, published: bool
) -> None:
    document = release_document(rich_release(), {})
    first, second = (column.name for column in document.columns[:2])
    named = {key: text.replace("FIRST", first).replace("SECOND", second) for key, text in settings.items()}
    configuration = document.configuration | {"generator": {"family": "marginals", **named}}
    part = EstimatesPart(level=0.95, together=[[first], [second], [first, second]], intended=[]) if published else None
    found = document.model_copy(update={"configuration": configuration, "estimates": part})
    assert measured_alone(found) == ([first, second] if alone else [])


@pytest.mark.parametrize(
    "settings",
    [
        {"family": "magic"},
        {},
        {"family": "marginals"},
        {"family": "marginals", "tables": "a:b + ?"},
        {"family": "marginals", "tables": "nobody"},
        {"family": "gaussian_marginals", "tables": "face", "sums": "face[0 1]"},
        {"family": "marginals", "tables": "face", "sums": "nobody[0 1]"},
    ],
)
def test_of_settings_that_somebody_changed_nothing_is_told(settings: dict[str, str]) -> None:
    """`verify` writes the card of any document again."""
    document = release_document(rich_release(), {})
    changed_settings = document.configuration | {"generator": settings}
    assert measured_alone(document.model_copy(update={"configuration": changed_settings, "estimates": None})) == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_groups_of_which_only_the_number_was_measured_stand_among_what_may_not_be_concluded(language: str) -> None:
    said, document = sentences(language)["may_not_rare"], release_document(rich_release(), {})
    column = document.columns[0]
    bins, last = len(column.bins), column.bins[-1].label

    def told(text: str | None) -> str:
        generator = {"generator": document.configuration["generator"] | {"rare_bins": text}}
        return changed(language, configuration=document.configuration | generator)

    one = f"{column.name}[{' '.join(['0'] * (bins - 1) + ['1'])}]"
    assert f"{said} {column.name} ({last})." in told(one)
    assert f"{said} {document.columns[1].name}." in told(f"{document.columns[1].name}[1{' 0' * 40}]")  # of other bins
    assert said not in told(None)


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_is_not_promised_stands_among_what_may_not_be_concluded(language: str) -> None:
    words = sentences(language)
    kept = "A fit to one half keeps 84% in the other half."
    table = NotPromisedTable(pairs=("face:year",), why="The mint <knows> & accepts it", kept=kept)
    told = changed(language, not_promised=table)
    assert kept in told
    assert f"{words['not_promised_pairs']} face × year." in told
    unchecked = {"en": "nothing checked", "he": "דבר לא בדק"}  # criteria look at such pairs, too: with a wide threshold
    assert unchecked[language] not in words["not_promised_pairs"]
    assert f"{words['not_promised_why']} The mint <knows> & accepts it" in told
    assert words["not_promised"] not in told
    assert words["not_promised"] in changed(language, not_promised=NotPromisedTable(dependence=True, why="So"))
    for key in ("not_promised", "not_promised_pairs", "not_promised_why"):
        assert words[key] not in changed(language)


def test_what_is_not_promised_comes_from_the_acceptance_file_and_stands_in_the_plain_card_too() -> None:
    table = NotPromisedTable(pairs=("face:year",), why="It is not needed")
    release = rich_release()
    document = release_document(replace(release, spec=replace(release.spec, not_promised=table)), {"data.csv": "0" * 64})
    assert json.loads(document.dumped())["not_promised"] == {
        "pairs": ["face:year"],
        "dependence": False,
        "why": "It is not needed",
        "kept": "",
    }
    assert "not_promised" not in json.loads(release_document(release, {}).dumped())
    kept = replace(release, spec=replace(release.spec, not_promised=NotPromisedTable(kept="A fit keeps 84%.")))
    assert "A fit keeps 84%." in sign_files(release_document(kept, {}))["SIGN.md"].decode()
    plain = markdown_bytes(document, ReleasedTable.of(release.candidate)).decode()
    assert f"{document.card.columns.get('face', 'face')} × " in plain.replace("\\\\", "")
    assert "It is not needed" in plain
