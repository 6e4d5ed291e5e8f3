"""Write the card as self-contained pages (README.html, README.LANGUAGE.html) and as README.md."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup, escape

from synthrelease.bundle import pictures
from synthrelease.bundle.card import counts_of, numbers, sentences
from synthrelease.bundle.card import sections as facts
from synthrelease.bundle.card.numbers import (
    environment,
    filled,
    labelled,
    link,
    public_epsilon,
    rounded_up,
    without_exponent,
    worst_factor,
)
from synthrelease.bundle.card.sections import (
    Useful,
    association_lines,
    band_text,
    drawn_text,
    duplicate_sentences,
    file_ends,
    pairs_of,
    rare_groups,
    right_guess,
    rows_left_out,
)
from synthrelease.bundle.dataset import Dataset, file_lines, with_something
from synthrelease.bundle.limits import LEVEL, band_columns, error_band
from synthrelease.bundle.options import about_figures, listed_rules, sections, statements
from synthrelease.bundle.pictures import FEW_BARS, MOST_BARS
from synthrelease.criteria.facts import figure, words
from synthrelease.generators.associations import Associations, CarriedPairs
from synthrelease.published.associations import of_document
from synthrelease.published.base import sha256
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.names import ask_name, has_ask_page, page_name
from synthrelease.published.table import ReleasedTable
from synthrelease.settings.card import LICENCES, CardTexts, direction

# The card's head for search engines: a schema.org Dataset as JSON-LD.


def search_engines(dataset: Dataset) -> str:
    """Return the metadata for search engines as JSON that cannot end its script element."""
    entry = with_something(filled("schema_org.json", dataset=dataset))
    text = json.dumps(entry, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


# The words of the public part in one language. The words are sentences of the framework and texts of the publisher.


@dataclass(frozen=True, kw_only=True)
class Wording:
    """The texts of the public part of the data card in one language.

    Attributes
    ----------
    words : the sentences of synthrelease, filled with the values of `figures_of`.
    texts : the publisher's texts.
    labelled_title : the title, with a note that the data are synthetic.
    """

    language: str
    words: Mapping[str, str]
    texts: CardTexts
    title: str
    labelled_title: str
    summary: str

    @classmethod
    def of(cls, document: ReleaseDocument, language: str, figures: Mapping[str, str]) -> Wording:
        card = document.card
        texts = card.texts(language) or CardTexts()
        columns = (column.name for file in document.table_files for column in file.columns)
        names = ", ".join(texts.columns.get(name, words(name)) for name in columns)
        return cls(
            language=language,
            words={key: Markup(text).format(names=names, **figures) for key, text in sentences(language).items()},
            texts=texts,
            title=texts.title or document.title,
            labelled_title=labelled(texts.title or document.title),
            summary=texts.summary or (document.description if language == card.language else ""),
        )


def figures_of(document: ReleaseDocument, pairs: CarriedPairs | None) -> dict[str, str]:
    """Return the numbers in the card's part for everyone as strings, which are the same in every language.

    Parameters
    ----------
    pairs : the pairs of columns whose association the rows preserve.
    """
    guarantee, band, left_out = document.guarantee, error_band(document), rows_left_out(document)
    return {
        "rows": figure(document.n_rows),
        "columns": str(sum(len(file.columns) for file in document.table_files)),
        "epsilon": public_epsilon(guarantee.epsilon_exact),
        "factor": worst_factor(Fraction(guarantee.epsilon_exact)),
        "delta": without_exponent(guarantee.delta),
        "right": right_guess(document),
        "minimum": str(document.minimum_count),
        **_of_a_person(document),
        **counts_of(pairs),
        "invariants": Markup('<bdi lang="en" dir="ltr">{}</bdi>').format("; ".join(guarantee.invariants)),
        "band": "" if band is None else rounded_up(100 * band),
        "left_out_least": left_out.ends[0] if left_out else "",
        "left_out_most": left_out.ends[1] if left_out else "",
        "level": f"{float(LEVEL):.0%}",
        "band_columns": str(band_columns(document) or ""),
        "contact": link(document.card.contact),
    }


def _of_a_person(document: ReleaseDocument) -> dict[str, str]:
    person = document.guarantee.person
    epsilon, delta = person.epsilon_exact, person.delta_exact
    return {
        "person_records": str(person.records),
        "person_epsilon": public_epsilon(epsilon) if epsilon else "",
        "person_delta": without_exponent(float(Fraction(delta))) if delta else "",
        "person_factor": worst_factor(Fraction(epsilon)) if epsilon else "",
        "person_right": right_guess(document, whole_person=True),
    }


# The variables of the card's templates. The variables are release.json, the released counts, and texts.


@dataclass(frozen=True, kw_only=True)
class OfAllLanguages:
    """The content of the card that does not depend on the language, such as the pictures."""

    carried: Associations | None
    figures: Mapping[str, str]
    pictures: pictures.Figures
    fingerprint: str

    @classmethod
    def of(cls, document: ReleaseDocument, table: ReleasedTable) -> OfAllLanguages:
        carried = of_document(document)
        return cls(
            carried=carried,
            figures=figures_of(document, pairs_of(carried)),
            pictures=pictures.figures(document, table),
            fingerprint=sha256(document.dumped()),
        )


def context(document: ReleaseDocument, table: ReleasedTable, language: str, shared: OfAllLanguages) -> dict[str, Any]:
    """Return all values that the templates need for the page in one language."""
    carried, figures = shared.carried, shared.figures
    wording = Wording.of(document, language, figures)

    def title_of(name: str) -> str:
        return wording.texts.columns.get(name, numbers.words(name))

    of_columns = band_columns(document)
    translations = [translation for translation in document.card.languages if translation != language]
    return {
        "document": document,
        "wording": wording,
        "language": language,
        "ask": ask_name(document, language) if has_ask_page(document) else "",
        "others": [(page_name(document, other), other, Wording.of(document, other, figures)) for other in translations],
        "title_of": title_of,
        "band": error_band(document),
        "band_text": band_text(document),
        "drawn_text": drawn_text(document),
        "file_ends": file_ends(document),
        "may_error": wording.words["may_error" if not of_columns else "may_error_one" if of_columns == 1 else "may_error_few"],
        "many_left_out": (left_out := rows_left_out(document)) is not None and left_out.many,
        "rare": "; ".join(f"{title_of(name)} ({label})" if label else title_of(name) for name, label in rare_groups(document)),
        "alone": "; ".join(map(title_of, facts.measured_alone(document))),
        "associations": association_lines(document, carried),
        "rules_tie": any("synthetic" in rule.applies_to for rule in document.rules),
        "lost": "; ".join(" × ".join(map(title_of, pair.split(":"))) for pair in document.not_promised.pairs),
        "columns": [
            (column, part.margins[index].tolist(), max(part.counts.total, 1), file.of_members, listed_bins(part.margins[index]))
            for file, part in zip(document.table_files, filter(None, (table.of_roots(), table.of_members())), strict=True)
            for index, column in enumerate(file.columns)
        ],
        "files": file_lines(document),
        "fingerprint": shared.fingerprint,
        "licence": LICENCES.get(document.card.licence),
        "level": float(LEVEL),
        "duplicates": duplicate_sentences(document, table),
        "explain": facts,
        "pieces": about_figures(document),
        "estimates": facts.sentences(document),
        "few_rows": (useful.rule if (useful := Useful.of(document)) else ""),
        "estimate_example": facts.example(document),
        "queries": facts.rows(document, carried),
        "statements": statements(document),
        "sections": sections(document),
        "rules": listed_rules(document),
        "n": numbers,
    }


def listed_bins(counts: np.ndarray) -> list[int]:
    """Return the indices of the bins that the card lists: all or, of very many, those with the most rows."""
    if len(counts) <= MOST_BARS:
        return list(range(len(counts)))
    return sorted(np.argsort(-counts, kind="stable")[:FEW_BARS].tolist())


def markdown_bytes(document: ReleaseDocument, table: ReleasedTable, shared: OfAllLanguages | None = None) -> bytes:
    """Write the card as README.md, in its main language, from the arguments alone."""
    variables = context(document, table, document.card.language, shared or OfAllLanguages.of(document, table))
    text = environment().get_template("README.md").render(variables)
    return (re.sub(r"\n{3,}", "\n\n", text).strip() + "\n").encode("utf-8")


_LEAVES = "p|li|h[234]|th|td|caption|dt|dd|figcaption|strong"
# Pattern of an HTML element of `_LEAVES` that contains text, but no other element of `_LEAVES` and no list, table or picture.
_LEAF = re.compile(
    rf"(<({_LEAVES})(?: [^>]*)?>)((?:(?!<(?:{_LEAVES}|table|dl|ul|ol|div|svg|details|figure)\b).)*?)(</\2>)", re.DOTALL
)
_SENTENCE = re.compile(r"(?<=[.:;!?])(?<!&lt;)(?<!&gt;)(?<!&amp;)(\s+)")
_AROUND = re.compile(r"((?:<(?!code|span)[^>]+>|· )*)(.*?)((?:</(?!code|span)[^>]+>)*)", re.DOTALL)
_TAG = r"<(?:code|span)\b.*?</(?:code|span)>|<[^>]+>"
_BINS = r"\((?:&lt;=?|&gt;=?|[\d.,\- ])+\)"
_NUMBER = r"(?:(?<!\w)-)?(?:\d[\d,.]*\d|\d)%?"
_WORD, _LETTER = re.compile(r"[A-Za-z]{2}"), re.compile(r"[^\W\d_]")
_LABEL = re.compile(r'((?:data|aria)-label=")([^"]*)"')


@lru_cache(maxsize=8)
def _technical_words(language: str) -> Mapping[str, str]:
    """Return the translations of the English sentences for data users, or an empty dict."""
    path = Path(__file__).parent / "words" / f"{language}.technical.toml"
    return tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def in_language(page: str, language: str, titles: Mapping[str, str]) -> str:
    """Translate the English part of a page, sentence by sentence. A sentence without a translation stays in English.

    Parameters
    ----------
    page : HTML of the part for data users, with the navigation and the footer.
    titles : the names of columns and criteria in this language, by their English names.
    """
    words_ = _technical_words(language)
    shown = {str(escape(name)): str(escape(title)) for name, title in titles.items()}
    names = rf"(?<!\w)(?:{'|'.join(map(re.escape, sorted(shown, key=len, reverse=True)))})(?!\w)" if shown else ""
    part = re.compile("|".join(filter(None, (_TAG, names, _BINS, _NUMBER))), re.DOTALL)

    def sentence(text: str) -> str:
        around = _AROUND.fullmatch(text)
        head, tail = ("", "") if around is None or around[1].count("<") != around[3].count("<") else (around[1], around[3])
        text = text[len(head) : len(text) - len(tail)]
        text = text.replace("&#39;", "'")
        key = unescape(part.sub("{}", text.replace("{", "").replace("}", "")))
        if key in words_:
            values = (
                f"<bdi>{shown[match[0]]}</bdi>" if match[0] in shown else f'<bdi dir="ltr">{match[0]}</bdi>'
                for match in part.finditer(text)
            )
            return head + str(escape(words_[key])).format(*values) + tail
        rest = unescape(part.sub("", text))
        if _WORD.search(rest):
            text = f'<span lang="en" dir="ltr">{text}</span>'
        elif text and not _LETTER.search(rest):  # right-to-left text would turn a bin such as "<18" round
            text = f'<bdi dir="ltr">{text}</bdi>'
        return head + text + tail

    def leaf(match: re.Match[str]) -> str:
        pieces = _SENTENCE.split(match[3].strip())
        if any(len(re.findall(r"<\w", piece)) != piece.count("</") for piece in pieces):  # an element spans several sentences
            pieces = [match[3].strip()]
        return match[1] + "".join(piece if piece.isspace() else sentence(piece) for piece in pieces) + match[4]

    page = re.sub(r'<(section|footer) lang="en" dir="ltr"', r"<\1", page).replace('<li lang="en">', "<li>")
    page = _LABEL.sub(lambda match: f'{match[1]}{words_.get(match[2], match[2])}"', page)
    return _LEAF.sub(leaf, page).replace("<svg ", '<svg lang="en" direction="ltr" ')


def page_bytes(document: ReleaseDocument, table: ReleasedTable, language: str, shared: OfAllLanguages | None = None) -> bytes:
    """Write the card in a language, as a page that needs no other file and no network, from the arguments alone."""
    shared = shared or OfAllLanguages.of(document, table)
    variables = context(document, table, language, shared)
    text = (
        environment()
        .get_template("page.html")
        .render(
            variables,
            direction=direction(language),
            protection=pictures.protection(variables["wording"].words, direction(language)),
            figures=shared.pictures,
            schema_org=Markup(search_engines(Dataset.of(document))) if language == document.card.language else None,
        )
    )
    if language != "en":
        titles = {part.name: part.name for part in document.criteria}
        titles |= {name: variables["title_of"](column.name) for column, *_ in variables["columns"]
                   for name in (column.name, words(column.name))}  # fmt: skip
        nav, main, public_end = text.index("<nav"), text.index("<main"), text.index('<section lang="en"')
        menu, end = (in_language(part, language, titles) for part in (text[nav:main], text[public_end:]))
        text = text[:nav] + menu + text[main:public_end] + end
    return (re.sub(r"\n{2,}", "\n", text).strip() + "\n").encode("utf-8")
