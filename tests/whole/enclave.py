"""An enclave to leak from: a private file with 64 planted tokens, and every place where one of them could turn up.

talker.py runs releases in it, test_confidentiality.py looks for the tokens, kills.py stops releases.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from tests.helpers.tiny import ACCEPTANCE, EPSILON, PIPELINE

CHARGED = EPSILON + Fraction(1, 20)
"""What a run charges: the plan of the tiny release, and the number of rows, counted."""
CHARGED_FOR_ONE_ROUND = Fraction("10.55")
"""Where the stop coin always ends the search after one round."""

SHARED = Path("/dev/shm")

CONFIG = (
    """
title = "Accounts"
acceptance = "acceptance.toml"

[input]
missing = "drop"

[columns.face]
kind = "category"
categories = ["head", "tail"]
outside = "drop"

[columns.year]
kind = "integer"
source = "born"
part = "year"
bounds = [2000, 2009]
alternatives.single = ["2000..2009"]

[columns.amount]
kind = "real"
bounds = [0, 1000000000000]
alternatives.two = ["<500000000000", ">=500000000000"]

[columns.number]
kind = "integer"
bounds = [0, 999999999999]
alternatives.two = ["0-499999999999", "500000000000-999999999999"]
"""
    + PIPELINE
)


@dataclass(frozen=True, kw_only=True)
class Tokens:
    """Eight tokens of each kind, sixteen ordinary ones: words, and digits that no other number has."""

    categories: tuple[str, ...]
    headers: tuple[str, ...]
    cells: tuple[str, ...]
    quoted: tuple[str, ...]
    dates: tuple[str, ...]
    reals: tuple[str, ...]
    integers: tuple[str, ...]

    @classmethod
    def drawn(cls) -> Tokens:
        words = iter([f"tk{secrets.token_hex(8)}" for _ in range(40)])
        digits = iter([f"{10**11 + secrets.randbelow(9 * 10**11)}" for _ in range(24)])
        eight = range(8)
        return cls(
            categories=tuple(next(words) for _ in eight), headers=tuple(next(words) for _ in eight),
            cells=tuple(next(words) for _ in range(16)), quoted=tuple(next(words) for _ in eight),
            dates=tuple(next(digits) for _ in eight), reals=tuple(next(digits) for _ in eight),
            integers=tuple(next(digits) for _ in eight),
        )  # fmt: skip

    def all(self) -> tuple[str, ...]:
        return (*self.categories, *self.headers, *self.cells, *self.quoted, *self.dates, *self.reals, *self.integers)

    def forms(self) -> dict[bytes, str]:
        """What to look for: each token as it is, in UTF-16, without its last digits, and as the bytes of a number."""
        found = {form: token for token in self.all() for form in (token.encode(), token.encode("utf-16-le"))}
        for token in (*self.dates, *self.reals, *self.integers):
            found |= {token[:9].encode(): token, struct.pack("<d", float(token)): token, struct.pack("<q", int(token)): token}
        return found


class Enclave:
    """A folder with `private` (specification and data) and what else a process has: home, tmp, work, published, ledger."""

    def __init__(self, folder: Path, changes: Mapping[str, str] | None = None, rows: int = 3000):
        self.folder, self.tokens = folder, Tokens.drawn()
        for name in ("private", "home", "tmp", "work", "published", "printed"):
            (folder / name).mkdir()
        config, acceptance = CONFIG, ACCEPTANCE
        for old, new in (changes or {}).items():
            if old not in config + acceptance:
                raise ValueError(f"no line {old!r}")
            config, acceptance = config.replace(old, new), acceptance.replace(old, new)
        self.config, self.data = folder / "private" / "accounts.toml", folder / "private" / "accounts.csv"
        self.out, self.ledger = folder / "published" / "release", folder / "published" / "release.ledger"
        self.config.write_text(config)
        (folder / "private" / "acceptance.toml").write_text(acceptance)
        self.data.write_text(self._text(rows))

    def _text(self, rows: int) -> str:
        """Rows of which the first 64 hold a token; each also holds some in columns that nobody asked for."""
        tokens = self.tokens
        lines = [",".join(["face", "born", "amount", "number", *tokens.headers, "quoted", "more"])]
        for row in range(rows):
            face = tokens.categories[row] if row < 8 else ("head", "tail")[row % 2]
            born = f"200{row % 10}-04-17"
            born += f"T03:07:21.{tokens.dates[row - 8]}" if 8 <= row < 16 else ""
            amount = f"{tokens.reals[row - 16]}" if 16 <= row < 24 else "12.5"
            number = tokens.integers[row - 24] if 24 <= row < 32 else str(row)
            others = [tokens.cells[row - 32]] * 8 if 32 <= row < 48 else ["x"] * 8
            quoted = f'"a ""{tokens.quoted[row - 48]}"",\n b"' if 48 <= row < 56 else "q"
            lines.append(",".join([face, born, amount, number, *others, quoted, str(row)]))
        return "\n".join(lines) + "\n"

    def command(self, *options: object) -> tuple[str, ...]:
        arguments = ("release", self.config, "--data", self.data, "--out", self.out, "--unrehearsed", *options)
        return tuple(map(str, arguments))

    def written(self) -> list[Path]:
        """Every file in the folder that is not an input."""
        return [path for path in self.folder.rglob("*") if path.is_file() and self.folder / "private" not in path.parents]

    def leaks(self) -> list[str]:
        """Tokens that were found outside the private folder, each with its place; a terminal may have broken lines.

        Looks into shared memory, too, where other programs may be at work.
        """
        found, forms = [], self.tokens.forms()
        shared = SHARED.glob("**/*") if SHARED.is_dir() else ()
        for path in (*self.written(), *shared):
            try:
                content = path.read_bytes() if path.is_file() else b""
            except OSError:
                continue
            dense = b"".join(content.split())
            found += [f"{token} in {path}" for form, token in forms.items() if form in content or form in dense]
            found += [f"{token} in the name {path}" for token in self.tokens.all() if token in str(path)]
        return found

    def too_open(self) -> list[str]:
        """Files and folders under `published` that others may read or change."""
        paths = (self.folder / "published").rglob("*")
        return [f"{path}: {path.stat().st_mode & 0o777:o}" for path in paths if path.stat().st_mode & 0o077]

    def spent(self) -> Fraction:
        """Epsilon charged in the ledger; 0 when there is none."""
        from synthrelease.privacy.ledger import load_ledger

        return Fraction(load_ledger(self.ledger).statement().epsilon) if self.ledger.exists() else Fraction(0)

    def published(self) -> str:
        """Whether a release is there: "whole", "none" or what is wrong with it."""
        if not os.path.lexists(self.out):
            return "none"
        names = {path.name for path in self.out.iterdir()}
        if names < {"data.csv", "release.json"}:
            return f"partial: {sorted(names)}"
        document = json.loads((self.out / "release.json").read_text())
        sound = document["files"]["data.csv"] == hashlib.sha256((self.out / "data.csv").read_bytes()).hexdigest()
        return "whole" if sound else "damaged"
