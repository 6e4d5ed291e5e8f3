"""Mutations of the readers: what a file hides, what it says of itself, what a library says, and passwords of databases."""

from __future__ import annotations

from tests.mutations.machinery import Mutation

PLAIN, FORMATS, DATABASES, NUMBERS, COUNTING, MANY = (
    f"tests/enclave/test_{name}.py" for name in ("plain_csv", "formats", "databases", "numbers", "counting", "many_files")
)
MISSING_CODES = f"{FORMATS}::test_spss_gives_codes_not_labels_and_its_missing_codes_are_public_rules_to_decide"
CUT_OFF = f"{FORMATS}::test_a_file_that_is_cut_off_is_refused_without_a_value"
NO_URI = f"{DATABASES}::test_a_uri_with_a_user_or_password_is_refused_and_not_shown"

OF_FORMATS = (
    Mutation(
        name="plain lines: a zero byte passes",
        breaks="a file that csv refuses is read, and its texts are cut",
        place="enclave.csv:PlainReader.columns",
        old='b"\\0" in data',
        new="False",
        tests=(PLAIN,),
    ),
    Mutation(
        name="plain lines: an open quote passes",
        breaks="rows disappear inside a field without a message",
        place="enclave.csv:_quotes_are_plain",
        old="len(quotes) % 2",
        new="False",
        tests=(PLAIN,),
    ),
    Mutation(
        name="plain lines: text after a closing quote passes",
        breaks="a damaged row is read as a complete one",
        place="enclave.csv:_quotes_are_plain",
        old="np.isin(around[last + 2], (delimiter, _NEWLINE, _RETURN)).all()",
        new="True",
        tests=(PLAIN,),
    ),
    Mutation(
        name="plain lines: a line end inside quotes passes",
        breaks="one row becomes two",
        place="enclave.csv:_quotes_are_plain",
        old="(np.searchsorted(ends, first) == np.searchsorted(ends, last)).all()",
        new="True",
        also=(
            ("enclave.csv:PlainReader.columns", "table.num_rows != data.count(b'\\n') + (not data.endswith(b'\\n'))", "False"),
        ),
        tests=(PLAIN,),
    ),
    Mutation(
        name="numbers at once: a missing value is read as a number",
        breaks="a person is counted with age -9",
        place="enclave.values:_bins_of_numbers",
        old="plain &= ~np.isin(numbers, _numbers_that_may_be_missing(column, policy))",
        new="pass",
        tests=(f"{NUMBERS}::test_bins_of_many_texts_are_those_of_each",),
    ),
    Mutation(
        name="numbers at once: a point is accepted where a comma is declared",
        breaks="1.5 is a number in some parts of a file and not in others",
        place="enclave.columnar:StringTexts.numbers",
        old="_PLAIN.format(mark=re.escape(decimal))",
        new="_PLAIN.format(mark='[.,]')",
        tests=(f"{NUMBERS}::test_a_number_of_many_is_what_python_reads",),
    ),
    Mutation(
        name="threads: results arrive in the order of completion",
        breaks="the speed of a thread decides which mistake and row a message names",
        place="data.ahead:Ahead.next",
        old="self._waiting.popleft()",
        new="self._waiting.pop()",
        tests=(f"{COUNTING}::test_results_and_errors_come_in_the_order_of_the_parts",),
    ),
    Mutation(
        name="counting: a row without a bin counts in the first bin",
        breaks="excluded rows are counted",
        place="enclave.counting:rows_with_bins",
        old="column.of_text.min(initial=0) < 0",
        new="False",
        tests=(f"{COUNTING}::test_cells_are_counted_like_rows",),
    ),
    Mutation(
        name="files: file states are not compared at the end",
        breaks="rows that were added meanwhile are missing without a message",
        place="sources.source:unwritten",
        old="now() != first_listing",
        new="False",
        tests=(f"{MANY}::test_a_file_that_is_written_meanwhile_is_an_error",),
    ),
    Mutation(
        name="SPSS: the file decides what is missing",
        breaks="declarations in the private file decide which rows are kept",
        place="enclave.statistical:read_package",
        old="parse(str(path.absolute()), user_missing=True, disable_datetime_conversion=True, **options)",
        new="parse(str(path.absolute()), user_missing=False, disable_datetime_conversion=True, **options)",
        tests=(MISSING_CODES,),
    ),
    Mutation(
        name="SAS transport: a truncated file passes",
        breaks="the published number of rows is that of a damaged file",
        place="enclave.statistical:read_package",
        old="path.stat().st_size % package.block",
        new="False",
        tests=(CUT_OFF,),
    ),
    Mutation(
        name="SQLite: a truncated file passes",
        breaks="the published number of rows is that of a damaged file",
        place="sources.opened:_check_size",
        old="path.stat().st_size < (65_536 if page == 1 else page) * count",
        new="False",
        tests=(CUT_OFF,),
    ),
    Mutation(
        name="folder: other files are skipped silently",
        breaks="rows are missing without a message",
        place="sources.source:_tables",
        old='"a folder" if entry.is_dir() else "" if _is_table(entry) else _OTHER',
        new='"a folder" if entry.is_dir() else ""',
        tests=(f"{FORMATS}::test_a_folder_of_parquet_is_refused_for_what_it_may_hide",),
    ),
    Mutation(
        name="folder: the name of a partition is shown",
        breaks="a value of a column is shown",
        place="sources.source:_tables",
        old='"a folder" if entry.is_dir() else "" if _is_table(entry) else _OTHER',
        new='f"a folder {entry.name}" if entry.is_dir() else "" if _is_table(entry) else _OTHER',
        tests=(f"{FORMATS}::test_a_folder_of_parquet_is_refused_for_what_it_may_hide",),
    ),
    Mutation(
        name="URI: a password in the address is accepted",
        breaks="histories and messages contain a password",
        place="sources.source:Source.of",
        old='"@" in text or _SECRET_IN_ADDRESS.search(text)',
        new="_SECRET_IN_ADDRESS.search(text)",
        tests=(NO_URI,),
    ),
    Mutation(
        name="URI: the whole address is shown",
        breaks="a message contains a password",
        place="sources.source:Source.__str__",
        old="self.uri.partition(':')[0]",
        new="self.uri",
        tests=(f"{DATABASES}::test_of_a_uri_the_beginning_alone_is_shown",),
    ),
    Mutation(
        name="database: a library's message is shown",
        breaks="a message contains a password or a value",
        place="sources.tables:engine_of",
        old="except Exception:",
        new="except Exception as error:",
        also=(("sources.tables:engine_of", "lacks = False", "raise InputError(str(error))"),),
        tests=(f"{DATABASES}::test_user_and_password_come_from_the_environment_and_an_error_of_the_library_is_not_shown",),
    ),
    Mutation(
        name="DuckDB: views may open other files",
        breaks="the author of a file can open other files with the steward's rights",
        place="sources.opened:opened_duckdb",
        old="duckdb.connect(str(path), read_only=True, config=dict(_DUCKDB_SETTINGS))",
        new="duckdb.connect(str(path), read_only=True)",
        tests=(f"{DATABASES}::test_a_duckdb_file_opens_nothing_but_itself",),
    ),
    Mutation(
        name="database: names are not quoted",
        breaks="a name can be a statement",
        place="sources.tables:quoted",
        old="name.replace('\"', '\"\"')",
        new="name",
        tests=(f"{DATABASES}::test_a_table_is_read_by_every_way_to_its_database",),
    ),
    Mutation(
        name="domain: the digest ignores the encoding",
        breaks="two exact releases reveal the number of rows with non-ASCII letters",
        place="spec.record:domain_digest",
        old='release.input.encoding != "utf-8"',
        new="False",
        tests=("tests/enclave/test_resizing.py::test_the_domain_of_an_exact_release_is_what_decides_which_rows_are_kept",),
    ),
)
