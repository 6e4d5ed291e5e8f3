"""What the public file has in each column, and its pictures, made once for each column as it stands."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping

from markupsafe import Markup

from synthrelease.desk.pictures import histogram, strip
from synthrelease.domain.schema import Column
from synthrelease.drafting.public_bins import PublicBins, public_bins
from synthrelease.drafting.public_file import PublicFile
from synthrelease.toml.columns import InputTable

MOST_KEPT = 1_000


class Strips:
    """Of one public file, or of one with a second one of members.

    Parameters
    ----------
    public, members : None where there is none.
    """

    def __init__(self, public: PublicFile | None, members: PublicFile | None = None):
        self.public, self.members = public, members
        self._kept: OrderedDict[tuple[object, ...], tuple[PublicBins | None, dict[str, Markup]]] = OrderedDict()

    def of(self, column: Column, policy: InputTable) -> tuple[PublicBins | None, Mapping[str, Markup]]:
        """What is in the bins, None where it cannot be told; and a picture for each alternative, empty where there is none.

        Parameters
        ----------
        policy : [input] of the configuration.
        """
        bins = tuple((name, each.labels, each.numbers) for name, each in column.alternatives.items())
        values = (column.sources, column.bounds, column.edges, bins, tuple(column.values.items()), column.missing_values)
        key = (column.name, values, column.missing, column.characters, policy.missing_values)
        if key not in self._kept:
            file = self._file(column)
            found = None if file is None else public_bins(file, column, policy)
            self._kept[key] = found, {name: _picture(column, name, found) for name in column.alternatives}
            while len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
        return self._kept[key]

    def texts(self, column: Column) -> Mapping[str | None, int]:
        """How often each text of the column occurs."""
        file = self._file(column)
        return {} if file is None else file.columns[column.source]

    def _file(self, column: Column) -> PublicFile | None:
        return next((file for file in (self.public, self.members) if file is not None and column.source in file.columns), None)


def _picture(column: Column, alternative: str, found: PublicBins | None) -> Markup:
    if found is None or not found.total:
        return Markup()
    if found.places:
        return histogram(column.name, column.alternatives[alternative].lower[1:], found)
    first = next(iter(column.alternatives))
    return strip(column.name, column.alternatives[first].labels, found.rows) if alternative == first else Markup()
