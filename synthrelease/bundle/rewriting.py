"""The same release with other words and other weights: texts and published totals for a bundle that is finished already."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from synthrelease.bundle.checksums import sha256
from synthrelease.bundle.contents import table_files, written
from synthrelease.bundle.document import own_version
from synthrelease.bundle.table import read_csv
from synthrelease.bundle.weights import calibrated
from synthrelease.domain.schema import Transformation
from synthrelease.errors import SynthreleaseError
from synthrelease.published.document import format_of, read_strictly
from synthrelease.published.flavour import FlavourPart
from synthrelease.specification.release_spec import ReleaseSpec


class OtherRelease(SynthreleaseError):
    """A bundle that was not made by the configuration at hand."""


def rewritten(files: Mapping[str, bytes], spec: ReleaseSpec) -> dict[str, bytes]:
    """The files of a bundle, but for checksums and signature, with the texts of another card and other published totals.

    Rows, figures and guarantee stay as they are: weights are a function of the rows and of published totals, and nothing is
    spent. The day of publication stays, too, unless the card names one.

    Parameters
    ----------
    files : a bundle that `verify_bundle` found in order, its documents perhaps apart.
    spec : the configuration with the new texts and totals, otherwise the one that the bundle was made by.

    Raises
    ------
    OtherRelease : when the bundle is of another specification.
    """
    old, card = read_strictly(files["release.json"]), spec.card
    if old.specification != spec.digest:
        raise OtherRelease(
            "The release was made from another specification than this: columns, rules, criteria or budgets differ."
        )
    if "published" not in card.model_fields_set:
        card = card.model_copy(update={"published": old.card.published})
    names, labels = [column.name for column in old.columns], [column.labels for column in old.columns]
    table = read_csv(files["data.csv"], names, labels, [column.ordered for column in old.columns], old.weighted)
    binnings = tuple(spec.schema[column.name].alternatives[column.binning] for column in old.columns)
    calibration = spec.calibration and spec.calibration.on(Transformation(schema=spec.schema, binnings=binnings))
    table, weighting = calibrated(replace(table, weights=None), calibration, old.columns)
    data = {name: files[name] for name in old.files} | table_files(table)
    checksums = {name: sha256(content) for name, content in data.items()}
    lowest = format_of(old.columns, weighting, old.charges, old.criteria)
    changed = {"format": lowest, "card": card, "written_by": own_version(), "files": checksums}
    document = old.model_copy(update=changed | {"calibration": weighting})
    flavour = FlavourPart.of(document.guarantee.guarantee(), document.domain.way, document.calibration is not None)
    document = document.model_copy(update={"flavour": flavour})
    return data | {"release.json": document.dumped()} | written(document, table, {name: len(data[name]) for name in data})
