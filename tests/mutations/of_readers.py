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
        name="reader: values of different types are joined if Python calls them equal",
        breaks="one row decides how all equal values are written",
        place="enclave.databases:_Column.__init__",
        old="{kind: cache(self._number_of) for kind in self._SAME_TEXT}",
        new="dict.fromkeys(self._SAME_TEXT, cache(self._number_of))",
        tests=(OF_PYTHON,),
        core=True,
    ),
    Mutation(
        name="reader: equal instants with different offsets are joined",
        breaks="the first of two offsets decides the date of both",
        place="enclave.databases:_Column",
        old="_SAME_TEXT = (str, int, float, bool, date)",
        new="_SAME_TEXT = (str, int, float, bool, date, datetime)",
        also=(("enclave.databases:_utc", "str(moment.astimezone(UTC))", "str(moment)"),),
        tests=(OF_PYTHON,),
    ),
    Mutation(
        name="reader: a decimal keeps trailing zeros, and equal ones are joined",
        breaks="one 1.50 in PostgreSQL changes the category of every 1.5",
        place="enclave.databases:_Column",
        old="_SAME_TEXT = (str, int, float, bool, date)",
        new="_SAME_TEXT = (str, int, float, bool, date, Decimal)",
        also=(("enclave.databases:value_text", "decimal_text(str(value))", "str(value)"),),
        tests=(OF_PYTHON,),
    ),
    Mutation(
        name="reader: the first equal value decides whether a text was a number",
        breaks="one text 1.5 decides about every number 1.5",
        place="enclave.databases:_Column._number_of",
        old="self._texts[text, not isinstance(value, str)]",
        new=(
            "next((number for (known, _), number in self._texts.items() if known == text), None) "
            "if any(known == text for known, _ in self._texts) else self._texts[text, not isinstance(value, str)]"
        ),
        tests=(OF_PYTHON,),
    ),
    Mutation(
        name="reader: a column is numeric only if no row is a text",
        breaks="one text makes all numbers of its column invalid",
        place="enclave.databases:_Column.texts",
        old="np.array(typed, dtype=bool)",
        new="all(typed)",
        tests=(OF_PYTHON,),
    ),
    Mutation(
        name="reader: a driver that guesses types is accepted",
        breaks="one 0.5 changes how every 1 of the column is written",
        place="sources.source:Source.of",
        old="check_driver(text)",
        new="pass",
        tests=(GUESSING,),
    ),
    Mutation(
        name="reader: a text that is not UTF-8 stops the reading of SQLite",
        breaks="one record decides after the charge whether there is a release",
        place="enclave.databases:_sqlite",
        old='opened.connection.text_factory = methodcaller("decode", "utf-8", NO_TEXT)',
        new="pass",
        tests=(f"{ALONE}::test_rows_of_sqlite_with_bytes_that_are_no_text",),
    ),
    Mutation(
        name="numbers: a whole float gets an exponent",
        breaks="10^16 is one category as a float and another as an integer",
        place="enclave.texts:float_text",
        old="str(int(number)) if number.is_integer() else _plain(Decimal(float.__repr__(number)))",
        new="str(int(number)) if number.is_integer() and abs(number) < 2**53 else float.__repr__(number)",
        tests=(NUMBERS,),
    ),
    Mutation(
        name="numbers: a decimal keeps trailing zeros",
        breaks="1.50 and 1.5 are two categories",
        place="enclave.texts:_plain",
        old="text.rstrip('0').rstrip('.')",
        new="text",
        tests=(NUMBERS,),
    ),
    Mutation(
        name="numbers: a listed 1.50 does not match 1.5 of the file",
        breaks="the missing value 97.0 is read as the number 97",
        place="enclave.values:_Listed.of",
        old="self._texts.get(number, self._numbers.get(number))",
        new="self._texts.get(number)",
        tests=(ONE_VALUE,),
    ),
    Mutation(
        name="numbers: the decimal mark is required of numbers, too",
        breaks="a numeric column of SQLite is refused after the charge",
        place="enclave.values:atomic_bins",
        old="np.where(cells.typed, *bins)",
        new="bins[1]",
        tests=(ONE_VALUE,),
    ),
    Mutation(
        name="Parquet: a part is unpacked without a limit",
        breaks="46 KB need gigabytes of memory",
        place="enclave.columnar:parquet_batches",
        old="check_parquet(opened.metadata, needed)",
        new="pass",
        tests=(UNPACKED,),
    ),
    Mutation(
        name="Arrow: text values have no limit",
        breaks="one format accepts what another refuses",
        place="enclave.columnar:column_texts",
        old="raise too_long(name)",
        new="pass",
        tests=(UNPACKED,),
    ),
    Mutation(
        name="fixed width: the first line of a block decides whether letters have several bytes",
        breaks="another row decides where a row is cut",
        place="enclave.fixed_width:_columns",
        old="all(line.isascii() for line in lines)",
        new="lines[0].isascii()",
        tests=(f"{FIXED}::test_every_line_is_read_by_itself_alone",),
    ),
    Mutation(
        name="fixed width: lines of another record type count as rows",
        breaks="households count as persons",
        place="enclave.fixed_width:_of_type",
        old="np.array([text == record for text in types.texts])[types.codes]",
        new="np.ones(len(types.codes), dtype=bool)",
        tests=(f"{FIXED}::test_of_a_hierarchical_file_one_record_type_may_be_read_alone",),
    ),
    Mutation(
        name="fixed width: an empty line is skipped",
        breaks="the number of rows depends on the content of a row",
        place="enclave.fixed_width:fixed_width_batches",
        old="if not lines[-1]:\n    lines.pop()",
        new="lines = [line for line in lines if line.strip()]",
        tests=(f"{FIXED}::test_every_line_is_read_by_itself_alone",),
    ),
    Mutation(
        name="fixed width: the first bytes of the file are inspected",
        breaks="the first row decides without a charge whether a run begins",
        place="releasing.opening:has_row",
        old="policy.fixed_width is not None",
        new="False",
        tests=("tests/test_no_row_decides.py::test_of_a_file_without_a_header_not_even_the_first_line_decides",),
    ),
)
