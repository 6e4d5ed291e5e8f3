"""What each column of whole numbers of the public tables at hand truly is, and what a draft takes it for.

Columns whose values are an order of classes (of education, of ages in groups) may be either. Leading zeros of codes are taken
away, too: most files have lost them.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from synthrelease.studio.drafting.column_draft import ColumnDraft
from tests.benchmarks.messy_registers import discharges, prescriptions
from tests.conftest import ROOT
from tests.studio.drafting.test_kinds import drafted

pytestmark = pytest.mark.slow

SHARED = ROOT.parent / "shared" / "data"
COVID = "SECTOR ENTIDAD_UM SEXO ENTIDAD_NAC ENTIDAD_RES MUNICIPIO_RES TIPO_PACIENTE INTUBADO NEUMONIA DIABETES RESULTADO UCI"
SDNIST = "SEX MSP HISP RAC1P HOUSING_TYPE OWN_RENT INDP INDP_CAT DREM DPHY DEYE DEAR"
LABOUR = "sex marital_status birth_country labour_status contract relationship municipality"
TABLES = {
    "adult.csv.gz": ("", "age capital-gain capital-loss hours-per-week"),
    "covid_mexico_20200430.csv.gz": (COVID, "EDAD"),
    "nvss2019_singleton_births_160k.csv.gz": ("", "mother_age parity gestation_week birth_weight"),
    "sdnist/national/national2019.csv": (SDNIST, "AGEP PINCP NPF"),
    "travel_households.csv.gz": ("SUBREG_GRP SUBREGCluster", ""),
    "travel_members.csv.gz": ("POcc PEmp PGender", ""),
    "labour": (LABOUR, "age household_size hours wage search_weeks commute"),
    "births": ("", "mother_age parity gestation_week birth_weight"),
    "discharges": ("municipality county", "age days systolic year"),
    "prescriptions": ("sex", "repeats age birth_year"),
}
"""Codes and quantities. POVPIP and made-up codes that nothing depends on are not among them: no draft could tell."""


@cache
def table(name: str) -> pd.DataFrame:
    if name in ("labour", "births"):
        frame = pd.read_csv(ROOT / "public_data" / f"{name}_surrogate.csv.gz", dtype=str)
    elif name in ("discharges", "prescriptions"):
        make = discharges if name == "discharges" else prescriptions
        frame = make(20_000, np.random.default_rng(20261122)).astype(str)
    else:
        if not (SHARED / name).exists():
            pytest.skip("the shared tables are not here")
        frame = pd.read_csv(SHARED / name, dtype=str, encoding="latin-1", skipinitialspace=True)
    frame = frame.fillna("")
    most = 15_000 if name in ("discharges", "prescriptions") else 8_000  # hundreds of codes are each seen often enough to tell
    return frame if len(frame) <= most else frame.sample(most, random_state=1)


@pytest.mark.parametrize("zeros", ["as they are", "lost"])
@pytest.mark.parametrize("name", TABLES)
def test_columns_are_what_they_are(name: str, zeros: str, tmp_path: Path) -> None:
    frame = table(name)
    if zeros == "lost":
        frame = frame.apply(lambda column: column.map({text: re.sub(r"^0+(?=\d)", "", text) for text in column.unique()}))
    found = drafted(frame, tmp_path)
    codes, numbers = (set(names.split()) for names in TABLES[name])
    kinds = {source: one for source, one in found.items() if isinstance(one, ColumnDraft) and source in codes | numbers}
    assert {source for source in codes if source not in kinds} <= {"municipality"}  # 290 codes, of which none is frequent
    assert {source for source, one in kinds.items() if source in codes and one.bins} == set()
    assert {source for source, one in kinds.items() if source in numbers and not one.bins} == set()
    whole = [one for one in found.values() if isinstance(one, ColumnDraft)]
    assert sum(bool(one.doubt) for one in whole) <= 0.2 * len(whole) + 1  # of all that a steward goes through
