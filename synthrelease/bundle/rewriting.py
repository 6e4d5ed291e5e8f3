"""The same release with other words: new texts of the publisher for a bundle that is finished already."""

from __future__ import annotations

from collections.abc import Mapping

from synthrelease.bundle.contents import written
from synthrelease.bundle.document import own_version
from synthrelease.bundle.table import read_csv
from synthrelease.errors import SynthreleaseError
from synthrelease.published.document import read_strictly
from synthrelease.toml.card import CardTable


class OtherRelease(SynthreleaseError):
    """A bundle that was not made by the configuration at hand."""


def rewritten(files: Mapping[str, bytes], card: CardTable, specification: str) -> dict[str, bytes]:
    """The files of a bundle, but for checksums and signature, with the texts of another card.

    Table, figures and guarantee stay as they are: nothing is computed anew, and nothing is spent. The day of publication
    stays, too, unless the card names one.

    Parameters
    ----------
    files : a bundle that `verify_bundle` found in order, its documents perhaps apart.
    specification : the digest of the configuration from which the card comes.

    Raises
    ------
    OtherRelease : when the bundle is of another specification.
    """
    old = read_strictly(files["release.json"])
    if old.specification != specification:
        raise OtherRelease(
            "The release was made from another specification than this: columns, rules, criteria or budgets differ."
        )
    if "published" not in card.model_fields_set:
        card = card.model_copy(update={"published": old.card.published})
    document = old.model_copy(update={"card": card, "written_by": own_version()})
    names, labels = [column.name for column in old.columns], [column.labels for column in old.columns]
    table = read_csv(files["data.csv"], names, labels, [column.ordered for column in old.columns])
    data = {name: files[name] for name in old.files}
    return data | {"release.json": document.dumped()} | written(document, table, {name: len(data[name]) for name in data})
