"""Mutations of the one way to spend: its order, what it tries and refuses, broken rounds, domains in the ledger, archives."""

from __future__ import annotations

from tests.mutations.machinery import Mutation

OF_PUBLISH, OF_DRY, OF_LEDGER = "tests/test_publish.py", "tests/releasing/test_dry_run.py", "tests/privacy/test_account.py"
OF_SELECTION, ARCHITECTURE = "tests/releasing/test_selection.py", "tests/test_architecture.py"
CALLED = f"{OF_PUBLISH}::test_a_call_from_python_is_protected_and_leaves_everything_as_it_was"
METERS = f"{ARCHITECTURE}::test_a_meter_is_filled_by_the_code_of_a_round_alone"

OF_SPENDING = (
    # --- Order and refusals
    Mutation(
        name="publish: nothing is tried on made-up rows",
        breaks="what fails for sure is paid for",
        place="publish:publish",
        old="listener.tried(dry_run(spec, checked.priors, request.jobs))",
        new="pass",
        tests=(f"{OF_DRY}::test_an_error_in_any_part_of_an_attempt_is_refused_with_its_configuration",),
        core=True,
    ),
    Mutation(
        name="publish: tried after the charge",
        breaks="what fails for sure is paid for",
        place="publish:publish",
        old="listener.tried(dry_run(spec, checked.priors, request.jobs))",
        new="pass",
        also=(
            (
                "publish:publish",
                "reserve(spec, request, listener, checked.piece)",
                "reserve(spec, request, listener, checked.piece)\nlistener.tried(dry_run(spec, checked.priors, request.jobs))",
            ),
        ),
        tests=(f"{OF_PUBLISH}::test_everything_is_done_once_and_in_this_order", OF_DRY),
    ),
    Mutation(
        name="publish: priors are read twice",
        breaks="the file that is read may differ from the compared one",
        place="publish:_released",
        old=(
            "release(checked.spec, request.source, jobs=request.jobs, progress=listener.phase, priors=checked.priors, "
            "public=checked.public_tables, piece=checked.piece, trust=request.trust)"
        ),
        new=(
            "release(checked.spec, request.source, jobs=request.jobs, progress=listener.phase, "
            "public=checked.public_tables, piece=checked.piece, trust=request.trust)"
        ),
        tests=(f"{OF_PUBLISH}::test_everything_is_done_once_and_in_this_order",),
    ),
    Mutation(
        name="publish: the limit is not compared",
        breaks="a plan exceeds the limit of its own specification",
        place="publish:check_before_spending",
        old="spec.check_limit()",
        new="pass",
        tests=("tests/cli/test_cli.py::test_a_plan_above_the_limit_ends_with_4_before_the_data_are_opened",),
    ),
    Mutation(
        name="publish: the ledger does not get the domain",
        breaks="two exact numbers of rows are published for two domains",
        place="publish:reserve",
        old=(
            "reserve_for_release(ledger, spec.plan, _charged_for(spec), _charged_run(spec, piece), dataset=request.dataset, "
            "expect_head=request.expect_head)"
        ),
        new=(
            "reserve_for_release(ledger, spec.plan, _charged_for(spec), dataset=request.dataset, "
            "expect_head=request.expect_head)"
        ),
        tests=(f"{OF_PUBLISH}::test_the_domain_of_an_exact_number_of_rows_reaches_the_ledger",),
        core=True,
    ),
    Mutation(
        name="release: delta is not compared with the number of rows",
        breaks="whole records may be published at that delta",
        place="releasing.release:release",
        old="check_delta(spec.plan.total.delta, n_public, spent=True)",
        new="pass",
        tests=(f"{OF_PUBLISH}::test_a_delta_that_is_too_large_for_so_many_rows_is_refused_after_reading",),
    ),
    Mutation(
        name="publish: an impossible delta is found after the charge",
        breaks="a certain failure is paid for",
        place="publish:check_before_spending",
        old="check_delta(spec.plan.total.delta, 1)",
        new="pass",
        tests=(f"{OF_PUBLISH}::test_a_delta_that_no_number_of_rows_allows_is_refused_before_the_charge",),
    ),
    Mutation(
        name="publish: an unexpected error keeps its message",
        breaks="the message may quote private values",
        place="privacy.protection:after_the_charge",
        old="Exception",
        new="ZeroDivisionError",
        tests=(CALLED,),
    ),
    Mutation(
        name="publish: other ledgers are not searched",
        breaks="a second ledger for the same people stays unnoticed",
        place="publish:ledgers_near",
        old="(beside_output.parent, *beside, Path.cwd())",
        new="(beside_output.parent,)",
        tests=(f"{OF_PUBLISH}::test_other_ledgers_nearby_are_told_of_where_none_is_named",),
    ),
    # --- Protection
    Mutation(
        name="publish: a call from Python is not protected",
        breaks="messages on the screen, core files on the disk",
        place="publish:publish",
        old=("with protected():\n    return _spent(checked, request, listener, places)"),
        new=("if True:\n    return _spent(checked, request, listener, places)"),
        tests=(CALLED,),
    ),
    Mutation(
        name="protection: hooks stay after a call",
        breaks="a notebook shows no messages any more",
        place="privacy.protection:protected",
        old="sys.excepthook, sys.unraisablehook, threading.excepthook = hooks",
        new="pass",
        tests=(CALLED,),
    ),
    Mutation(
        name="protection: core files are allowed in a call",
        breaks="private rows are on the disk",
        place="privacy.protection:protected",
        old="set_core_limit(0)",
        new="pass",
        tests=(CALLED,),
    ),
    # --- A public file that is the private one
    Mutation(
        name="same file: the content is not compared",
        breaks="a copy of the private file serves as a prior",
        place="enclave.ingest:check_not_public",
        old="digest == file.digest",
        new="False",
        tests=(OF_PUBLISH,),
    ),
    Mutation(
        name="same file: it is opened even if its size differs",
        breaks="the private file is read before the charge",
        place="enclave.ingest:check_not_public",
        old="not same and size == file.size",
        new="not same",
        tests=(OF_PUBLISH,),
    ),
    Mutation(
        name="release: tables are not compared",
        breaks="the private rows in another order serve as a prior",
        place="enclave.door:Door.is_public",
        old="bool(digests) and opaque(lambda: self.__counts.digest()) in digests",
        new="False",
        tests=(OF_PUBLISH,),
    ),
    Mutation(
        name="table digest: the digest ignores counts",
        breaks="other tables count as the private one",
        place="data.counts:Counts.digest",
        old="(*(self.words if self.layout.has_codes else self.bins), self.counts)",
        new="self.words if self.layout.has_codes else self.bins",
        tests=(f"{OF_PUBLISH}::test_the_private_file_is_opened_before_the_charge_only_where_its_size_is_that_of_a_public_one",),
    ),
    Mutation(
        name="rehearsal: the shortlist does not name its file",
        breaks="a shortlist from the private file is accepted",
        place="spec.shortlist:shortlist_text",
        old="data is not None",
        new="False",
        tests=(f"{OF_PUBLISH}::test_a_shortlist_that_was_rehearsed_on_the_private_file_is_refused",),
    ),
    # --- Dry run
    Mutation(
        name="dry run: only the smallest configuration is tried",
        breaks="a failure of the largest configuration is paid for",
        place="releasing.dry_run:extremes",
        old="yield largest",
        new="pass",
        tests=(f"{OF_DRY}::test_every_family_is_tried_at_its_smallest_and_its_largest",),
    ),
    Mutation(
        name="dry run: criteria are skipped without a candidate",
        breaks="a criterion that cannot be computed is paid for",
        place="releasing.dry_run:_attempt",
        old="candidate = Candidate(configuration=configuration, counts=made_up_rows)",
        new="return",
        tests=(f"{OF_DRY}::test_criteria_are_asked_also_where_no_candidate_comes_of_made_up_rows",),
    ),
    Mutation(
        name="dry run: values after acceptance are not tried",
        breaks="an accepted table has no values",
        place="releasing.dry_run:_attempt",
        old="released_figures(spec, verdict, private, prepared)",
        new="pass",
        tests=(f"{OF_DRY}::test_what_is_asked_after_acceptance_is_tried_too",),
    ),
    Mutation(
        name="dry run: rules are ignored",
        breaks="made-up rows are impossible",
        place="releasing.dry_run:made_up",
        old="digits[column] = bins.copy()",
        new="pass",
        tests=(f"{OF_DRY}::test_made_up_rows_are_plausible_and_always_the_same",),
    ),
    Mutation(
        name="dry run: memory is not compared",
        breaks="the run ends for lack of memory, after the charge",
        place="releasing.dry_run:dry_run",
        old="check_measured(before, megabytes_in_use(), jobs)",
        new="pass",
        tests=(f"{OF_DRY}::test_a_run_that_needs_more_memory_than_there_is_is_refused",),
    ),
    # --- Broken rounds
    Mutation(
        name="round: a failed round counts as rejected",
        breaks="the budget is spent on rounds that all fail",
        place="releasing.selection:guarded",
        old="Verdict.BROKEN",
        new="Verdict.REJECTED",
        tests=(f"{OF_SELECTION}::test_output_law_is_that_of_the_theorem",),
        core=True,
    ),
    Mutation(
        name="round: a failed round ends the run out of order",
        breaks="the first round to finish decides",
        place="releasing.selection:guarded",
        old="return RoundResult(Verdict.BROKEN, None, failure_of(error))",
        new="raise InternalError(failure_of(error)) from None",
        tests=(OF_SELECTION,),
    ),
    Mutation(
        name="round: lack of memory names a place",
        breaks="the memory use of private counts is revealed",
        place="releasing.selection:guarded",
        old="(PrivateFailure, MemoryError)",
        new="PrivateFailure",
        tests=(OF_SELECTION,),
    ),
    Mutation(
        name="internal error: its message is shown",
        breaks="the message may quote private values",
        place="errors:failure_of",
        old='f"{type(error).__name__} at {place_of(error.__traceback__)}"',
        new='f"{type(error).__name__} at {place_of(error.__traceback__)}. {error}"',
        tests=(OF_SELECTION, OF_PUBLISH),
    ),
    # --- Meters
    Mutation(
        name="meter: a meter is made in another component",
        breaks="a charge is missing in every plan",
        place="releasing.release:release",
        old="prepare(spec, table, priors)",
        new="prepare(spec, table.with_plan(spec.plan.once), priors)",
        tests=(METERS,),
    ),
    Mutation(
        name="meter: charges of another round after acceptance pass",
        breaks="a charge is missing in every plan",
        place="releasing.attempt:released_figures",
        old="spec.plan.after",
        new="[*spec.plan.after, *spec.plan.per_round]",
        tests=(METERS,),
    ),
    # --- Domains in the ledger
    Mutation(
        name="ledger: domains are not compared",
        breaks="the exact difference of two numbers of rows is published without a charge",
        place="privacy.ledger:Ledger._check_domain",
        old="statement.domain not in (None, domain)",
        new="False",
        tests=(OF_LEDGER,),
    ),
    Mutation(
        name="ledger: the hash does not cover the domain",
        breaks="a domain can be edited",
        place="privacy.ledger_file:Entry.hash",
        old="[self.previous, *self._fields]",
        new="[self.previous, *self._fields[:5], *self._fields[6:]]",
        tests=(OF_LEDGER,),
    ),
    Mutation(
        name="ledger: the first domain is forgotten after a protected release",
        breaks="the exact difference of two numbers of rows is published without a charge",
        place="privacy.ledger_file:Statement.domain",
        old="_only(entry.domain for entry in self.entries)",
        new="next((entry.domain for entry in self.entries), None)",
        tests=(OF_LEDGER,),
    ),
    # --- Archive
    Mutation(
        name="archive: files bear their times",
        breaks="the end of a run reveals the number of rounds",
        place="bundle.write:write_archive",
        old='zipfile.ZipInfo(f"{folder.absolute().name}/{member.name}", _FIRST_DAY)',
        new='zipfile.ZipInfo.from_file(member, f"{folder.absolute().name}/{member.name}")',
        tests=(OF_PUBLISH,),
    ),
    Mutation(
        name="archive: it states its time",
        breaks="the duration of a run reveals the number of rounds",
        place="bundle.write:write_archive",
        old="os.utime(temporary, (NO_TIME, NO_TIME))",
        new="pass",
        tests=(OF_PUBLISH,),
    ),
    Mutation(
        name="archive: in the order of the disk",
        breaks="the order in which files were written",
        place="bundle.write:write_archive",
        old="entry_.name",
        new="-entry_.stat().st_size",
        tests=(OF_PUBLISH,),
    ),
)
