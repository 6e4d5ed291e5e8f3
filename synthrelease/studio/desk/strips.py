"""Count the public values of each column and draw their pictures (SVG) for the desk: bars and histograms."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from synthrelease.data.linked import Linked
from synthrelease.data.schema import Column
from synthrelease.enclave.persons import keys_of
from synthrelease.enclave.texts import Texts
from synthrelease.resources import templates
from synthrelease.settings.columns import InputTable
from synthrelease.studio.drafting.public_file import PublicBins, PublicFile, public_bins


@lru_cache(maxsize=1)
def pictures() -> Any:
    """Return the template strips.html, whose macros `strip`, `histogram` and `marks` draw the pictures."""
    environment = templates(Path(__file__).parent / "templates", __file__)
    environment.filters["short"] = lambda value, digits=6: f"{value:.{digits}g}"
    return environment.get_template("strips.html").module


MOST_KEPT = 1_000


class Strips:
    """The counts and pictures of columns in the public file, computed again only if a column changes.

    Parameters
    ----------
    public, members : the public file, and the public file of the second of two linked tables, or None.
    """

    def __init__(self, public: PublicFile | None, members: PublicFile | None = None):
        self.public, self.members = public, members
        self._kept: OrderedDict[tuple[object, ...], tuple[PublicBins | None, dict[str, Markup]]] = OrderedDict()

    def of(self, column: Column, policy: InputTable, linked: Linked | None) -> tuple[PublicBins | None, Mapping[str, Markup]]:
        """Return the counts of a column in the public file, and a picture for each of its alternatives (binnings).

        If no file has the column, the counts are None and the pictures are empty.

        Parameters
        ----------
        policy : [input] of the configuration.
        linked : [members] of the configuration, or None. A column may belong to members or count them.
        """
        bins = tuple((name, binning.labels, binning.numbers) for name, binning in column.alternatives.items())
        values = (column.sources, column.bounds, column.edges, bins, tuple(column.values.items()), column.missing_values)
        key = (column.name, values, column.missing, column.characters, policy.missing_values)
        if key not in self._kept:
            file = self._file(column, linked)
            public = None if file is None else public_bins(file, column, policy)
            self._kept[key] = public, {name: _picture(column, name, public) for name in column.alternatives}
            while len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
        return self._kept[key]

    def texts(self, column: Column, linked: Linked | None) -> Mapping[str | None, int]:
        """Return how often each text of a column occurs in the public file; empty if no file has the column."""
        file = self._file(column, linked)
        return {} if file is None else file.columns[column.source]

    def _file(self, column: Column, linked: Linked | None) -> PublicFile | None:
        """Return the public file that has the column, or None. For a column of members, their file comes first."""
        of_members = linked is not None and linked.place_of(column.name) is not None
        if linked is not None and column.name == linked.size:
            return self._numbers_of_members(linked)
        files = (self.members, self.public) if of_members else (self.public, self.members)
        return next((file for file in files if file is not None and column.source in file.columns), None)

    def _numbers_of_members(self, linked: Linked) -> PublicFile | None:
        """Return a public file in which the numbers of roots (such as households) with 0, 1, 2, ... members replace the key."""
        file = self.members or self.public
        if self.public is None or file is None or not all(linked.key in table.columns for table in (self.public, file)):
            return None
        roots, times = (_by_key(table, linked) for table in (self.public, file))
        counts = Counter[str | None]()
        for key in {*roots, *times}:
            counts[str(min(times[key], linked.most) if linked.more == "first" else times[key])] += 1
        return replace(file, columns={linked.key: counts})


def _by_key(file: PublicFile, linked: Linked) -> Counter[str]:
    """Count the rows with each normalised key, such as the persons of each household."""
    column, times = file.columns[linked.key], Counter[str]()
    texts = Texts(texts=[*column], codes=np.arange(len(column)))
    for key, rows in zip(keys_of(texts, file.input, linked.missing_keys), column.values(), strict=True):
        times.update({} if key is None else {key[0]: rows})
    return times


def _picture(column: Column, alternative: str, public: PublicBins | None) -> Markup:
    if public is None or not public.total:
        return Markup()
    if public.places:
        limits = column.alternatives[alternative].lower[1:]
        return pictures().histogram(column.name, limits, public.places, public.between)
    if alternative != next(iter(column.alternatives)):
        return Markup()
    return pictures().strip(column.name, column.alternatives[alternative].labels, public.rows)
