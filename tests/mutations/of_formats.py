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
        breaks="a file that csv refuses is read, and texts are cut where it stands",
        place="enclave.csv:PlainReader.columns",
        old='b"\\0" in data',
        new="False",
        tests=(PLAIN,),
    ),
    Mutation(
        name="plain lines: an open quote passes",
        breaks="rows disappear in a field without a word",
        place="enclave.csv:_quotes_are_plain",
        old="len(quotes) % 2",
        new="False",
        tests=(PLAIN,),
    ),
    Mutation(
        name="plain lines: text after a closing quote passes",
        breaks="a damaged row is read as a whole one",
        place="enclave.csv:_quotes_are_plain",
        old="np.isin(around[last + 2], (delimiter, _NEWLINE, _RETURN)).all()",
        new="True",
        tests=(PLAIN,),
    ),
    Mutation(
        name="plain lines: a line end inside quotes passes",
        breaks="a row becomes two",
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
        breaks="-9 stands for a person of -9 years, where a block has many texts",
        place="enclave.values:_bins_of_numbers",
        old="plain &= ~np.isin(numbers, _numbers_that_may_be_missing(column, policy))",
        new="pass",
        tests=(f"{NUMBERS}::test_bins_of_many_texts_are_those_of_each",),
    ),
    Mutation(
        name="numbers at once: a point is read where a comma is declared",
        breaks="1.5 is a number in a block with many texts, and none in one with few",
        place="enclave.columnar:StringTexts.numbers",
        old="_PLAIN.format(mark=re.escape(decimal))",
        new="_PLAIN.format(mark='[.,]')",
        tests=(f"{NUMBERS}::test_a_number_of_many_is_what_python_reads",),
    ),
    Mutation(
        name="threads: results come as they are done",
        breaks="the number of the row in a message, and which mistake is told, depend on who was faster",
        place="enclave.batches:Ahead.next",
        old="self._waiting.popleft()",
        new="self._waiting.pop()",
        tests=(f"{COUNTING}::test_results_and_errors_come_in_the_order_of_the_parts",),
    ),
    Mutation(
        name="counting: a row without a bin is in the first one",
        breaks="rows that are left out are counted",
        place="enclave.counting:rows_with_bins",
        old="column.of_text.min(initial=0) < 0",
        new="False",
        tests=(f"{COUNTING}::test_cells_are_counted_like_rows",),
    ),
    Mutation(
        name="files: the states are not compared at the end",
        breaks="rows that were added meanwhile are left out without a word",
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
        name="SAS transport: a file that is cut off passes",
        breaks="the number of rows, which is published, is that of a damaged file",
        place="enclave.statistical:read_package",
        old="path.stat().st_size % package.block",
        new="False",
        tests=(CUT_OFF,),
    ),
    Mutation(
        name="SQLite: a file that is cut off passes",
        breaks="the number of rows, which is published, is that of a damaged file",
        place="sources.opened:_check_size",
        old="path.stat().st_size < (65_536 if page == 1 else page) * count",
        new="False",
        tests=(CUT_OFF,),
    ),
    Mutation(
        name="folder: other files are left out without a word",
        breaks="rows that nobody misses",
        place="sources.source:_tables",
        old='"folders" if entry.is_dir() else "" if _is_table(entry) else "other files"',
        new='"folders" if entry.is_dir() else ""',
        tests=(f"{FORMATS}::test_a_folder_of_parquet_is_refused_for_what_it_may_hide",),
    ),
    Mutation(
        name="folder: the name of a partition is shown",
        breaks="the value of a column on the screen",
        place="sources.source:_tables",
        old='"folders" if entry.is_dir() else "" if _is_table(entry) else "other files"',
        new='f"folders {entry.name}" if entry.is_dir() else "" if _is_table(entry) else "other files"',
        tests=(f"{FORMATS}::test_a_folder_of_parquet_is_refused_for_what_it_may_hide",),
    ),
    Mutation(
        name="URI: one with a password is taken",
        breaks="a password in histories and messages",
        place="sources.source:Source.of",
        old='"@" in text or _SECRET_IN_ADDRESS.search(text)',
        new="_SECRET_IN_ADDRESS.search(text)",
        tests=(NO_URI,),
    ),
    Mutation(
        name="URI: more than its beginning is shown",
        breaks="a password in a message",
        place="sources.source:Source.__str__",
        old="self.uri.partition(':')[0]",
        new="self.uri",
        tests=(f"{DATABASES}::test_of_a_uri_the_beginning_alone_is_shown",),
    ),
    Mutation(
        name="database: what a library says is shown",
        breaks="a password or a value in a message",
        place="sources.tables:engine_of",
        old="except Exception:",
        new="except Exception as error:",
        also=(("sources.tables:engine_of", "lacks = False", "raise InputError(str(error))"),),
        tests=(f"{DATABASES}::test_user_and_password_come_from_the_environment_and_an_error_of_the_library_is_not_shown",),
    ),
    Mutation(
        name="DuckDB: views may open other files",
        breaks="the specification's author, or the file's, opens what the steward may read",
        place="sources.opened:opened_duckdb",
        old="duckdb.connect(str(path), read_only=True, config=dict(_DUCKDB_SETTINGS))",
        new="duckdb.connect(str(path), read_only=True)",
        tests=(f"{DATABASES}::test_a_duckdb_file_opens_nothing_but_itself",),
    ),
    Mutation(
        name="database: names are not quoted",
        breaks="a name that is a statement",
        place="sources.tables:quoted",
        old="name.replace('\"', '\"\"')",
        new="name",
        tests=(f"{DATABASES}::test_a_table_is_read_by_every_way_to_its_database",),
    ),
    Mutation(
        name="domain: the digest forgets the encoding",
        breaks="two exact releases give away how many rows have a letter beyond ASCII",
        place="spec.record:domain_digest",
        old='release.input.encoding != "utf-8"',
        new="False",
        tests=("tests/enclave/test_resizing.py::test_the_domain_of_an_exact_release_is_what_decides_which_rows_are_kept",),
    ),
)
