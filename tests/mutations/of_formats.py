"""Mutations of the readers: what a file hides, what it says of itself, what a library says, and passwords of databases."""

from __future__ import annotations

from tests.mutations.machinery import Mutation

PLAIN, FORMATS, DATABASES = (f"tests/enclave/test_{name}.py" for name in ("plain_csv", "formats", "databases"))
MISSING_CODES = f"{FORMATS}::test_spss_gives_codes_not_labels_and_its_missing_codes_are_public_rules_to_decide"
CUT_OFF = f"{FORMATS}::test_a_file_that_is_cut_off_is_refused_without_a_value"
NO_URI = f"{DATABASES}::test_a_uri_with_a_user_or_password_is_refused_and_not_shown"

OF_FORMATS = (
    Mutation(
        name="plain lines: a zero byte passes",
        breaks="a file that csv refuses is read, and texts are cut where it stands",
        place="enclave.plain_csv:PlainReader.columns",
        old='b"\\0" in data',
        new="False",
        tests=(PLAIN,),
    ),
    Mutation(
        name="plain lines: an open quote passes",
        breaks="rows disappear in a field without a word",
        place="enclave.plain_csv:_quotes_are_plain",
        old="len(quotes) % 2",
        new="False",
        tests=(PLAIN,),
    ),
    Mutation(
        name="plain lines: text after a closing quote passes",
        breaks="a damaged row is read as a whole one",
        place="enclave.plain_csv:_quotes_are_plain",
        old="np.isin(around[last + 2], (delimiter, _NEWLINE, _RETURN)).all()",
        new="True",
        tests=(PLAIN,),
    ),
    Mutation(
        name="plain lines: a line end inside quotes passes",
        breaks="a row becomes two",
        place="enclave.plain_csv:_quotes_are_plain",
        old="(np.searchsorted(ends, first) == np.searchsorted(ends, last)).all()",
        new="True",
        also=(
            (
                "enclave.plain_csv:PlainReader.columns",
                "table.num_rows != data.count(b'\\n') + (not data.endswith(b'\\n'))",
                "False",
            ),
        ),
        tests=(PLAIN,),
    ),
    Mutation(
        name="SPSS: the file decides what is missing",
        breaks="declarations in the private file decide which rows are kept",
        place="enclave.statistical:read_package",
        old="parser_entry_point(str(path.absolute()), user_missing=True, disable_datetime_conversion=True, **options)",
        new="parser_entry_point(str(path.absolute()), user_missing=False, disable_datetime_conversion=True, **options)",
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
        place="enclave.database_files:_check_size",
        old="path.stat().st_size < (65_536 if page == 1 else page) * count",
        new="False",
        tests=(CUT_OFF,),
    ),
    Mutation(
        name="folder: other files are left out without a word",
        breaks="rows that nobody misses",
        place="enclave.files:folder_files",
        old='"folders" if each.is_dir() else "" if _is_table(each) else "other files"',
        new='"folders" if each.is_dir() else ""',
        tests=(f"{FORMATS}::test_a_folder_of_parquet_is_refused_for_what_it_may_hide",),
    ),
    Mutation(
        name="folder: the name of a partition is shown",
        breaks="the value of a column on the screen",
        place="enclave.files:folder_files",
        old='"folders" if each.is_dir() else "" if _is_table(each) else "other files"',
        new='f"folders {each.name}" if each.is_dir() else "" if _is_table(each) else "other files"',
        tests=(f"{FORMATS}::test_a_folder_of_parquet_is_refused_for_what_it_may_hide",),
    ),
    Mutation(
        name="URI: one with a password is taken",
        breaks="a password in histories and messages",
        place="enclave.source:Source.of",
        old='"@" in text or _SECRET.search(text)',
        new="_SECRET.search(text)",
        tests=(NO_URI,),
    ),
    Mutation(
        name="URI: what follows a question mark is shown",
        breaks="a password in a message",
        place="enclave.source:Source.__str__",
        old='re.split("[?;#]", self.uri)[0]',
        new="self.uri",
        tests=(f"{DATABASES}::test_a_uri_is_shown_without_what_follows_its_place",),
    ),
    Mutation(
        name="database: what a library says is shown",
        breaks="a password or a value in a message",
        place="enclave.databases:_engine",
        old="except Exception:",
        new="except Exception as error:",
        also=(("enclave.databases:_engine", "lacks = False", "raise InputError(str(error))"),),
        tests=(f"{DATABASES}::test_user_and_password_come_from_the_environment_and_an_error_of_the_library_is_not_shown",),
    ),
    Mutation(
        name="DuckDB: views may open other files",
        breaks="the specification's author, or the file's, opens what the steward may read",
        place="enclave.database_files:_duckdb",
        old="duckdb.connect(str(path), read_only=True, config=dict(_DUCKDB_SETTINGS))",
        new="duckdb.connect(str(path), read_only=True)",
        tests=(f"{DATABASES}::test_a_duckdb_file_opens_nothing_but_itself",),
    ),
    Mutation(
        name="database: names are not quoted",
        breaks="a name that is a statement",
        place="enclave.sql:quoted",
        old="name.replace('\"', '\"\"')",
        new="name",
        tests=(f"{DATABASES}::test_a_table_is_read_by_every_way_to_its_database",),
    ),
    Mutation(
        name="domain: the digest forgets the encoding",
        breaks="two exact releases give away how many rows have a letter beyond ASCII",
        place="specification.spec:_Builder._domain",
        old='self.release.input.encoding != "utf-8"',
        new="False",
        tests=("tests/enclave/test_resizing.py::test_the_domain_of_an_exact_release_is_what_decides_which_rows_are_kept",),
    ),
)
