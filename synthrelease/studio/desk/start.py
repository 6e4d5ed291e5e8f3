"""Compute screen 0, "We have no public file": the command that scouts the columns of a codebook, and a draft from the
results.

The screen opens only the codebook and the folder of the scout, which are public. Its fields are part of the address, so
nothing is stored. The names of the private file and of the ledger are only printed in the command.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from synthrelease.data.texts import program, quoted
from synthrelease.errors import InputError, SynthreleaseError, so_many
from synthrelease.privacy.charges import decimal_text
from synthrelease.scouting.bins import ScoutedBins
from synthrelease.scouting.codebook import read_codebook
from synthrelease.scouting.columns import ScoutedColumn
from synthrelease.scouting.document import ScoutDocument
from synthrelease.scouting.folder import read_scout
from synthrelease.scouting.scout import MOST_NOISE, Scouting, check_noise, needed_rows
from synthrelease.spec.arguments import command_words, names_in
from synthrelease.spec.requests import ScoutRequest
from synthrelease.studio.drafting.scouted import labels_of, write_scouted_draft

FIELDS = {"rows": "", "cap": "2", "delta": "1e-9", "unit": "row", "first_by": ""}
FIELDS |= {"delimiter": ",", "encoding": "utf-8", "decimal": ".", "data": "PRIVATE.csv", "ledger": "DATASET.ledger"}
"""The fields of the screen with their initial values."""


@dataclass(frozen=True, kw_only=True)
class Start:
    """The inputs of screen 0: a scout (noisy tables of single columns) and a draft from its results.

    Attributes
    ----------
    config : path of the configuration that the draft will write.
    codebook : path of the codebook, which describes the columns of the private file.
    """

    config: Path
    codebook: Path

    @classmethod
    def of(cls, config: Path, codebook: Path) -> Start:
        """Check the inputs of screen 0, and create the folder of the configuration.

        Raises
        ------
        InputError : when the codebook cannot be read, or when `config` is not of the form configs/NAME.toml.
        """
        if (config.parent.name, config.suffix) != ("configs", ".toml"):
            raise InputError(f"{config}: the path of the draft must have the form configs/NAME.toml.")
        read_codebook(codebook)
        config.parent.mkdir(parents=True, exist_ok=True)
        return cls(config=config, codebook=codebook)

    @property
    def into(self) -> Path:
        return self.config.parent.parent

    @property
    def out(self) -> Path:
        return self.into / f"{self.config.stem}-scout"

    def screen(self, query: Mapping[str, str]) -> dict[str, Any]:
        """Return the contents of screen 0, including errors, for the entries in its fields."""
        fields = {name: query.get(name, first)[:200] for name, first in FIELDS.items()}
        shown: dict[str, Any] = dict.fromkeys(("problem", "command", "words", "columns", "refused", "bins"), "")
        shown |= {"fields": fields, "config": self.config, "codebook": self.codebook, "drafted": self.config.exists()}
        shown |= {"out": self.out, "most": f"{100 * MOST_NOISE:g}"}
        try:
            rows = int(fields["rows"]) if fields["rows"].isdecimal() and fields["rows"].isascii() else 0
            texts: dict[str, Any] = {name: fields[name] for name in FIELDS if name not in ("rows", "first_by")}
            request = ScoutRequest(
                codebook=self.codebook,
                title=self.config.stem,
                out=self.out,
                rows=max(rows, 1),
                first_by=names_in(fields["first_by"]),
                **texts,
            )
            scouting = Scouting.of(request)
            shown |= _cost_of(scouting, rows)
            if rows:
                check_noise(scouting)
                words = [program(), "scout", *map(quoted, command_words(request))]
                shown["command"] = " ".join(words)
        except (SynthreleaseError, OverflowError) as error:
            shown["problem"] = str(error)
        try:
            if self.out.exists():
                shown |= _results_of(read_scout(self.out)[0])
        except (SynthreleaseError, OSError) as error:
            shown["refused"] = str(error)
        return shown

    def draft(self) -> None:
        write_scouted_draft(self.config.stem, self.out, self.into)


def _cost_of(scouting: Scouting, rows: int) -> dict[str, Any]:
    cap, deviation = scouting.cap, scouting.noise_sd
    return {
        "words": scouting.in_words(),
        "columns": [(column.name, column.description, kind_in_words(column), column.queries) for column in scouting.columns],
        "deviation": f"{deviation:,.0f}",
        "needed": f"{needed_rows(deviation):,}",
        "share": f"{100 * deviation / rows:.2g}" if rows else "",
        "rest": decimal_text(cap.epsilon - cap.alone),
    }


def kind_in_words(column: ScoutedColumn) -> str:
    """Describe the values of a column by the codebook, such as "whole numbers from 0 to 99"."""
    if column.kind == "listed":
        return so_many(len(column.codes), "code")
    if column.kind == "texts":
        return "texts without a list of codes"
    ends = [f"{name} {float(end):.10g}" for name, end in (("from", column.low), ("to", column.high)) if end is not None]
    return " ".join(["whole numbers" if column.whole else "numbers", *(ends or ["without bounds"])])


def _results_of(document: ScoutDocument) -> dict[str, Any]:
    drafted = document.bins()
    return {
        "rows_found": document.rows,
        "bins": [(each.column.name, _bins_in_words(each), max(0, each.gaps)) for each in drafted],
        "margin": document.margin,
        "distance": f"{100 * document.dependence.value:.2g}",
    }


def _bins_in_words(drafted: ScoutedBins) -> list[str]:
    column = drafted.column
    if column.kind == "number":
        return labels_of(drafted)
    return [*(column.codes.get(code) or code for code in drafted.codes), "all others"]
