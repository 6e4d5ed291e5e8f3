"""A tiny release for tests that need whole runs: two columns, 400 rows (a public number), a second of work."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path

from synthrelease.bundle.write import write_bundle
from synthrelease.releasing.release import release
from synthrelease.spec.load import load_spec

PIPELINE = """
[[generators]]
family = "privbayes"
flavour = "degree"
degree = 1
epsilon_split = 0.5

[[projections]]
kind = "minimum_count"
minimum_count = 2

[budget]
generation = 10
limit = 25

[selection]
stop_probability = 0.001
"""
"""What follows the columns: a generator, a projection, and what they may cost."""

CONFIG = (
    """
title = "Coins"
acceptance = "acceptance.toml"

[input]
rows = 400

[columns.face]
kind = "category"
categories = ["head", "tail"]

[columns.year]
kind = "integer"
bounds = [1, 8]
alternatives.pairs = ["1-2", "3-4", "5-6", "7-8"]

[[rules]]
never = "face == 'tail' and year > 6"
"""
    + PIPELINE
)

ACCEPTANCE = """
[[criteria]]
name = "marginals"
kind = "absolute_marginal_error"
threshold = 0.9
epsilon = 0.5

[[criteria]]
name = "face privacy"
kind = "face_privacy"
minimum_count = 2
"""

MEASURED = {
    'family = "privbayes"\nflavour = "degree"\ndegree = 1\nepsilon_split = 0.5': 'family = "marginals"\ntables = "face:year"',
    "[selection]": '[selection]\nmeasurements = "shared"\npublish_measurements = true',
}
"""Changes of both files to a release that publishes its noisy tables."""

_KNOWN = '[not_promised]\ndependence = true\nwhy = "It is a toy"\n\n'
NOT_PROMISED = {'[[criteria]]\nname = "marginals"': _KNOWN + '[[criteria]]\nname = "marginals"'}
"""A change of the acceptance file, whose threshold independent columns pass: without it no rehearsed shortlist is released."""

EPSILON = Fraction("17.3805912")
SPENT = "17.3805912"
"""10.5 + ln((E + 0.001) / (1 + 0.001 E)), E = e^10.5, rounded up: a round of 10 + 0.5 with a stop probability of 0.001."""


def write_config(folder: Path, changes: Mapping[str, str] | None = None) -> Path:
    """Write both files; `changes` replaces lines, each of which must be there."""
    config, acceptance = CONFIG, ACCEPTANCE
    for old, new in (changes or {}).items():
        if old not in config + acceptance:
            raise ValueError(f"no line {old!r}")
        config, acceptance = config.replace(old, new), acceptance.replace(old, new)
    (folder / "coins.toml").write_text(config)
    (folder / "acceptance.toml").write_text(acceptance)
    return folder / "coins.toml"


def write_measured_release(work: Path, folder: Path, changes: Mapping[str, str] | None = None) -> Path:
    """A tiny release that publishes its noisy tables; both files and the data are in `work`."""
    result = release(load_spec(write_config(work, {**MEASURED, **(changes or {})})), write_data(work))
    if result is None:
        raise ValueError("nothing was released")
    write_bundle(result, folder)
    return folder


def write_data(folder: Path) -> Path:
    """400 plausible rows and one that is not."""
    rows = [f"{face},{year}" for face in ("head", "tail") for year in range(1, 7) for _ in range(30)]
    rows += ["head,7"] * 20 + ["head,8"] * 20 + ["tail,8"]
    (folder / "coins.csv").write_text("face,year\n" + "\n".join(rows) + "\n")
    return folder / "coins.csv"
