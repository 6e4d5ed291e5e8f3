"""Mutations of everything that private data pass or must not pass: reading, noise, messages, files, processes, outputs."""

from __future__ import annotations

from tests.mutation import Mutation

READING, INGEST, PARQUET = (f"synthrelease/{name}.py" for name in ("reading", "ingest", "parquet"))
RANDOMNESS = "synthrelease/randomness.py"
PRIVATE = "synthrelease/private.py"
FOLDER = "synthrelease/bundle/folder.py"
QUIET = "synthrelease/protection.py"
LEAKS = "tests/test_confidentiality.py"
SUCCESS = f"{LEAKS}::test_a_release_shows_released_bins_alone"
ROUNDS = f"{LEAKS}::test_the_files_of_a_release_do_not_depend_on_the_number_of_rounds"
FAILURES = f"{LEAKS}::test_a_failure_shows_nothing_of_what_failed"
VALUES = "tests/test_ingest.py"
BUNDLE = "tests/test_bundle.py"
ARCHITECTURE = "tests/test_architecture.py"

OF_LEAKS = (
    # --- What is learned from the private file
    Mutation(
        name="reading: a category that the specification lacks is the first one",
        breaks="the bins of the released table depend on the data",
        file=INGEST,
        old='return _OUTSIDE if column.kind == "category" else',
        new='return 0 if column.kind == "category" else',
        tests=(VALUES,),
    ),
    Mutation(
        name="reading: the public bounds are ignored",
        breaks="the domain is what the data hold",
        file=INGEST,
        old='if not low <= number <= high and column.outside != "clip":',
        new="if False:",
        tests=(VALUES,),
    ),
    Mutation(
        name="reading: implausible rows are kept",
        breaks="tables that the guarantee does not speak of",
        file=INGEST,
        old="[~raw.forbidden(digits)]",
        new="",
        tests=(f"{VALUES}::test_rows_that_break_a_raw_rule_are_left_out_and_nothing_keeps_their_number",),
    ),
    Mutation(
        name="reading: the number of implausible rows is told",
        breaks="an exact count",
        file=INGEST,
        old='raise InputError("expected at least one row that follows the plausibility rules, found none.")',
        new='raise InputError(f"expected a row that follows the plausibility rules, found none in {first_row} or more rows.")',
        tests=(f"{VALUES}::test_a_file_without_a_plausible_row_is_refused_without_their_number",),
    ),
    # --- Messages
    Mutation(
        name="message: the value that does not fit is quoted",
        breaks="a person's value on the screen",
        file=INGEST,
        old='_stop_at(digits == _WRONG, column, first_row, expected, "something else")',
        new="_stop_at(digits == _WRONG, column, first_row, expected, repr(list(cells.texts)))",
        tests=(f"{VALUES}::test_no_message_about_a_csv_file_holds_a_value",),
        core=True,
    ),
    Mutation(
        name="message: the row of another length is quoted",
        breaks="a person's row on the screen",
        file=READING,
        old="raise _ragged(len(header), len(record))",
        new='raise _Unreadable(f"expected {len(header)} fields, found {record}", "")',
        tests=(f"{VALUES}::test_no_message_about_a_csv_file_holds_a_value",),
    ),
    Mutation(
        name="message: an unforeseen failure of the reading is quoted",
        breaks="whatever a library says about a value",
        file=INGEST,
        old='    except Exception:\n        return f"{path}: expected a file',
        new='    except Exception as error:\n        return f"{path}: {error}, expected a file',
        tests=(f"{VALUES}::test_a_failure_that_nobody_foresaw_shows_no_value",),
    ),
    Mutation(
        name="message: the whole type of a Parquet column is quoted",
        breaks="names of fields in it",
        file=PARQUET,
        old="{shown[0] if shown else 'of an extension'}",
        new="{kind}",
        tests=("tests/test_reading.py::test_a_parquet_column_of_a_type_that_is_no_single_value_is_refused",),
    ),
    Mutation(
        name="message: an unforeseen error is quoted by the command line",
        breaks="whatever a library says about a value",
        file="synthrelease/cli/__init__.py",
        old="{failure_of(error)}.",
        new="{error!r}.",
        tests=("tests/test_cli.py::test_an_unforeseen_error_of_another_command_shows_no_message",),
    ),
    Mutation(
        name="message: errors in destructors and threads are quoted",
        breaks="whatever a library says about a value",
        file=QUIET,
        old="synthrelease: {kind.__name__}{place}.",
        new="synthrelease: {kind.__name__}: {error}{place}.",
        tests=(f"{LEAKS}::test_a_failure_in_a_destructor_or_a_thread_shows_nothing",),
    ),
    Mutation(
        name="message: a text that a library exits with is printed",
        breaks="whatever a library says about a value",
        file="synthrelease/cli/__init__.py",
        old="sys.exit(end.code if isinstance(end.code, int | None) else STOPPED)",
        new="raise",
        tests=(f"{LEAKS}::test_the_death_of_a_worker_shows_nothing",),
    ),
    Mutation(
        name="message: warnings are shown",
        breaks="whatever a library warns of in the data",
        file=QUIET,
        old='    warnings.simplefilter("ignore")\n',
        new="",
        tests=(FAILURES,),
    ),
    Mutation(
        name="door: only some failures are opaque",
        breaks="values in a traceback",
        file=PRIVATE,
        old="    except Exception:\n",
        new="    except ArithmeticError:\n",
        tests=("tests/test_private.py",),
    ),
    Mutation(
        name="representation: private counts show themselves",
        breaks="counts in a log or a traceback",
        file=PRIVATE,
        old='return f"PrivateCounts(n={self.n}, columns={self.layout.columns})"',
        new='return f"PrivateCounts({self.__counts.counts})"',
        tests=("tests/test_private.py::test_nothing_private_in_the_representation",),
    ),
    Mutation(
        name="representation: a piece of the file shows itself",
        breaks="values in a log or a traceback",
        file="synthrelease/texts.py",
        old="kw_only=True, repr=False",
        new="kw_only=True",
        tests=("tests/test_reading.py::test_a_piece_shows_nothing_in_its_representation",),
    ),
    # --- Noise
    Mutation(
        name="noise: drawn once and used again",
        breaks="the difference of two figures is exact",
        file=RANDOMNESS,
        old="return np.array(_laplace_measurement(scale)(np.ascontiguousarray(values, dtype=np.int64)), dtype=np.int64)",
        new="zeros = np.zeros(len(values), dtype=np.int64)\n"
        '        noise = globals().setdefault("_NOISE", {})\n'
        "        drawn = noise.setdefault((len(values), scale), np.array(_laplace_measurement(scale)(zeros), dtype=np.int64))\n"
        "        return np.asarray(values, dtype=np.int64) + drawn",
        tests=("tests/test_randomness.py", "tests/test_contracts.py::test_a_figure_that_reads_private_counts_is_noisy"),
    ),
    Mutation(
        name="noise: the grid of a figure depends on its value",
        breaks="low bits tell on which side of a value the exact figure was",
        file=RANDOMNESS,
        old="step = 2.0 ** (math.floor(math.log2(sensitivity)) - 12)",
        new="step = 2.0 ** (math.floor(math.log2(sensitivity)) - 12 - (value > 0.2))",
        tests=("tests/test_randomness.py::test_a_figure_lies_on_its_public_grid",),
    ),
    Mutation(
        name="noise: public randomness has a seed",
        breaks="two releases draw the same rows, which tells their models apart",
        file=RANDOMNESS,
        old="np.random.PCG64DXSM(secrets.randbits(256))",
        new="np.random.PCG64DXSM(7)",
        tests=("tests/test_randomness.py::test_two_generators_differ",),
    ),
    Mutation(
        name="release: a seed can be given",
        breaks="a release that can be repeated",
        file="synthrelease/cli/releasing.py",
        old="    shortlist: Annotated[\n",
        new="    seed: int = 0,\n    shortlist: Annotated[\n",
        tests=("tests/test_cli.py::test_a_release_takes_no_seed",),
    ),
    Mutation(
        name="verdict: taken on the exact figure",
        breaks="which datasets are released depends on exact private figures",
        file="synthrelease/criteria/base.py",
        old='        return self._judged(value, "Laplace", query.sensitivity, noisy.noise_sd, self.epsilon)\n',
        new='        score = self._judged(value, "Laplace", query.sensitivity, noisy.noise_sd, self.epsilon)\n'
        "        exact = private.with_plan((self.charge,)).spend(self.charge, query.figure)\n"
        '        return __import__("dataclasses").replace(score, passed=exact <= self.threshold)\n',
        tests=("tests/test_contracts.py::test_the_verdict_is_one_of_the_released_value",),
    ),
    Mutation(
        name="relative marginal error: bins that the synthetic table lacks are dropped",
        breaks="a sensitivity of many times the claim",
        file="synthrelease/criteria/marginals.py",
        old="    r, s = original + 1.0, synthetic + 1.0\n    return float(np.clip(",
        new="    r, s = original[synthetic > 0] + 1.0, synthetic[synthetic > 0] + 1.0\n    return float(np.clip(",
        tests=("tests/test_criteria_values.py", "tests/test_criteria_sensitivity.py"),
    ),
    # --- What is published
    Mutation(
        name="output: the number of rounds is published",
        breaks="a function of private scores that no noise covers",
        file="synthrelease/releasing.py",
        old='f"the number of rows, n = {private.n}",',
        new='f"the number of rows, n = {private.n}", f"{len(_ROUNDS)} rounds",',
        also=(
            ("Progress = Callable[[str], None]\n", "Progress = Callable[[str], None]\n_ROUNDS: list[int] = []\n"),
            (
                '    """Draw a configuration and attempt it; None when it is rejected."""\n',
                '    """Draw a configuration and attempt it; None when it is rejected."""\n    _ROUNDS.append(1)\n',
            ),
        ),
        tests=(ROUNDS,),
    ),
    Mutation(
        name="output: every round leaves a line",
        breaks="the number of rounds on the screen or in a log",
        file="synthrelease/selection.py",
        old="        for result in results:\n",
        new='        for result in results:\n            __import__("sys").stderr.write("a round\\n")\n',
        tests=(SUCCESS,),
    ),
    Mutation(
        name="output: the document tells when the run ended",
        breaks="the time that a run took tells how many rounds it needed",
        file="synthrelease/bundle/document.py",
        old="versions=versions(spec),",
        new='versions=versions(spec) | {"made": str(__import__("time").time_ns())},',
        tests=(f"{BUNDLE}::test_the_document_tells_nothing_about_the_rounds",),
    ),
    Mutation(
        name="output: the files tell when the run ended",
        breaks="the time that a run took tells how many rounds it needed",
        file=FOLDER,
        old="os.utime(path, (NO_TIME, NO_TIME))",
        new="pass",
        tests=(f"{BUNDLE}::test_the_files_bear_no_time",),
    ),
    Mutation(
        name="output: rows in the order of the sampler",
        breaks="an order that nothing covers",
        file="synthrelease/bundle/table.py",
        old="    rows = table.counts.expand()\n    return pd.DataFrame(",
        new="    rows = np.random.default_rng(7).permutation(table.counts.expand())\n    return pd.DataFrame(",
        tests=(f"{BUNDLE}::test_the_table_has_the_labels_of_the_schema_in_sorted_order",),
    ),
    Mutation(
        name="output: files may be read by all",
        breaks="others read the release before it is signed off",
        file=FOLDER,
        old="binary, 0o600)",
        new="binary, 0o644)",
        tests=(f"{BUNDLE}::test_only_the_owner_may_read_the_files",),
    ),
    Mutation(
        name="output: the folder may be entered by all",
        breaks="others read the release before it is signed off",
        file=FOLDER,
        old="        check_free(folder)\n        os.rename(temporary, folder)\n",
        new="        check_free(folder)\n        os.chmod(temporary, 0o755)\n        os.rename(temporary, folder)\n",
        tests=(f"{BUNDLE}::test_only_the_owner_may_read_the_files",),
    ),
    Mutation(
        name="output: a part of a release is left behind",
        breaks="files that no document describes",
        file=FOLDER,
        old="        shutil.rmtree(temporary, ignore_errors=True)\n",
        new="        pass\n",
        tests=(f"{BUNDLE}::test_a_failed_write_leaves_nothing_behind",),
    ),
    Mutation(
        name="output: labels that a spreadsheet executes",
        breaks="who opens the table runs what the specification says",
        file="synthrelease/spreadsheets.py",
        old="    return any(cell.startswith(_STARTS)",
        new="    return text == cells and any(cell.startswith(_STARTS)",
        tests=("tests/test_spreadsheets.py",),
    ),
    # --- Files and processes
    Mutation(
        name="processes: arrays reach workers through files",
        breaks="private counts on the disk",
        file="synthrelease/selection.py",
        old="batch_size=1, max_nbytes=None)",
        new='batch_size=1, max_nbytes="1M")',
        tests=("tests/test_workers.py::test_workers_get_private_counts_through_pipes_and_not_through_files",),
    ),
    Mutation(
        name="processes: workers outlive a release that is killed",
        breaks="private counts in memory that nobody watches",
        file="synthrelease/workers.py",
        old="    os._exit(1)\n",
        new="    return\n",
        tests=("tests/test_workers.py::test_a_worker_ends_soon_after_its_parent",),
    ),
    Mutation(
        name="processes: a crash leaves a core file",
        breaks="private rows on the disk",
        file=QUIET,
        old="    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))\n",
        new="    resource.getrlimit(resource.RLIMIT_CORE)\n",
        tests=(f"{LEAKS}::test_a_crash_of_the_machine_code_shows_places_alone_and_leaves_no_core",),
    ),
    Mutation(
        name="files: a specification may name any file",
        breaks="parts of other files in messages",
        file="synthrelease/toml_files.py",
        old='if not Path(os.path.realpath(path)).name.endswith(".toml"):',
        new="if False:",
        tests=("tests/test_toml_files.py::test_only_regular_files_of_the_right_name_are_opened",),
    ),
    Mutation(
        name="code: a rule is executed",
        breaks="who writes the specification runs what he likes in the enclave",
        file="synthrelease/rules.py",
        old="Comparison(name, operator, float(text))",
        new="Comparison(name, operator, float(eval(text)))",
        tests=(f"{ARCHITECTURE}::test_text_is_never_executed",),
    ),
    Mutation(
        name="code: the network is used",
        breaks="a way out of the enclave",
        file="synthrelease/cli/releasing.py",
        old="from rich.table import Table\n",
        new="from rich.table import Table\nimport urllib.request\n",
        tests=(f"{ARCHITECTURE}::test_no_module_pickles_or_opens_a_connection",),
    ),
)
