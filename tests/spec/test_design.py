"""What [design] may state of a sample: refused before a file is read where it names what is not there, or would be released."""

from __future__ import annotations

from pathlib import Path

import pytest

from synthrelease.bundle.options import DesignPart
from synthrelease.errors import SpecError
from synthrelease.spec.load import load_spec
from tests.helpers.tiny import write_config

SELECTION = "[selection]\nstop_probability = 0.001\n"
WEIGHT = {
    "rows = 400": 'rows = 400\none_row_per = "respondent"',
    'alternatives.pairs = ["1-2",': 'role = "weight"\nalternatives.pairs = ["1-2",',
}
REFUSED = {
    "a weight that is none": ('weight = "year"', {}, "a column with role = \"weight\"; found 'year'"),
    "a weight that is not named": ('strata = ["region"]', WEIGHT, "the column with role = \"weight\" ('year'); found nothing"),
    "clusters that are released": ('clusters = "face"', {}, "found 'face', which 'face' is read from"),
    "an effect without a source": ("effect = 2", {}, "effect and source need each other"),
    "an effect below 1": ('effect = 0.9\nsource = "x"', {}, "expected a number from 1 to 1,000"),
    "an effect of no column": ('effect = { faces = 2 }\nsource = "x"', {}, "found 'faces'"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_design_that_cannot_be_is_refused(case: str, tmp_path: Path) -> None:
    lines, changes, expected = REFUSED[case]
    with pytest.raises(SpecError) as caught:
        load_spec(write_config(tmp_path, {SELECTION: f"{SELECTION}\n[design]\n{lines}\n", **changes}))
    assert expected in " ".join(str(caught.value).split())


def test_a_design_effect_is_that_of_the_columns_that_are_estimated() -> None:
    part = DesignPart(weight=None, strata=[], clusters="tract", effect={"wage": 3, "sex": 1.5}, source="A report")
    assert part.effect_on(["wage", "sex"]) == 3
    assert part.effect_on(["sex"]) == 1.5
    assert part.effect_on(["sex", "age"]) is None
    assert part.effect_on([]) == 1
