"""The words of the public part in one language: the framework's sentences and the publisher's texts."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from pathlib import Path

from markupsafe import Markup

from synthrelease.bundle.card.associations import carried_pairs, counts_of
from synthrelease.bundle.card.environment import link
from synthrelease.bundle.card.numbers import exact_epsilon, figure, rounded_up, without_exponent, words, worst_factor
from synthrelease.bundle.card.protection import right_guess, rows_left_out
from synthrelease.bundle.file_ends import band_columns, error_band
from synthrelease.bundle.interval import LEVEL
from synthrelease.bundle.titles import labelled
from synthrelease.published.document import ReleaseDocument
from synthrelease.settings.card import CardTexts


@lru_cache(maxsize=8)
def sentences(language: str) -> Mapping[str, str]:
    """The framework's sentences in a language."""
    path = Path(__file__).parent / "words" / f"{language}.toml"
    return tomllib.loads(path.read_text(encoding="utf-8"))


@dataclass(frozen=True, kw_only=True)
class Wording:
    """`words` are the framework's sentences with the figures put in, `texts` the publisher's."""

    language: str
    words: Mapping[str, str]
    texts: CardTexts
    title: str
    labelled_title: str
    summary: str

    @classmethod
    def of(cls, document: ReleaseDocument, language: str) -> Wording:
        """All sentences with their figures, from release.json alone."""
        card = document.card
        texts = card.texts(language) or CardTexts()
        band, left_out = error_band(document), rows_left_out(document)
        columns = [column.name for file in document.table_files for column in file.columns]
        names = ", ".join(texts.columns.get(name, words(name)) for name in columns)
        values = {
            "rows": figure(document.n_rows),
            "columns": str(len(columns)),
            "names": names,
            "epsilon": exact_epsilon(document.guarantee.epsilon_exact),
            "factor": worst_factor(Fraction(document.guarantee.epsilon_exact)),
            "delta": without_exponent(document.guarantee.delta),
            "right": right_guess(document),
            "minimum": str(document.minimum_count),
            **_of_a_person(document),
            **counts_of(carried_pairs(document)),
            "invariants": Markup('<bdi lang="en" dir="ltr">{}</bdi>').format("; ".join(document.guarantee.invariants)),
            "band": "" if band is None else rounded_up(100 * band),
            "left_out_least": left_out.ends[0] if left_out else "",
            "left_out_most": left_out.ends[1] if left_out else "",
            "level": f"{float(LEVEL):.0%}",
            "band_columns": str(band_columns(document) or ""),
            "contact": link(card.contact),
        }
        return cls(
            language=language,
            words={key: Markup(sentence).format(**values) for key, sentence in sentences(language).items()},
            texts=texts,
            title=texts.title or document.title,
            labelled_title=labelled(texts.title or document.title),
            summary=texts.summary or (document.description if language == card.language else ""),
        )


def _of_a_person(document: ReleaseDocument) -> dict[str, str]:
    """The figures for whoever stands in all the records that a person may have."""
    person = document.guarantee.person
    epsilon, delta = person.epsilon_exact, person.delta_exact
    return {
        "person_records": str(person.records),
        "person_epsilon": exact_epsilon(epsilon) if epsilon else "",
        "person_delta": without_exponent(float(Fraction(delta))) if delta else "",
        "person_factor": worst_factor(Fraction(epsilon)) if epsilon else "",
        "person_right": right_guess(document, whole_person=True),
    }
