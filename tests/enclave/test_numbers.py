"""Numbers that are read all at once are those that Python reads one by one, and so are their bins."""

from __future__ import annotations

import subprocess
import sys
from decimal import Decimal
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from synthrelease.enclave import values
from synthrelease.enclave.columnar import StringTexts, as_texts
from synthrelease.enclave.texts import LazyTexts, Texts
from synthrelease.settings.columns import InputTable
from tests.conftest import ROOT
from tests.helpers.people import schema_of

WRITTEN = (
    st.text("0123456789", max_size=18)
    | st.text("0189.,+- eExX_'\u0663", max_size=20)
    | st.builds("{}{}.{}".format, st.sampled_from(["", "-", "+"]), st.text("0459", max_size=9), st.text("0459", max_size=9))
    | st.floats(allow_nan=True).map(str)
    | st.floats(-1000, 1000).map("{:.3f}".format)
    | st.integers(-(2**70), 2**70).map(str)
)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(texts=st.lists(WRITTEN, min_size=1, max_size=30), decimal=st.sampled_from(".,"))
@example(texts=["", "+", ".", "-.", "5.", ".5", "1..2", "+-1", "1-2", "999999999999999", "1000000000000000", "-0"], decimal=".")
@example(texts=["96.48064786969077", "7\n", "1" * 30, "." + "9" * 30, "9" * 31], decimal=".")
@example(texts=["0.3", "0,3", "1,000", "4.35", "0.000000000000001", "9007199254740993"], decimal=",")
def test_a_number_of_many_is_what_python_reads(texts, decimal):
    numbers, plain = StringTexts(pa.array(["7", *texts, "8"])[1:-1]).numbers(decimal)
    for text, number, known in zip(texts, numbers, plain, strict=True):
        written = text if decimal == "." else "" if "." in text else text.replace(",", ".")
        strictly = float(written) if values._NUMBER.fullmatch(written) else None
        if known:
            assert (number, np.signbit(number)) == (strictly, np.signbit(strictly))
        else:  # left to the strict reading: no number, an exponent, a plus, or too many digits
            assert strictly is None or "e" in text.lower() or "+" in text or sum(map(str.isdigit, text)) > 30


MISSING = InputTable(missing_values=["", "-9", "97.0", "1,5", " 12", "1e1", "NA"], missing="drop")


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(
    texts=st.lists(WRITTEN | st.sampled_from(["-9", "-9.0", "97", "97.0", "1.5", "12", "12.", "10", "120.0"]), max_size=12),
    name=st.sampled_from(["age", "height"]),
    outside=st.sampled_from(["clip", "drop"]),
    decimal=st.sampled_from(".,"),
    typed=st.booleans(),
)
def test_bins_of_many_texts_are_those_of_each(texts, name, outside, decimal, typed):
    (column,) = schema_of(name, outside=outside, missing="drop").columns
    policy = MISSING.model_copy(update={"decimal": decimal})
    cells = Texts(texts=StringTexts(pa.array(texts, pa.string())), codes=np.arange(len(texts)), typed=typed)
    with patch.object(values, "MANY", 1):
        fast = values.atomic_bins({column.source: cells}, column, policy, {})
    slow = values.atomic_bins({column.source: Texts(texts=texts, codes=cells.codes, typed=typed)}, column, policy, {})
    assert fast.rows().tolist() == slow.rows().tolist()


def plainly(number: float, precise: type[np.floating]) -> str:
    """A float by Python's own decimals."""
    if np.isfinite(number):
        whole = number.is_integer() and precise is np.float64
        text = str(int(number)) if whole else format(Decimal(str(precise(number))), "f")
        return text.removesuffix(".0")
    return str(number)


@pytest.mark.parametrize("nulls", [False, True])
@pytest.mark.parametrize(
    "array",
    [
        pa.array([-128, 127, 5], pa.int8()),
        pa.array([0, 255], pa.uint8()),
        pa.array([7, 3], pa.uint64()),
        pa.array([2**64 - 1, 2**64 - 3], pa.uint64()),
        pa.array([-(2**63), 2**63 - 1, 0], pa.int64()),
        pa.array([2**53 + 1, 2**53 + 3], pa.int64()),
        pa.array([0.1, 1e22, 3.0, -0.0, float("inf"), 1e-9], pa.float64()),
        pa.array([0.1, 3.0, 1e22], pa.float32()),
        pa.array(["1", "01", " 1"]),
        pa.array([], pa.int32()),
    ],
    ids=str,
)
def test_a_column_of_arrow_has_the_text_of_each_of_its_values(array, nulls):
    """One scalar of Arrow after the other, a whole number as such also where it is a float, others without an exponent."""
    array = pa.concat_arrays([array, pa.nulls(1, array.type), array]) if nulls else array
    found = as_texts(array)
    assert np.can_cast(found.codes.dtype, np.int64)  # what bincount of every NumPy takes
    scalars = [each.as_py() for each in array]
    precise = np.float32 if array.type == pa.float32() else np.float64
    expected = [plainly(each, precise) if isinstance(each, float) else each for each in scalars]
    texts = [found.texts[code] for code in found.codes]
    assert texts == [None if each is None else str(each) for each in expected]
    if isinstance(found.texts, LazyTexts):
        numbers, known = found.texts.numbers(".")
        for text, number, sure in zip(found.texts, numbers, known, strict=True):
            assert not sure or (text is not None and number == float(text))


def test_what_a_text_means_is_asked_once_and_forgotten_when_there_are_too_many():
    asked: list[str | None] = []
    known = values.Known(lambda text: asked.append(text) or len(text or ""))
    assert known.of(["a", "bb", None, "a"]).tolist() == [1, 2, 0, 1]
    assert asked == ["a", "bb", None]
    long = "x" * (values.Known.LONGEST + 1)
    assert known.of([long, long]).tolist() == [51, 51]
    assert long not in known
    with patch.object(values.Known, "MOST", 4):
        assert known.of(["c", "dd", "eee", "a"]).tolist() == [1, 2, 3, 1]
        assert len(known) <= 4


@pytest.mark.slow
def test_reading_numbers_of_a_text_file_loads_no_pandas(tmp_path):
    """pyarrow loads it to make an array or a scalar of a Python object: half a second, and 40 MB."""
    (tmp_path / "data.csv").write_text("a,b\n" + "".join(f"{number / 8},x\n" for number in range(2 * values.MANY)))
    code = (
        "import sys; from synthrelease.enclave.csv import csv_batches; from synthrelease.settings.columns import InputTable; "
        "from pathlib import Path; "
        f"(_, found), = csv_batches(Path({str(tmp_path / 'data.csv')!r}), ['a'], InputTable(), False, 10**5, 2**25); "
        "numbers, known = found['a'].texts.numbers('.'); assert known.all() and numbers[3] == 3 / 8; "
        "assert 'pandas' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)
