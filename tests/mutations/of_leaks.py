"""Mutations of everything that private data pass or must not pass: reading, noise, messages, files, processes, outputs."""

from __future__ import annotations

from tests.mutations.machinery import Mutation

LEAKS = "tests/whole/test_confidentiality.py"
SUCCESS = f"{LEAKS}::test_a_release_shows_released_bins_alone"
ROUNDS = f"{LEAKS}::test_the_files_of_a_release_do_not_depend_on_the_number_of_rounds"
FAILURES = f"{LEAKS}::test_a_failure_shows_nothing_of_what_failed"
VALUES = "tests/enclave/test_ingest.py"
BUNDLE = "tests/bundle/test_folder.py"
ARCHITECTURE = "tests/test_architecture.py"

OF_LEAKS = (
    # --- What is learned from the private file
    Mutation(
        name="reading: an unlisted category counts as the first one",
        breaks="the released bins depend on the data",
        place="enclave.values:_bin_of_text.bin_of",
        old="return unlisted",
        new="return max(unlisted, 0)",
        tests=(VALUES,),
    ),
    Mutation(
        name="reading: an unlisted text excludes its row although a bin is declared",
        breaks="a person with a rare code is excluded, although no rows may be excluded",
        place="enclave.values:_bin_of_text",
        old="OUTSIDE if column.unlisted is None else column.unlisted",
        new="OUTSIDE",
        tests=("tests/whole/test_unlisted_texts.py::test_a_text_that_is_not_listed_becomes_the_category_of_all_others",),
    ),
    Mutation(
        name="reading: the public bounds are ignored",
        breaks="the domain depends on the data",
        place="enclave.values:_bin_of_number",
        old='not low <= number <= high and column.outside != "clip"',
        new="False",
        tests=(VALUES,),
    ),
    Mutation(
        name="reading: implausible rows are kept",
        breaks="the guarantee does not cover such tables",
        place="enclave.ingest:_read",
        old="raw.filter(counted.cells)",
        new="counted.cells",
        tests=(f"{VALUES}::test_rows_that_break_a_raw_rule_are_left_out_and_nothing_keeps_their_number",),
    ),
    Mutation(
        name="reading: the number of rows that do not fit is shown",
        breaks="an exact count is shown",
        place="enclave.ingest:_read",
        old='"The file does not fit the specification."',
        new='f"The file does not fit the specification in {counted.n_rows} rows."',
        tests=(f"{VALUES}::test_what_does_not_fit_is_told_for_all_columns_without_rows_or_numbers_of_rows",),
    ),
    Mutation(
        name="reading: a file without a plausible row is refused",
        breaks="a refusal reveals that no row is plausible",
        place="enclave.ingest:_read",
        old="not counted.n_rows",
        new="not raw.filter(counted.cells).total",
        tests=(f"{VALUES}::test_a_private_file_without_a_plausible_row_is_read_like_any_other",),
    ),
    # --- Messages
    Mutation(
        name="message: the value that does not fit is quoted",
        breaks="a person's value is shown",
        place="enclave.ingest:_read",
        old="messages[misfit]",
        new=("messages[misfit] + repr([list(x.texts) for _, y in batches(path, schema, policy) for x in y.values()])"),
        tests=(f"{VALUES}::test_no_message_about_a_csv_file_holds_a_value",),
        core=True,
    ),
    Mutation(
        name="message: the row with another length is quoted",
        breaks="a person's row is shown",
        place="enclave.csv:csv_batches",
        old="ragged(len(header), len(record))",
        new='Unreadable(f"{len(header)} fields", f"{record}", "")',
        tests=(f"{VALUES}::test_no_message_about_a_csv_file_holds_a_value",),
    ),
    Mutation(
        name="message: an unexpected failure of the reading is quoted",
        breaks="a library's message may quote a value",
        place="enclave.ingest:_counted",
        old="except Exception:",
        new="except Exception as error:",
        also=(("enclave.ingest:_counted", "problem = UNFORESEEN", "problem = f'{error}, {UNFORESEEN}'"),),
        tests=(f"{VALUES}::test_a_failure_that_nobody_foresaw_shows_no_value",),
    ),
    Mutation(
        name="message: the whole type of a Parquet column is quoted",
        breaks="names of fields inside the column are shown",
        place="sources.tables:check_type",
        old="f\"the {format_name} type {type_name[0] if type_name else 'of an extension'}\"",
        new='f"the {format_name} type {kind}"',
        tests=("tests/enclave/test_reading.py::test_a_parquet_column_of_a_type_that_is_no_single_value_is_refused",),
    ),
    Mutation(
        name="message: the command line quotes an unexpected error",
        breaks="a library's message may quote a value",
        place="cli:main",
        old=(
            "f'synthrelease stopped because of an error in the program or the machine: {failure_of(error)}. {_what_was_read()}'"
        ),
        new="f'synthrelease stopped because of an error in the program or the machine: {error!r}. {_what_was_read()}'",
        tests=("tests/cli/test_cli.py::test_an_unforeseen_error_of_another_command_shows_no_message",),
    ),
    Mutation(
        name="message: errors in destructors and threads are quoted",
        breaks="a message of a library about a value is shown",
        place="privacy.protection:without_message",
        old='f"synthrelease: {kind.__name__}{origin}. The message is not shown, because it could contain private values.\\n"',
        new=(
            'f"synthrelease: {kind.__name__}: {error}{origin}. The message is not shown, because it could hold '
            'private values.\\n"'
        ),
        tests=(f"{LEAKS}::test_a_failure_in_a_destructor_or_a_thread_shows_nothing",),
    ),
    Mutation(
        name="message: the text of a library's exit is printed",
        breaks="a library's message may quote a value",
        place="cli:main",
        old="sys.exit(end.code if isinstance(end.code, int | None) else STOPPED)",
        new="raise",
        tests=(f"{LEAKS}::test_the_death_of_a_worker_shows_nothing",),
    ),
    Mutation(
        name="message: warnings are shown",
        breaks="a library's warning may quote a value",
        place="privacy.protection:_hide_messages",
        old='warnings.simplefilter("ignore")',
        new="pass",
        tests=(FAILURES,),
    ),
    Mutation(
        name="door: only some failures are hidden",
        breaks="a traceback shows private values",
        place="enclave.door:opaque",
        old="Exception",
        new="ArithmeticError",
        tests=("tests/enclave/test_door.py",),
    ),
    Mutation(
        name="representation: private counts print themselves",
        breaks="a log or a traceback shows counts",
        place="enclave.door:PrivateCounts.__repr__",
        old='f"PrivateCounts(n={self.n}, columns={self.layout.columns})"',
        new='f"PrivateCounts({self.__counts.counts})"',
        tests=("tests/enclave/test_door.py::test_nothing_private_in_the_representation",),
    ),
    Mutation(
        name="representation: a piece of the file prints itself",
        breaks="a log or a traceback shows values",
        place="enclave.texts:Texts",
        old="dataclass(frozen=True, kw_only=True, repr=False)",
        new="dataclass(frozen=True, kw_only=True)",
        tests=("tests/enclave/test_reading.py::test_a_piece_shows_nothing_in_its_representation",),
    ),
    # --- Noise
    Mutation(
        name="noise: the noise is drawn once and reused",
        breaks="the difference of two values is exact",
        place="privacy.noise:SystemEntropy.add_laplace",
        old="return np.asarray(values, dtype=np.int64) + laplace(Fraction(scale), len(values), secrets.token_bytes)",
        new=(
            "noise = globals().setdefault('_NOISE', {})\n"
            "drawn = noise.setdefault((len(values), scale), laplace(Fraction(scale), len(values), secrets.token_bytes))\n"
            "return np.asarray(values, dtype=np.int64) + drawn"
        ),
        tests=("tests/privacy/test_randomness.py", "tests/test_contracts.py::test_a_figure_that_reads_private_counts_is_noisy"),
    ),
    Mutation(
        name="noise: the grid of a value depends on the value",
        breaks="low bits reveal whether the exact value was above or below the released value",
        place="privacy.noise:laplace_figure",
        old="noise_grid(sensitivity, rows)",
        new="noise_grid(sensitivity / (1 + (value > 0.2)), rows)",
        tests=("tests/privacy/test_randomness.py::test_a_figure_lies_on_its_public_grid",),
    ),
    Mutation(
        name="noise: public randomness has a seed",
        breaks="two releases draw the same rows, which distinguishes their models",
        place="privacy.noise:SystemEntropy.generator",
        old="secrets.randbits(256)",
        new="7",
        tests=("tests/privacy/test_randomness.py::test_two_generators_differ",),
    ),
    Mutation(
        name="release: a seed can be given",
        breaks="a release can be repeated",
        place="requests:ReleaseRequest",
        old="dataset: str | None = None",
        new="seed: str | None = None",
        tests=("tests/cli/test_cli.py::test_a_release_takes_no_seed",),
    ),
    Mutation(
        name="verdict: the exact value decides",
        breaks="exact private values decide which tables are released",
        place="criteria.base:Criterion.answer",
        old="return self.released(query, private.spend(self.charge, figure))",
        new=(
            "score = self.released(query, private.spend(self.charge, figure))\n"
            "exact = private.with_plan((self.charge,)).spend(self.charge, query.figure)\n"
            "return __import__('dataclasses').replace(score, passed=exact <= self.threshold)"
        ),
        tests=("tests/test_contracts.py::test_the_verdict_is_one_of_the_released_value",),
    ),
    Mutation(
        name="relative marginal error: bins that the synthetic table lacks are dropped",
        breaks="the sensitivity is many times the claim",
        place="criteria.marginals_mechanism:largest_ratio",
        old="original + 1.0, synthetic + 1.0",
        new="original[synthetic > 0] + 1.0, synthetic[synthetic > 0] + 1.0",
        tests=("tests/criteria/test_values.py", "tests/criteria/test_sensitivity.py"),
    ),
    # --- What is published
    Mutation(
        name="output: the number of rounds is published",
        breaks="a function of private scores is published without noise",
        place="releasing.release",
        old="Progress = Callable[[str], None]",
        new="Progress = Callable[[str], None]\n_ROUNDS: list[int] = []",
        also=(
            (
                "releasing.release:release",
                "guarantee=stated_guarantee(spec, private.n_file, private.n)",
                "guarantee=(lambda stated: __import__('dataclasses').replace(stated, invariants=(*stated.invariants, "
                "f'{len(_ROUNDS)} rounds')))(stated_guarantee(spec, private.n_file, private.n))",
            ),
            (
                "releasing.release:one_round",
                "result = attempt(spec, spec.space.draw(), private, prepared)",
                "_ROUNDS.append(1)\nresult = attempt(spec, spec.space.draw(), private, prepared)",
            ),
        ),
        tests=(ROUNDS,),
    ),
    Mutation(
        name="output: every round prints a line",
        breaks="the screen or a log shows the number of rounds",
        place="releasing.selection:select_by",
        old="if result.verdict is Verdict.ACCEPTED:\n    return result.value",
        new="__import__('sys').stderr.write('a round\\n')\nif result.verdict is Verdict.ACCEPTED:\n    return result.value",
        tests=(SUCCESS,),
    ),
    Mutation(
        name="output: the document states the end of the run",
        breaks="the duration of a run reveals the number of rounds",
        place="bundle.document:release_document",
        old="versions(spec)",
        new='versions(spec) | {"made": str(__import__("time").time_ns())}',
        tests=(f"{BUNDLE}::test_the_document_tells_nothing_about_the_rounds",),
    ),
    Mutation(
        name="output: files state the end of the run",
        breaks="the duration of a run reveals the number of rounds",
        place="bundle.write:new_folder",
        old="os.utime(path, (NO_TIME, NO_TIME))",
        new="pass",
        tests=(f"{BUNDLE}::test_the_files_bear_no_time",),
    ),
    Mutation(
        name="output: rows keep the order of the sampler",
        breaks="the order of rows is not covered by the guarantee",
        place="bundle.tables:_batch",
        old="rows_at(table.counts.bins, cells)",
        new="rows_at(table.counts.bins, cells[::-1])",
        tests=(f"{BUNDLE}::test_the_table_has_the_labels_of_the_schema_in_sorted_order",),
    ),
    Mutation(
        name="output: files are readable by all",
        breaks="other users read the release before sign-off",
        place="bundle.write:_write",
        old="os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | binary, 0o600)",
        new="os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | binary, 0o644)",
        tests=(f"{BUNDLE}::test_only_the_owner_may_read_the_files",),
    ),
    Mutation(
        name="output: the folder is readable by all",
        breaks="other users read the release before sign-off",
        place="bundle.write:new_folder",
        old="os.mkdir(temporary, 0o700)",
        new="os.mkdir(temporary)\nos.chmod(temporary, 0o755)",
        tests=(f"{BUNDLE}::test_only_the_owner_may_read_the_files",),
    ),
    Mutation(
        name="output: a part of a release remains",
        breaks="the folder contains files that no document describes",
        place="bundle.write:taking",
        old="shutil.rmtree(workspace, ignore_errors=True)",
        new="pass",
        tests=(f"{BUNDLE}::test_a_failed_write_leaves_nothing_behind",),
    ),
    Mutation(
        name="output: labels may be formulas",
        breaks="opening the table runs a formula from the specification",
        place="data.texts:is_executable",
        old="any(cell.startswith(_STARTS) for cell in cells)",
        new="text == cells and any(cell.startswith(_STARTS) for cell in cells)",
        tests=("tests/data/test_spreadsheets.py",),
    ),
    # --- Files and processes
    Mutation(
        name="processes: arrays reach workers through files",
        breaks="private counts are on the disk",
        place="releasing.selection:_results",
        old="max_nbytes=None",
        new='max_nbytes="1M"',
        tests=("tests/releasing/test_workers.py::test_workers_get_private_counts_through_pipes_and_not_through_files",),
    ),
    Mutation(
        name="processes: workers outlive a release that is killed",
        breaks="private counts remain in memory",
        place="releasing.selection:_end_with",
        old="os._exit(1)",
        new="return",
        tests=("tests/releasing/test_workers.py::test_workers_end_soon_after_a_parent_that_is_killed",),
    ),
    Mutation(
        name="processes: a crash leaves a core file",
        breaks="private rows are on the disk",
        place="privacy.protection:set_core_limit",
        old="resource.setrlimit(resource.RLIMIT_CORE, (limit, highest))",
        new="resource.getrlimit(resource.RLIMIT_CORE)",
        tests=(f"{LEAKS}::test_a_crash_of_the_machine_code_shows_places_alone_and_leaves_no_core",),
    ),
    Mutation(
        name="files: a specification may name any file",
        breaks="messages quote parts of other files",
        place="settings.reading:regular_file",
        old="not Path(os.path.realpath(path)).name.endswith(suffix)",
        new="False",
        tests=("tests/settings/test_reading.py::test_only_regular_files_of_the_right_name_are_opened",),
    ),
    Mutation(
        name="code: a rule is run as code",
        breaks="the specification's author can run code in the enclave",
        place="data.rules:_Parser._compare",
        old="float(text)",
        new="float(eval(text))",
        tests=(f"{ARCHITECTURE}::test_text_is_never_executed",),
    ),
    Mutation(
        name="code: the network is used",
        breaks="data can leave the enclave",
        place="cli.outcome",
        old="from rich.padding import Padding",
        new="from rich.padding import Padding\nimport urllib.request",
        tests=(f"{ARCHITECTURE}::test_no_module_pickles_or_opens_a_connection",),
    ),
)
