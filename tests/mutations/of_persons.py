"""Mutations of the first rows of persons (theory 1.9, first rows of a person), and of the question whose rows they are."""

from __future__ import annotations

from tests.mutations.machinery import Mutation

ROWS = "tests/enclave/test_first_rows.py"
ASKED = "tests/spec/test_persons.py"
PUBLISH = "tests/test_publish.py"
LAW = "test_of_rows_at_the_same_place_each_is_kept_with_the_same_probability_in_any_order_of_the_file"

OF_PERSONS = (
    Mutation(
        name="persons: one row too many is used",
        breaks="a person changes more records than the guarantee covers",
        place="enclave.persons:Persons._let_go",
        old="position < self._most",
        new="position <= self._most",
        tests=(f"{ROWS}::test_replacing_all_rows_of_a_person_changes_at_most_k_records",),
        core=True,
    ),
    Mutation(
        name="persons: the first rows in the order of the file",
        breaks="the order of the file decides which record of a person is kept",
        place="enclave.persons:Persons._let_go",
        old="keys = [number[among], *(word[among] for word in rows[2 : self._n_before_bins])]",
        new="keys = [number[among]]",
        tests=(f"{ROWS}::test_the_order_of_the_file_and_its_batches_have_no_effect",),
    ),
    Mutation(
        name="persons: rows that agree keep the order of the file",
        breaks="the order of the file decides which row of a day is kept",
        place="enclave.persons:Persons._let_go",
        old="(word[among] for word in rows[2 : self._n_before_bins])",
        new="(word[among] for word in rows[2 : self._n_before_bins - 1])",
        tests=(f"{ROWS}::{LAW}",),
    ),
    Mutation(
        name="persons: released values order rows that agree",
        breaks="low values are released more often",
        place="enclave.persons:first_rows",
        old="order.append(entropy.picks(np.full(len(allowed), _COINS)))",
        new="order.append(bins[0][allowed])",
        tests=(f"{ROWS}::{LAW}",),
    ),
    Mutation(
        name="persons: chance comes before the stated order",
        breaks="the first stay of a patient is a random stay",
        place="enclave.persons:first_rows",
        old="order.append(entropy.picks(np.full(len(allowed), _COINS)))",
        new="order.insert(0, entropy.picks(np.full(len(allowed), _COINS)))",
        tests=(f"{ROWS}::{LAW}",),
    ),
    Mutation(
        name="persons: a release uses the coins of public files",
        breaks="rows of others reveal how many rows a person has",
        place="enclave.ingest:ingest",
        old="_read(source, schema, policy, raw, piece, unit)",
        new="_read(source, schema, policy, raw, piece, unit, SeededEntropy(_SEED))",
        tests=(f"{ROWS}::test_coins_come_from_the_operating_system_and_public_files_are_read_alike",),
        core=True,
    ),
    Mutation(
        name="persons: a file called public is compared by its drawn rows",
        breaks="a release starts from the private rows",
        place="releasing.attempt:public_digest",
        old="spec.unit.key is not None",
        new="False",
        tests=(f"{PUBLISH}::test_such_a_prior_is_refused_too_where_rows_of_each_person_are_drawn",),
    ),
    Mutation(
        name="persons: implausible rows are considered, too",
        breaks="a person whose first row is implausible is excluded",
        place="enclave.persons:first_rows",
        old="if raw.masks:",
        new="if False:",
        tests=(f"{ROWS}::test_of_every_content_the_first_rows_that_the_rules_keep_are_kept",),
    ),
    Mutation(
        name="persons: the number of rows is published",
        breaks="an exact number that differs between neighbours is shown",
        place="enclave.persons:first_rows",
        old="rule.counted(persons.cells(), n_persons * unit.records)",
        new="rule.counted(persons.cells(), rule.n_rows)",
        tests=(f"{ROWS}::test_only_the_number_of_persons_is_told",),
        core=True,
    ),
    Mutation(
        name="persons: rows without a key count as one person",
        breaks="all persons without a key are protected as one",
        place="enclave.persons:keys_of",
        old="not key or stripped in missing or key in missing",
        new="False",
        tests=(f"{ROWS}::test_keys_are_texts_without_spaces_around_and_rows_without_one_are_left_out",),
    ),
    Mutation(
        name="persons: several rows of a person count as a public number",
        breaks="the number of rows of each person is published exactly",
        place="spec.record:rows_rule",
        old="every = not dropped and not raw.masks and not several",
        new="every = not dropped and not raw.masks",
        tests=(f"{ASKED}::test_how_many_rows_are_kept_is_counted_wherever_it_is_private",),
    ),
    Mutation(
        name="persons: the question is not asked",
        breaks="a person with several rows is promised the protection of one row",
        place="publish:check_before_spending",
        old="spec.check_unit_answered()",
        new="pass",
        tests=(f"{ASKED}::test_what_promises_or_spends_asks_first",),
    ),
    Mutation(
        name="persons: a key without an order is not asked about",
        breaks="nobody states which row of a person is released",
        place="spec.record:check_unit_answered",
        old="if not unit.answered:",
        new="if False:",
        tests=(f"{ASKED}::test_a_key_alone_does_not_say_which_row_of_a_person_comes_first",),
    ),
    Mutation(
        name="persons: the key may be released",
        breaks="every person is identified",
        place="spec.record:check_unit",
        old="if released:",
        new="if False:",
        tests=(f"{ASKED}::test_what_cannot_see_all_rows_of_a_person_is_refused",),
    ),
)
