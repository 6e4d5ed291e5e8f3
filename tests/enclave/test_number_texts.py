"""A number has one text: that of Python's decimals written out, whatever type holds it, and read back it is the number."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from time import process_time

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from synthrelease.enclave.texts import decimal_text, float_text, float_texts, key_text, whole_text


def slowly(number: Decimal) -> str:
    """Python writes a decimal out; its zeros at the end are taken off one by one."""
    text = format(number, "f")
    while "." in text and text[-1] in "0.":
        text = text[:-1]
    return "0" if text == "-0" else text


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(st.decimals(allow_nan=False, allow_infinity=False).filter(lambda number: abs(number.adjusted()) < 300))
@example(Decimal("-0.00"))
@example(Decimal("1.0E+16"))
@example(Decimal("0E+7"))
def test_a_decimal_is_written_out_without_needless_zeros(number):
    assert decimal_text(str(number)) == slowly(number)
    assert Fraction(decimal_text(str(number))) == Fraction(number)


@settings(max_examples=200, deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False))
@example(1e23)
@example(-0.0)
@example(5e-324)
@example(2.0**53 + 2)
def test_the_text_of_a_float_is_read_as_the_same_float(number):
    text = float_text(number)
    assert float(text) == number
    assert text == slowly(Decimal(int(number)) if number.is_integer() else Decimal(repr(number)))


@settings(max_examples=100, deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False, width=32))
@example(123456792.0)
def test_a_float_of_32_bits_is_written_as_short_as_it_can_be_told(number):
    (text,) = float_texts(np.array([number], dtype=np.float32))
    assert np.float32(text) == np.float32(number)
    assert text == slowly(Decimal(str(np.float32(number))))


@settings(max_examples=100, deadline=None)
@given(st.integers(-(10**30), 10**30), st.integers(0, 5))
def test_a_whole_number_has_the_same_text_in_every_type(number, zeros):
    with localcontext(prec=60):
        written = [whole_text(number), decimal_text(str(Decimal(number))), decimal_text(f"{number}.{'0' * zeros}")]
        written.append(decimal_text(str(Decimal(number).normalize())))
    if int(float(number)) == number:
        written.append(float_text(float(number)))
    assert set(written) == {str(number)}


def test_what_is_no_number_has_no_text_or_its_name():
    assert [decimal_text(text) for text in ("NaN", "sNaN12", "-NaN", "Infinity", "-Infinity", "-inf")] == [
        None, None, None, "inf", "-inf", "-inf",
    ]  # fmt: skip
    assert float_texts(np.array([np.nan, np.inf, -np.inf])) == [None, "inf", "-inf"]
    assert float_texts(np.array([np.nan, np.inf, -np.inf], dtype=np.float32)) == [None, "inf", "-inf"]


def test_a_number_of_more_digits_than_a_float_has_gets_an_exponent():
    assert [decimal_text(text) for text in ("1.50E+5000", "-2E-900", "1E+400", "1E+399")] == [
        "1.5e+5000", "-2e-900", "1e+400", "1" + "0" * 399,
    ]  # fmt: skip
    assert [whole_text(number) for number in (10**5000, -(10**400), 10**399)] == ["1e+5000", "-1e+400", "1" + "0" * 399]


def as_programs_write_it(number: Decimal) -> set[str]:
    """A number other than 0, by Python, R, Excel, Java and Fortran: with or without a point, an exponent, zeros, a plus."""
    sign, digits, power = number.normalize().as_tuple()
    mantissa, minus = "".join(map(str, digits)), "-" * sign
    fortran = power + len(mantissa)
    texts = {
        f"{number:f}",
        str(number),
        number.to_eng_string(),
        f"{number:.40e}",
        f"{number:.40E}",
        f"{minus}.{mantissa}E{fortran:+}",
    }
    texts |= {f"{minus}0.{mantissa}{letter}{fortran:+03d}" for letter in "EDed"}
    texts |= {f"{minus}{mantissa}e{power:+d}", f"{minus}{mantissa}.0E{power}", f"{minus}{mantissa}0e{power - 1:+04d}"}
    texts |= {
        f"{text}{end}"
        for text in texts
        if "." in text and text[-3:].isdigit() and "e" not in text.lower()
        for end in ("0", "000")
    }
    return {text for text in texts if not text.isalnum()} | {f"+{text}" for text in texts if not sign}


@settings(max_examples=200, deadline=None)
@given(st.decimals(allow_nan=False, allow_infinity=False, places=4, min_value=-(10**12), max_value=10**12).filter(bool))
@example(Decimal(12))
@example(Decimal("0.5"))
@example(Decimal(100000))
def test_a_number_is_one_key_whichever_program_wrote_it(number: Decimal) -> None:
    """The reference is the number, written out."""
    texts = as_programs_write_it(number)
    assert {Fraction(Decimal(text.upper().replace("D", "E"))) for text in texts} == {Fraction(number)}
    assert {key_text(f" {text} ") for text in texts} == {slowly(number)}
    with_commas = {key_text(text.replace(".", ","), ",") for text in texts}
    assert with_commas | {key_text(text, ",", typed=True) for text in texts} == {slowly(number).replace(".", ",")}


def test_zero_is_one_key() -> None:
    texts = ["0", "-0", "+0", "0.0", ".0", "0.", "0e+00", "0.0000e+00", "0.0E0", "0E-7", "-0.0", "0.00D+00", "0.0e-999999"]
    assert {key_text(text) for text in texts} == {"0"}


@pytest.mark.parametrize(
    "code",
    [
        "007", "1E5", "12E5", "12e1", "0E0", "12D-5", "A-1", "1.2.3", "1,5", "0x12", "12 0", "12-0", "", ".", "-", "E+1",
        ".E+1", "+", "1e+", "1_0.0", "\u0661\u0662", "\u0661.0", "1e+1000000000000000",
    ],
)  # fmt: skip
def test_what_may_be_a_code_stays_as_it_is(code: str) -> None:
    assert key_text(code) == code


def test_a_code_keeps_its_zeros_and_loses_those_behind_the_point() -> None:
    assert {key_text(text) for text in ("007", "007.", "007.0", "+007")} == {"007"}
    assert {key_text(text) for text in ("-007", "-007.00")} == {"-007"}
    assert {key_text(text) for text in ("00.5", "00.50", "+00.500")} == {"00.5"}
    assert key_text("007,0", ",") == "007"
    assert key_text("00,50", ",") == "00,5"
    assert key_text("007E+00") == "7"  # no program that knows the code writes it with an exponent


def test_with_a_decimal_comma_a_text_with_a_point_is_no_number() -> None:
    assert {key_text(text, ",") for text in ("12,5", "12,50", "1,25E+01", "+12,5")} == {"12,5"}
    assert {key_text("12.5", ",", typed=True), key_text("12.50", ",", typed=True)} == {"12,5"}
    assert [key_text(text, ",") for text in ("12.5", "12.50", "12.0", "1.25E+01")] == ["12.5", "12.50", "12.0", "1.25E+01"]


@pytest.mark.parametrize(
    "text", ["0" * 100_000 + "x", "0" * 100_000 + ".0x", "1." + "0" * 100_000 + "x", "1e+" + "0" * 100_000 + "x"]
)
def test_a_long_text_takes_time_that_grows_with_its_length(text: str) -> None:
    """Trying all ways to share out the zeros would take minutes for one field."""
    begin = process_time()
    assert key_text(text) == text
    assert process_time() - begin < 0.4


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="0123456789+-.,eED A", max_size=9), st.sampled_from(".,"))
def test_the_normal_form_of_a_key_is_its_own(text: str, decimal: str) -> None:
    found = key_text(text, decimal)
    assert key_text(found, decimal) == found


@given(st.integers(-(10**30), 10**30), st.integers(0, 9))
def test_every_way_to_hold_a_whole_number_gives_one_key(number: int, zeros: int) -> None:
    texts = {key_text(str(number)), key_text(f"{number}.{'0' * zeros}"), key_text(decimal_text(str(Decimal(number))))}
    assert texts == {whole_text(number)}
