"""Mutations of the ledger and of the accounting around a run: budgets that are forgotten, refunded or not compared."""

from __future__ import annotations

from tests.mutations.machinery import Mutation

TESTS = "tests/privacy/test_account.py"
CRASHES = "tests/privacy/test_crashes.py"
ORDER = f"{CRASHES}::test_the_order_of_a_charge_is_commit_then_ledger_then_head_then_report"
COMMANDS = "tests/cli/test_cli.py"
IN_THE_LEDGER = f"{COMMANDS}::test_the_budget_is_in_the_ledger_before_a_private_byte_is_read"

OF_THE_LEDGER = (
    # --- Limits
    Mutation(
        name="ledger: the limit may not be reached exactly",
        breaks="an allowed run is refused, so stewards learn to raise limits",
        place="privacy.ledger:Ledger._check_limit",
        old="spent + cost <= limit",
        new="spent + cost < limit",
        tests=(f"{TESTS}::test_the_limit_may_be_reached_and_not_be_passed_by_the_smallest_part",),
    ),
    Mutation(
        name="ledger: earlier spending is not counted",
        breaks="every run has the whole budget",
        place="privacy.ledger:Ledger._check_limit",
        old="spent + cost",
        new="cost",
        tests=(f"{TESTS}::test_the_limit_may_be_reached_and_not_be_passed_by_the_smallest_part",),
        core=True,
    ),
    Mutation(
        name="ledger: the limit is not compared",
        breaks="the budget has no limit",
        place="privacy.ledger:Ledger._check_limit",
        old="not spent + cost <= limit",
        new="False",
        tests=(TESTS,),
    ),
    Mutation(
        name="ledger: the limit on delta is not compared",
        breaks="delta has no limit",
        place="privacy.ledger:Ledger._charged",
        old='self._check_limit("delta", statement.deltas.before(run.piece), delta, statement.delta_limit, run.piece)',
        new="pass",
        tests=(f"{TESTS}::test_delta_has_a_limit_of_its_own_which_is_0_unless_it_is_given",),
    ),
    Mutation(
        name="ledger: amounts are rounded to floating point",
        breaks="a sum above the limit looks equal to it",
        place="privacy.ledger_file:amount",
        old="exact(number)",
        new="Fraction(round(float(exact(number)), 6)).limit_denominator(10**6)",
        tests=(f"{TESTS}::test_sums_are_exact_where_floats_are_not", TESTS),
    ),
    Mutation(
        name="ledger: sums of ever new fractions are accepted",
        breaks="nobody can add up the ledger any more",
        place="privacy.ledger_file:summed",
        old="total.denominator > _LARGEST_DENOMINATOR",
        new="False",
        tests=(f"{TESTS}::test_charges_whose_sum_would_be_an_endless_fraction_are_refused_before_they_are_written",),
    ),
    # --- Charges
    Mutation(
        name="ledger: an unconfirmed charge is refunded",
        breaks="a second run is free",
        place="privacy.ledger:Ledger._confirm",
        old="reason = cause(error)",
        new=(
            "reason = cause(error)\n"
            "database.execute('DELETE FROM charges WHERE number = ?', (number,))\n"
            "database.in_transaction and database.execute('COMMIT')"
        ),
        tests=(f"{TESTS}::test_a_charge_whose_head_cannot_be_written_counts_as_spent",),
    ),
    Mutation(
        name="ledger: a charge is returned at once",
        breaks="nothing is ever spent",
        place="privacy.ledger:Ledger._written",
        old='database.execute("COMMIT")',
        new='database.execute("ROLLBACK")',
        tests=(TESTS,),
    ),
    Mutation(
        name="release: nothing is reserved",
        breaks="no ledger knows the run",
        place="publish:publish",
        old="reserve(spec, request, listener, checked.piece)",
        new="pass",
        tests=(IN_THE_LEDGER,),
        core=True,
    ),
    Mutation(
        name="release: the budget is reserved after the run",
        breaks="a stopped run costs nothing",
        place="publish:publish",
        old=(
            "reserve(spec, request, listener, checked.piece)\nwith protected():\n"
            "    return _spent(checked, request, listener, places)"
        ),
        new=(
            "with protected():\n    found = _spent(checked, request, listener, places)\n"
            "reserve(spec, request, listener, checked.piece)\nreturn found"
        ),
        tests=(IN_THE_LEDGER,),
    ),
    Mutation(
        name="release: every run opens its own ledger",
        breaks="a second run into the same folder is free",
        place="privacy.ledger:place_beside",
        old='out.name + ".ledger"',
        new='out.name + f".{os.urandom(4).hex()}.ledger"',
        tests=(f"{TESTS}::test_a_release_without_a_ledger_gets_one_beside_its_output_that_remembers_the_folder",),
    ),
    Mutation(
        name="plan: charges before the loop are missing in the total",
        breaks="the private regression is free",
        place="privacy.plan:Plan.of",
        old='in_sequence("release", *once, *_rounds_and_after(per_round, after, rule, delta, sharing))',
        new='in_sequence("release", *_rounds_and_after(per_round, after, rule, delta, sharing))',
        tests=("tests/privacy/test_plan.py",),
    ),
    Mutation(
        name="plan: the printed epsilon is rounded down",
        breaks="a document promises more than is true",
        place="privacy.charges:decimal_text",
        old="-((-value * 10**10) // 1)",
        new="(value * 10**10) // 1",
        tests=("tests/privacy/test_plan.py",),
    ),
    # --- Ledgers that were changed
    Mutation(
        name="ledger: an entry is not compared with its hash",
        breaks="charges can be edited",
        place="privacy.ledger_file:read_entries",
        old="if row != entry.row():\n    raise ValueError",
        new="pass",
        tests=(f"{TESTS}::test_every_change_of_a_ledger_is_refused",),
    ),
    Mutation(
        name="ledger: a hash does not cover the previous one",
        breaks="an earlier charge can be rewritten",
        place="privacy.ledger_file:Entry.hash",
        old="[self.previous, *self._fields]",
        new="[*self._fields]",
        tests=(f"{TESTS}::test_a_row_that_was_changed_together_with_its_own_hash_is_refused_because_of_the_next",),
    ),
    Mutation(
        name="ledger: the first hash does not cover the limits",
        breaks="a limit can be raised",
        place="privacy.ledger_file:Statement._hash",
        old="[self.dataset, to_text(self.epsilon_limit), to_text(self.delta_limit)]",
        new="[self.dataset]",
        tests=(f"{TESTS}::test_every_change_of_a_ledger_is_refused",),
    ),
    Mutation(
        name="ledger: the head file is not compared",
        breaks="an old copy of the ledger passes, without later charges",
        place="privacy.ledger:Ledger._accepted",
        old="not statement.holds(head)",
        new="False",
        tests=(f"{TESTS}::test_an_older_copy_is_refused_because_of_its_head_file",),
    ),
    Mutation(
        name="ledger: the head from the logbook is not searched",
        breaks="an old copy with its head file passes",
        place="privacy.ledger:Ledger._accepted",
        old="self.expect_head is not None and not statement.knows(self.expect_head)",
        new="False",
        tests=(f"{TESTS}::test_an_older_copy_with_its_head_file_is_refused_by_the_logbook_alone",),
    ),
    Mutation(
        name="ledger: the ledger of another dataset is accepted",
        breaks="one dataset spends the budget of another",
        place="privacy.ledger:Ledger._accepted",
        old="self.dataset is not None and statement.dataset != self.dataset",
        new="False",
        tests=(f"{TESTS}::test_the_ledger_of_another_dataset_or_format_is_refused",),
    ),
    Mutation(
        name="ledger: a second name of the file is accepted",
        breaks="one ledger gets two write-ahead files and two heads",
        place="privacy.ledger_file:_check_names",
        old="names != 1",
        new="names < 1",
        tests=(f"{TESTS}::test_a_second_name_of_the_file_is_refused",),
    ),
    Mutation(
        name="ledger: an existing ledger is overwritten",
        breaks="an account starts again from zero",
        place="privacy.ledger_file:check_no_ledger",
        old="if os.path.lexists(name):\n    raise _taken(name)",
        new="Path(name).unlink(missing_ok=True)",
        tests=(f"{TESTS}::test_opening_never_overwrites",),
    ),
    Mutation(
        name="ledger: its entries are not checked for control characters",
        breaks="a forged ledger writes any text to the terminal",
        place="privacy.ledger_file:read_entries",
        old=(
            'Entry(previous=previous, number=number, started=one_line("The time", row[1], 40), '
            'what=one_line("The purpose", row[2], 200), '
            "epsilon=from_text(row[3]), delta=from_text(row[4]), domain=domain_of(row[5]), notes=notes_of(row[6], fixed))"
        ),
        new=(
            "Entry(previous=previous, number=number, started=row[1], what=row[2], "
            "epsilon=from_text(row[3]), delta=from_text(row[4]), domain=domain_of(row[5]), notes=notes_of(row[6], fixed))"
        ),
        tests=(f"{TESTS}::test_texts_that_only_a_forger_writes_are_refused_although_the_hashes_are_right",),
    ),
    # --- The disk
    Mutation(
        name="ledger: the head file is not synced",
        breaks="the head file is empty after a power cut",
        place="privacy.ledger_file:_write_head",
        old="os.fsync(file.fileno())",
        new="pass",
        tests=(ORDER,),
    ),
    Mutation(
        name="ledger: the folder is not synced",
        breaks="after a power cut the ledger has an old head or no name",
        place="privacy.ledger_file:sync_folder",
        old="os.fsync(descriptor)",
        new="pass",
        tests=(ORDER,),
    ),
    Mutation(
        name="ledger: SQLite does not sync",
        breaks="the last charges are lost in a power cut",
        place="privacy.ledger_file:_durable",
        old='database.execute("PRAGMA synchronous = FULL")',
        new='database.execute("PRAGMA synchronous = OFF")',
        tests=(ORDER,),
    ),
    Mutation(
        name="ledger: a charge stays in the write-ahead file",
        breaks="a copy of the ledger file lacks a charge",
        place="privacy.ledger:Ledger._confirm",
        old="settle(database)",
        new="True",
        tests=(ORDER,),
    ),
    Mutation(
        name="ledger: its head is readable by all",
        breaks="other users learn what is done with the data, and when",
        place="privacy.ledger_file:write_head",
        old="os.open(temporary, _NEW, 0o600)",
        new="os.open(temporary, _NEW, 0o644)",
        tests=(f"{TESTS}::test_only_the_owner_may_read_the_files_and_nothing_else_is_left",),
    ),
    Mutation(
        name="ledger: the tables are read before they are checked",
        breaks="a ledger with an endless view blocks every run",
        place="privacy.ledger_file:read_entries",
        old=('database.execute("SELECT name, sql FROM sqlite_master ORDER BY name").fetchall() != sorted(TABLES.items())'),
        new=(
            'database.execute("SELECT name, sql FROM sqlite_master ORDER BY name").fetchall() != '
            'sorted(TABLES.items()) and database.execute("SELECT * FROM account").fetchall() != 1'
        ),
        tests=(f"{TESTS}::test_a_view_without_an_end_is_not_read",),
    ),
)
