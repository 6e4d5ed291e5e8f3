"""Mutations of a register in pieces: what the ledger sums, who is read, the key, and what is refused before a charge."""

from __future__ import annotations

from tests.mutations.machinery import Mutation

SUMS, NUMBERS = "tests/privacy/test_ledger_pieces.py", "tests/enclave/test_record_numbers.py"
LEDGER, WHOLE = "tests/privacy/test_split.py", "tests/whole/test_split_register.py"
DEAREST = f"{LEDGER}::test_what_was_spent_is_that_of_the_dearest_piece_and_each_has_the_limit"
BEFORE = f"{WHOLE}::test_a_release_that_cannot_be_of_its_piece_costs_nothing"
BUNDLE = f"{WHOLE}::test_the_bundle_says_it_and_holds_no_number_and_no_key"
FORGED = f"{LEDGER}::test_what_only_a_forger_writes_of_pieces_is_refused_although_the_hashes_are_right"
READ = f"{NUMBERS}::test_each_row_is_read_in_one_piece_and_values_of_others_have_no_effect"
ASSIGNED = f"{NUMBERS}::test_the_piece_of_a_number_is_that_of_hmac_sha256_and_stays"

OF_THE_SPLIT = (
    # --- Sums
    Mutation(
        name="split: the cheapest piece counts",
        breaks="a record of the most expensive piece is not paid for",
        place="privacy.subsets:Spent.most",
        old="max(self.of_pieces.values(), default=Fraction(0))",
        new="min(self.of_pieces.values(), default=Fraction(0))",
        tests=(SUMS,),
        core=True,
    ),
    Mutation(
        name="split: releases of all rows count for no piece",
        breaks="a record is read twice for one price",
        place="privacy.subsets:Spent.before",
        old="self.of_all + self.of_pieces.get(piece, Fraction(0))",
        new="self.of_pieces.get(piece, Fraction(0))",
        tests=(SUMS, DEAREST),
    ),
    Mutation(
        name="split: a changed record number is charged to one piece",
        breaks="two pieces change and one pays",
        place="privacy.subsets:Spent.most_renumbered",
        old="sorted(self.of_pieces.values())[-2:]",
        new="sorted(self.of_pieces.values())[-1:]",
        tests=(f"{SUMS}::test_a_record_of_another_number_pays_for_two_pieces",),
    ),
    Mutation(
        name="split: a release of all rows is compared with the sum of all pieces",
        breaks="the most expensive piece exceeds the limit",
        place="privacy.subsets:Spent.before",
        old="self.most",
        new="self.of_all",
        tests=(DEAREST,),
    ),
    Mutation(
        name="split: the ledger forgets the piece of a charge",
        breaks="pieces that were never read are added up",
        place="privacy.ledger:Ledger._charged",
        old="Notes(piece=run.piece)",
        new="Notes()",
        tests=(DEAREST,),
    ),
    Mutation(
        name="split: a piece of another split is accepted",
        breaks="a record is in pieces of two splits and pays for one",
        place="privacy.ledger:Ledger._check_piece",
        old="statement.split != run.split",
        new="False",
        tests=(f"{LEDGER}::test_a_piece_that_there_is_not_is_refused",),
    ),
    Mutation(
        name="split: a register is split a second time",
        breaks="records of two pieces are released together",
        place="privacy.ledger:check_unsplit",
        old="statement.split is not None",
        new="False",
        tests=(f"{LEDGER}::test_a_register_is_split_once",),
    ),
    Mutation(
        name="split: a second split is read",
        breaks="a forged ledger loses earlier charges",
        place="privacy.ledger_file:notes_of",
        old="(result.split is not None and split is not None)",
        new="False",
        tests=(FORGED,),
    ),
    Mutation(
        name="split: any number counts as a piece",
        breaks="a charge names records that do not exist",
        place="privacy.ledger_file:notes_of",
        old="result.piece > split.pieces",
        new="False",
        tests=(FORGED,),
    ),
    # --- Who is read
    Mutation(
        name="split: all rows are read",
        breaks="records of other pieces are not paid for",
        place="enclave.record_numbers:count_piece",
        old="numbers.add(columns[piece.rule.by]) == piece.rule.piece",
        new="numbers.add(columns[piece.rule.by]) >= 1",
        tests=(READ,),
        core=True,
    ),
    Mutation(
        name="split: the key is not used",
        breaks="anybody can compute the piece of every record number",
        place="enclave.record_numbers:SplitKey.mark",
        old="self.secret",
        new='b""',
        tests=(f"{NUMBERS}::test_pieces_are_about_equal_and_another_key_gives_others",),
    ),
    Mutation(
        name="split: the place in the file decides",
        breaks="a register in another order is split differently",
        place="enclave.record_numbers:RecordNumbers.add",
        old='1 + int.from_bytes(mark[:16], "big") % self._of',
        new="1 + index % self._of",
        tests=(ASSIGNED,),
    ),
    Mutation(
        name="split: spaces change the record number",
        breaks="a record changes its piece if a column becomes wider",
        place="enclave.record_numbers:RecordNumbers.add",
        old="key[self._as_written]",
        new='(texts.texts[index] or "")',
        tests=(ASSIGNED,),
    ),
    Mutation(
        name="split: a number may belong to several rows",
        breaks="one number covers several records of the guarantee",
        place="enclave.record_numbers:RecordNumbers.digest",
        old="len(repeated(np.concatenate(self._marks)))",
        new="False",
        tests=(f"{NUMBERS}::test_a_number_of_two_rows_is_refused_and_not_shown",),
    ),
    Mutation(
        name="split: numbers may change after the charge",
        breaks="records are in another piece than the one that paid",
        place="enclave.record_numbers:count_piece",
        old="piece.check(numbers)",
        new="pass",
        tests=(f"{NUMBERS}::test_a_register_that_was_numbered_anew_is_refused_also_while_it_is_read",),
    ),
    Mutation(
        name="split: the rows of the piece count as the rows of the file",
        breaks="an exact number of rows is published without a charge",
        place="enclave.record_numbers:count_piece",
        old="replace(rows, n_rows=numbers.n_rows)",
        new="rows",
        tests=(READ,),
    ),
    Mutation(
        name="split: all rows of a piece are used",
        breaks="an exact number that depends on one record is published",
        place="spec.record:rows_rule",
        old="release.split is None",
        new="True",
        tests=(f"{WHOLE}::test_without_rules_too_the_number_of_rows_of_a_piece_is_counted",),
    ),
    # --- The key
    Mutation(
        name="split: others may read the key",
        breaks="the secret key is readable",
        place="enclave.record_numbers:write_key",
        old="os.open(path, _NEW, 0o600)",
        new="os.open(path, _NEW, 0o644)",
        tests=(f"{NUMBERS}::test_a_key_that_others_can_read_is_refused",),
    ),
    Mutation(
        name="split: a key that others can read is accepted",
        breaks="the secret key is readable",
        place="enclave.record_numbers:read_key",
        old="state.st_mode & _OTHERS",
        new="False",
        tests=(f"{NUMBERS}::test_a_key_that_others_can_read_is_refused",),
    ),
    Mutation(
        name="split: any key is accepted",
        breaks="records change their piece",
        place="releasing.release:piece_to_read",
        old="key.digest != split.key",
        new="False",
        tests=(BEFORE,),
    ),
    # --- Before a charge, and what is said
    Mutation(
        name="split: another number of pieces than in the ledger is accepted",
        breaks="the assignment differs from the charged one",
        place="releasing.release:piece_to_read",
        old="split is None or split.pieces != rule.of",
        new="split is None",
        tests=(BEFORE,),
    ),
    Mutation(
        name="split: one piece is charged and all rows are read",
        breaks="a specification with a piece runs without one",
        place="releasing.release:read_private",
        old="(None if piece is None else piece.rule) != spec.options.split",
        new="False",
        tests=(f"{WHOLE}::test_the_pieces_are_those_of_the_key",),
    ),
    Mutation(
        name="split: a register called public is compared by its piece only",
        breaks="a release starts from the private rows",
        place="releasing.release:read_private",
        old="some_rows and public and _whole_is_public(spec, data, public)",
        new="False",
        tests=(f"{WHOLE}::test_a_register_that_is_said_to_be_public_is_found_by_its_counts_also_when_a_piece_is_read",),
    ),
    Mutation(
        name="split: the record number is released",
        breaks="everybody knows whose row it is",
        place="spec.register:check_split",
        old="table.by in column.sources",
        new="False",
        tests=(f"{WHOLE}::test_what_does_not_go_together_is_refused",),
    ),
    Mutation(
        name="split: an exact number of rows of a piece",
        breaks="two such numbers tell who is in which piece",
        place="spec.register:check_split",
        old='release.input.rows == "exact"',
        new="False",
        tests=(f"{WHOLE}::test_what_does_not_go_together_is_refused",),
    ),
    Mutation(
        name="card: a piece of a register is not mentioned",
        breaks="values of a piece look like values of all records",
        place="bundle.options:about_figures",
        old="in_file is not None",
        new="False",
        tests=(BUNDLE,),
    ),
    Mutation(
        name="verify: an exact number of rows of a piece passes",
        breaks="the theorem does not cover the release",
        place="published.verify.charges:_domain_problems",
        old='secret and domain.way == "exact"',
        new="False",
        tests=(f"{WHOLE}::test_what_does_not_go_with_a_piece_is_found",),
    ),
)
