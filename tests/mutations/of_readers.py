"""Mutations of what a reader owes (theory 1.8, reading row by row): texts before joining, no guesses, one text of a number."""

from __future__ import annotations

from tests.mutations.machinery import Mutation

ALONE, ONE_VALUE, NUMBERS, UNPACKED = (
    f"tests/enclave/test_{name}.py" for name in ("rows_alone", "one_value", "number_texts", "unpacked")
)
OF_PYTHON = f"{ALONE}::test_rows_of_values_of_python"
GUESSING = "tests/enclave/test_databases.py::test_a_driver_that_may_guess_types_from_rows_is_refused_before_anything_is_opened"
FIXED = "tests/studio/drafting/test_fixed_width.py"

OF_READERS = (
    Mutation(
        name="reader: values of all types are joined when Python calls them equal",
        breaks="one row decides whether 10^16 or 1e16, 1 or True, stands for all others",
        place="enclave.databases:_Column.__init__",
        old="{kind: cache(self._number_of) for kind in self._SAME_TEXT}",
        new="dict.fromkeys(self._SAME_TEXT, cache(self._number_of))",
        tests=(OF_PYTHON,),
        core=True,
    ),
    Mutation(
        name="reader: moments are joined when they are the same instant, each with its own offset",
        breaks="the first of two offsets stands for both, and with it the date",
        place="enclave.databases:_Column",
        old="_SAME_TEXT = (str, int, float, bool, date)",
        new="_SAME_TEXT = (str, int, float, bool, date, datetime)",
        also=(("enclave.databases:_utc", "str(moment.astimezone(UTC))", "str(moment)"),),
        tests=(OF_PYTHON,),
    ),
    Mutation(
        name="reader: a decimal keeps the zeros at its end, and equal ones are joined",
        breaks="one 1.50 in PostgreSQL's numeric moves every 1.5 to another category",
        place="enclave.databases:_Column",
        old="_SAME_TEXT = (str, int, float, bool, date)",
        new="_SAME_TEXT = (str, int, float, bool, date, Decimal)",
        also=(("enclave.databases:value_text", "decimal_text(str(value))", "str(value)"),),
        tests=(OF_PYTHON,),
    ),
    Mutation(
        name="reader: whether a text was a number is asked of the first equal one",
        breaks='under decimal = "," one text 1.5 makes every number 1.5 none',
        place="enclave.databases:_Column._number_of",
        old="self._texts[text, not isinstance(value, str)]",
        new=(
            "next((number for (known, _), number in self._texts.items() if known == text), None) "
            "if any(known == text for known, _ in self._texts) else self._texts[text, not isinstance(value, str)]"
        ),
        tests=(OF_PYTHON,),
    ),
    Mutation(
        name="reader: a column is of numbers when no row is a text",
        breaks='under decimal = "," one text makes all numbers of its column wrong',
        place="enclave.databases:_Column.texts",
        old="np.array(typed, dtype=bool)",
        new="all(typed)",
        tests=(OF_PYTHON,),
    ),
    Mutation(
        name="reader: a driver that guesses types is asked",
        breaks="one 0.5 makes 1.000000e+00 of every 1 of the column",
        place="sources.source:Source.of",
        old="check_driver(text)",
        new="pass",
        tests=(GUESSING,),
    ),
    Mutation(
        name="reader: a text of SQLite that is no UTF-8 stops the reading",
        breaks="one record decides whether there is a release, after the charge",
        place="enclave.databases:_sqlite",
        old='opened.connection.text_factory = methodcaller("decode", "utf-8", NO_TEXT)',
        new="pass",
        tests=(f"{ALONE}::test_rows_of_sqlite_with_bytes_that_are_no_text",),
    ),
    Mutation(
        name="numbers: a whole float has an exponent",
        breaks="10^16 is another category from a float than from an integer",
        place="enclave.texts:float_text",
        old="str(int(number)) if number.is_integer() else _plain(Decimal(float.__repr__(number)))",
        new="str(int(number)) if number.is_integer() and abs(number) < 2**53 else float.__repr__(number)",
        tests=(NUMBERS,),
    ),
    Mutation(
        name="numbers: a decimal keeps the zeros at its end",
        breaks="1.50 and 1.5 are two categories",
        place="enclave.texts:_plain",
        old="text.rstrip('0').rstrip('.')",
        new="text",
        tests=(NUMBERS,),
    ),
    Mutation(
        name="numbers: a listed 1.50 is not the 1.5 of the file",
        breaks="a missing value 97.0 is a number of 97 where the file knows numbers",
        place="enclave.values:_Listed.of",
        old="self._texts.get(number, self._numbers.get(number))",
        new="self._texts.get(number)",
        tests=(ONE_VALUE,),
    ),
    Mutation(
        name="numbers: the decimal mark is asked of numbers, too",
        breaks="a column of numbers in SQLite is refused under a decimal comma, after the charge",
        place="enclave.values:atomic_bins",
        old="np.where(cells.typed, *bins)",
        new="bins[1]",
        tests=(ONE_VALUE,),
    ),
    Mutation(
        name="Parquet: a part is unpacked whatever it takes",
        breaks="46 KB take gigabytes of memory",
        place="enclave.columnar:parquet_batches",
        old="check_parquet(opened.metadata, needed)",
        new="pass",
        tests=(UNPACKED,),
    ),
    Mutation(
        name="Arrow: a text may be as long as it likes",
        breaks="one format takes what another one refuses",
        place="enclave.columnar:column_texts",
        old="raise too_long(name)",
        new="pass",
        tests=(UNPACKED,),
    ),
    Mutation(
        name="fixed width: the first line of a block says whether letters have several bytes",
        breaks="where a row is cut depends on another row",
        place="enclave.fixed_width:_columns",
        old="all(line.isascii() for line in lines)",
        new="lines[0].isascii()",
        tests=(f"{FIXED}::test_every_line_is_read_by_itself_alone",),
    ),
    Mutation(
        name="fixed width: lines of another record type are rows, too",
        breaks="households stand among persons",
        place="enclave.fixed_width:_of_type",
        old="np.array([text == record for text in types.texts])[types.codes]",
        new="np.ones(len(types.codes), dtype=bool)",
        tests=(f"{FIXED}::test_of_a_hierarchical_file_one_record_type_may_be_read_alone",),
    ),
    Mutation(
        name="fixed width: an empty line is no row",
        breaks="how many rows there are depends on what a row holds",
        place="enclave.fixed_width:fixed_width_batches",
        old="if not lines[-1]:\n    lines.pop()",
        new="lines = [line for line in lines if line.strip()]",
        tests=(f"{FIXED}::test_every_line_is_read_by_itself_alone",),
    ),
    Mutation(
        name="fixed width: what the file begins with is looked at",
        breaks="the first row decides, unpaid, whether a run begins",
        place="releasing.opening:has_row",
        old="policy.fixed_width is not None",
        new="False",
        tests=("tests/test_no_row_decides.py::test_of_a_file_without_a_header_not_even_the_first_line_decides",),
    ),
)
