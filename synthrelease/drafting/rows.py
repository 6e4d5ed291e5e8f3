"""The rows of a public file for what its columns say of each other: which text of each column a row has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat

import numpy as np

from synthrelease.drafting.column_draft import Answers
from synthrelease.drafting.public_file import PublicFile
from synthrelease.enclave.persons import keys_of

MOST_ROWS = 200_000
"""Rows that are looked at together; of a longer file every second, third, ... one."""


@dataclass(frozen=True, kw_only=True)
class PublicRows:
    """Some or all rows of the public file.

    Attributes
    ----------
    texts : for each column its different texts.
    codes : for each column (n_rows,) the index into its texts; -1 where there is no answer.
    """

    texts: Mapping[str, Sequence[str]]
    codes: Mapping[str, np.ndarray]

    @property
    def n_rows(self) -> int:
        return len(next(iter(self.codes.values())))

    def without(self, sources: Sequence[str]) -> np.ndarray:
        """(n_rows,) whether a row has no answer in one of these columns."""
        return np.logical_or.reduce([self.codes[source] < 0 for source in sources])


def public_rows(file: PublicFile, answers: Mapping[str, Answers]) -> PublicRows:
    """The rows of a public file, in the texts of its columns without surrounding blanks.

    Of each batch the first row is taken, and every so many-th after it: no more than about `MOST_ROWS`.
    """
    every = -(-file.n_rows // MOST_ROWS)
    places = {source: {text: place for place, text in enumerate(found.texts)} for source, found in answers.items()}
    codes: dict[str, list[np.ndarray]] = {source: [] for source in answers}
    with_comma = file.input.decimal == ","
    for batch in file.batches():
        for source, place in places.items():
            rows = np.asarray(batch[source].codes)[::every]
            used, inverse = np.unique(rows, return_inverse=True)
            texts = batch[source].texts
            plain = [(texts[code] or "").strip() for code in used.tolist()]
            found = list(map(place.get, plain, repeat(-1)))
            if with_comma:
                found = [place.get(text.replace(",", "."), -1) if at < 0 else at for text, at in zip(plain, found, strict=True)]
            codes[source].append(np.array(found, dtype=np.int32)[inverse])
    return PublicRows(
        texts={source: list(place) for source, place in places.items()},
        codes={source: np.concatenate(parts) for source, parts in codes.items()},
    )


def every_row(file: PublicFile, names: Sequence[str], key: str | None = None) -> dict[str, tuple[list[str], np.ndarray]]:
    """Of each of these columns its different texts, without surrounding blanks, and (n_rows,) which of them every row has.

    Parameters
    ----------
    key : one of them whose texts are keys, in their normal form, as a release reads them: "" for none.
    """
    known: dict[str, dict[str, int]] = {name: {} for name in names}
    codes: dict[str, list[np.ndarray]] = {name: [] for name in names}
    for batch in file.batches(tuple(names)) if names else ():
        for name, places in known.items():
            texts = (each and each[0] for each in keys_of(batch[name], file.input)) if name == key else batch[name].texts
            found = [places.setdefault((text or "").strip(), len(places)) for text in texts]
            codes[name].append(np.array(found, dtype=np.int64)[batch[name].codes])
    return {name: (list(known[name]), np.concatenate(codes[name])) for name in names}
