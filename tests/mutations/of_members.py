"""Mutations of roots with their members (theory 1.10, roots with their members), and of their two files."""

from __future__ import annotations

from tests.mutations.machinery import Mutation

ROWS = "tests/enclave/test_linked_rows.py"
CONTENTS = f"{ROWS}::test_every_content_of_a_key_becomes_the_record_that_the_rules_say_or_none"
BUNDLE = "tests/bundle/test_members.py"

RULES = (f"{BUNDLE}::test_a_rule_for_members_leaves_out_the_roots_that_have_such_a_member",)
TWO = (f"{BUNDLE}::test_a_rule_for_two_members_is_about_every_two",)

COUNTED = "tests/spec/test_members_rules.py"
COUNTS = (
    f"{COUNTED}::test_the_roots_that_are_kept_are_those_whose_lists_of_members_break_no_rule",
    f"{COUNTED}::test_what_is_said_of_fewer_members_is_not_said_of_a_root_that_may_have_more",
)


CRITERIA = "tests/criteria/test_members.py"
ROOT_IS_REPLACED = (
    "tests/criteria/test_sensitivity.py::test_no_neighbour_moves_a_figure_by_more_than_its_sensitivity"
    "[mean_marginal_error: mean marginal error of members, roots of 0 to 2]"
)

OF_ROOTS = "tests/criteria/test_sensitivity.py::test_no_neighbour_moves_a_figure_by_more_than_its_sensitivity"
SLOPES = "tests/answers/test_estimates_members.py::test_slopes_of_a_population_count_roots"
BOUNDS = "tests/answers/test_bounds_members.py::test_no_table_of_roots_that_the_limits_allow_is_outside"
MEANS = "tests/criteria/test_mean_of_roots.py::test_figures_are_those_of_lists_of_members"

COUNTERS = "tests/generators/test_counters.py::test_a_row_has_one_count_of_each_just_when_it_breaks_no_rule"

OF_MEMBERS = (
    Mutation(
        name="rules that count: one more than the rule allows counts as allowed",
        breaks="model rows break the rule and are drawn again",
        place="generators.counters:_enough",
        old="math.floor(most) + 1",
        new="math.floor(most)",
        tests=(COUNTERS,),
    ),
    Mutation(
        name="rules that count: a bin that may be counted is not counted",
        breaks="the model lacks rows of mixed bins, or has rows that no rule allows",
        place="generators.counters:_part",
        old="~false & possible & high",
        new="true & possible & high",
        tests=(COUNTERS,),
    ),
    Mutation(
        name="rules that count: a column of the condition is ignored",
        breaks="bins of other columns decide whether a member is counted",
        place="generators.counters:_part",
        old="all((somewhere == everywhere)[some].all() for somewhere, everywhere in alike)",
        new="True",
        tests=(COUNTERS,),
    ),
    Mutation(
        name="means over roots: members are clipped instead of roots",
        breaks="a root changes a mean by the range times its number of members",
        place="criteria.mean_of_roots_mechanism:NumbersOfRoots._numbers",
        old="total[valued] += one[valued]",
        new="total[valued] += np.clip(one[valued], *self.range)",
        tests=(f"{OF_ROOTS}[mean_of_roots: mean of roots of how many, clipped, roots of 0 to 3]",),
        also=(("criteria.mean_of_roots_mechanism:NumbersOfRoots._added", "np.clip(numbers, *self.range)", "numbers"),),
    ),
    Mutation(
        name="means over roots: roots with fewer than two members count as roots without agreement",
        breaks="a mean over roots of at least two members includes roots with one",
        place="criteria.mean_of_roots_mechanism:NumbersOfRoots._numbers",
        old="pairs > 0",
        new="pairs >= 0",
        tests=(f"{OF_ROOTS}[mean_of_roots: mean of roots of alike, roots of 0 to 3]", MEANS),
    ),
    Mutation(
        name="means over roots: the number of agreeing pairs replaces their share",
        breaks="large roots count more, and more than the noise covers",
        place="criteria.mean_of_roots_mechanism:NumbersOfRoots._numbers",
        old="total / np.maximum(pairs, 1)",
        new="total",
        tests=(f"{OF_ROOTS}[mean_of_roots: mean of roots of alike, roots of 0 to 3]",),
    ),
    Mutation(
        name="means over roots: exact values are replaced by representative values",
        breaks="the mean of representative values is stated as the mean of the file",
        place="criteria.mean_of_roots_mechanism:NumbersOfRoots.of_original",
        old="not self.own",
        new="True",
        tests=(MEANS,),
    ),
    Mutation(
        name="means over roots: a group gets the noise for all roots",
        breaks="a root changes the mean of a small group by more than the noise covers",
        place="criteria.mean_of_roots:MeanOfRoots.query",
        old="min(int(group.roots.min()) for group in groups)",
        new="max(int(group.roots.max()) for group in groups)",
        tests=(f"{OF_ROOTS}[mean_of_roots: mean of roots of means by town, roots of 1 to 2]",),
    ),
    Mutation(
        name="criteria of members: the charge covers one row instead of a root",
        breaks="a replaced root changes the value by the noise's limit times its members",
        place="criteria.members:_query",
        old="rows.rows.most * query.sensitivity",
        new="query.sensitivity",
        tests=(ROOT_IS_REPLACED,),
        core=True,
    ),
    Mutation(
        name="criteria of members: a root makes one row more than is paid for",
        breaks="the largest roots change the value by more than the noise covers",
        place="data.members:MemberRows.most",
        old="max(1, len(self.seats))",
        new="max(1, len(self.seats) - 1)",
        tests=(ROOT_IS_REPLACED,),
    ),
    Mutation(
        name="criteria of members: the last member is skipped",
        breaks="a value about members ignores some of them",
        place="data.member_counts:stacked",
        old="number >= max(seat)",
        new="number > max(seat)",
        tests=(f"{CRITERIA}::test_every_root_makes_the_rows_that_its_members_are",),
    ),
    Mutation(
        name="faithfulness: members of the file stay in their slots",
        breaks="a candidate in another order has no similar roots",
        place="criteria.faithfulness_mechanism:compared_rows",
        old="linked is not None",
        new="False",
        tests=(
            "tests/criteria/test_sensitivity.py::test_no_neighbour_moves_a_figure_by_more_than_its_sensitivity"
            "[faithfulness: faithfulness of members in any order, all exact, roots of 0 to 3]",
        ),
    ),
    Mutation(
        name="faithfulness: columns of a member are sorted separately",
        breaks="members of the file resemble members of no root",
        place="data.linked:Linked.in_order",
        old="np.take_along_axis(values, order, axis=1)",
        new="np.sort(values, axis=1)",
        tests=(f"{CRITERIA}::test_rows_with_members_in_another_order_are_similar_where_the_order_is_of_no_matter",),
    ),
    Mutation(
        name="criteria of members: empty slots count as rows",
        breaks="members who do not exist are counted",
        place="data.member_counts:stacked",
        old="number >= max(seat)",
        new="number >= 0",
        tests=(f"{CRITERIA}::test_every_root_makes_the_rows_that_its_members_are",),
    ),
    Mutation(
        name="criteria of members: exact values are replaced by representative values",
        breaks="the mean of representative values is stated as the mean of the file",
        place="data.member_counts:RowsOnBins.with_own_values",
        old="name in self.own",
        new="False",
        tests=(f"{CRITERIA}::test_figures_are_those_of_lists_of_members",),
    ),
    Mutation(
        name="members: a rule applies to empty slots",
        breaks="small roots are excluded because of a member they do not have",
        place="settings.wide:_of_member",
        old='needed > table.least and ("missing" in words or (of_more and words & {"or", "not"}))',
        new="False",
        tests=RULES,
    ),
    Mutation(
        name="members: the first one is compared with itself",
        breaks="roots that are left out by a rule about all other members",
        place="settings.wide:with_members",
        old="slot > 1 or not of_others(rule)",
        new="True",
        tests=RULES,
    ),
    Mutation(
        name="members: a rule for two members checks neighbouring ones only",
        breaks="a root with two such members is released if another member stands between",
        place="settings.wide:_of_every_two",
        old="slot == 1 and of_others(rule)",
        new="abs(slot - second) > 1",
        tests=TWO,
    ),
    Mutation(
        name="members: two members are checked in one order only",
        breaks="a root whose later member comes first in the rule is released",
        place="settings.wide:_of_every_two",
        old='frozenset(applied.never.split(" and ") if is_divided else [applied.never])',
        new="frozenset([str(sorted((slot, second or 0)))])",
        tests=TWO,
    ),
    Mutation(
        name="members: empty slots are counted",
        breaks="a rule that counts members is true for small households by mistake",
        place="settings.wide:_counted",
        old="slot > table.least",
        new="False",
        tests=COUNTS,
    ),
    Mutation(
        name="members: an equation is required of truncated households",
        breaks="every large household is excluded",
        place="settings.wide:_counted",
        old='against is None or table.more == "drop"',
        new="True",
        tests=COUNTS,
    ),
    Mutation(
        name="members: the first member counts among the others",
        breaks="a rule about the other members applies to everybody",
        place="settings.wide:_counted",
        old="2 if any(word.startswith(FIRST) for word in words_in(condition)) else 1",
        new="1",
        tests=(f"{COUNTED}::test_the_first_member_is_not_counted_among_the_others",),
    ),
    Mutation(
        name="rules of records: a coarse bin counts as each of its values",
        breaks="possible released rows are excluded",
        place="data.rules:RecordRule.merge",
        old="np.ones(transformation.layout.sizes[column], dtype=bool)",
        new="np.zeros(transformation.layout.sizes[column], dtype=bool)",
        also=(("data.rules:RecordRule.merge", "np.logical_and.at", "np.logical_or.at"),),
        tests=("tests/data/test_truth.py",),
    ),
    Mutation(
        name="rules of records: released rows are not checked",
        breaks="a rule that counts holds only for the private file",
        place="data.plausibility:Plausibility.merge",
        old="tuple(rule.merge(transformation) for rule in self.records)",
        new="()",
        tests=("tests/data/test_truth.py", f"{COUNTED}::test_a_whole_release_of_300_households_breaks_none_of_them"),
    ),
    Mutation(
        name="rules of records: public filler rows break them",
        breaks="filler rows are impossible for a root",
        place="data.plausibility:FillerRows.__init__",
        old="if raw.records or raw.counted:",
        new="if False:",
        tests=(f"{COUNTED}::test_public_filling_rows_follow_the_rules",),
    ),
    Mutation(
        name="members: a key with two roots is kept",
        breaks="replacing one root changes several kept records",
        place="enclave.members:_roots",
        old="complete, columns = (times > 0) if one_file else (times == 1), list[np.ndarray]()",
        new="complete, columns = times > 0, list[np.ndarray]()",
        tests=(CONTENTS,),
        core=True,
    ),
    Mutation(
        name="members: the last of several roots of a key counts in one file",
        breaks="the order of the file decides the root of a key",
        place="enclave.members:_roots",
        old="complete[of_rows[bins != column[of_rows]]] = False",
        new="pass",
        tests=(f"{ROWS}::test_in_one_file_a_key_with_two_roots_is_left_out_whole",),
        core=True,
    ),
    Mutation(
        name="members: a member without a root is not counted",
        breaks="replacing a root that consists only of its members changes a public number",
        place="enclave.members:count_linked_rows",
        old="n_rows=keys",
        new="n_rows=len(roots.marks)",
        tests=(f"{ROWS}::test_the_number_of_keys_is_told_and_that_of_members_is_not",),
        core=True,
    ),
    Mutation(
        name="members: columns that differ only outside their values count as equal",
        breaks="a value is clipped although its column excludes the root",
        place="data.misfits:_but_for_names",
        old='replace(column, name="", description="", alternatives={})',
        new='replace(column, name="", description="", alternatives={}, outside="drop")',
        tests=(
            "tests/enclave/test_linked_hostile.py"
            "::test_two_columns_of_members_that_read_one_column_of_the_file_keep_their_own_rules",
        ),
    ),
    Mutation(
        name="members: members beyond the cap are ordered as in the file",
        breaks="which members are released depends on how the file was sorted",
        place="enclave.members:_members",
        old="ordered = np.lexsort([*rows.of_member[::-1], *rows.order[::-1], of_rows])",
        new="ordered = np.lexsort([of_rows])",
        tests=(f"{ROWS}::test_the_order_of_both_files_and_their_batches_have_no_effect", CONTENTS),
        core=True,
    ),
    Mutation(
        name="members: a member without a value stays",
        breaks="a filled slot looks like an empty slot",
        place="enclave.members:_members",
        old="complete[at[column[at] == absent]] = False",
        new="pass",
        tests=(CONTENTS,),
    ),
    Mutation(
        name="members: a root with too many is not dropped",
        breaks='more = "drop" says what is not done',
        place="enclave.members:_members",
        old="complete &= number <= linked.most",
        new="pass",
        tests=(CONTENTS,),
    ),
    Mutation(
        name="members: a root with too few stays",
        breaks="least says what is not done",
        place="enclave.members:_members",
        old="complete: np.ndarray = number >= low",
        new="complete: np.ndarray = number >= 0",
        tests=(CONTENTS,),
    ),
    Mutation(
        name="members: the reference person does not come first",
        breaks="the first member differs from the card",
        place="enclave.members:_Reading._order",
        old="if self.linked.reference is not None:",
        new="if False:",
        tests=(CONTENTS,),
    ),
    Mutation(
        name="keys: 206.0 and 206 are two keys",
        breaks="members lose their root, and a person is protected as two",
        place="enclave.texts:key_text",
        old='return _plain(Decimal(number.upper().replace("D", "E"))).replace(".", decimal)',
        new="return plain",
        tests=(f"{ROWS}::test_keys_are_compared_without_blanks_and_whole_numbers_without_their_zeros",),
    ),
    Mutation(
        name="members: public filler rows have members that do not exist",
        breaks="filler rows are impossible for a root",
        place="data.linked:Linked.empty",
        old="bins[column][number <= index] = sizes[column] - 1",
        new="pass",
        tests=(f"{ROWS}::test_a_table_is_filled_with_records_of_roots_that_can_be",),
    ),
    Mutation(
        name="members: empty released slots may hold values",
        breaks="a household of one has a second person",
        place="settings.wide:_of_absent",
        old="if never:",
        new="if False:",
        tests=(f"{ROWS}::test_rules_of_a_slot_forbid_what_no_member_can_be",),
    ),
    Mutation(
        name="members: keys of members are not compared",
        breaks="verify accepts members of another root",
        place="published.table:_wide",
        old="if not np.array_equal(members.keys[: len(of_row)], of_row + 1):",
        new="if False:",
        tests=(f"{BUNDLE}::test_members_that_do_not_fit_their_roots_are_found",),
    ),
    Mutation(
        name="members: the number of members is not compared",
        breaks="verify accepts members without a root",
        place="published.table:_wide",
        old="if len(members) > len(of_row):",
        new="if False:",
        tests=(f"{BUNDLE}::test_members_that_do_not_fit_their_roots_are_found",),
    ),
    Mutation(
        name="estimates: slopes of members treat members as drawn separately",
        breaks="population intervals are too short if members of a root are alike",
        place="answers.slopes:_spread",
        old="not asked.slots",
        new="True",
        tests=(f"{SLOPES}[slope age on rent-measured0-1.1]",),
    ),
    Mutation(
        name="estimates: slopes from tables of two columns treat members as drawn separately",
        breaks="population intervals are too short if members of a root are alike",
        place="answers.slopes:_spread",
        old="len(asked.parts)",
        new="1",
        tests=(f"{SLOPES}[slope age on rent, persons-measured2-2]",),
    ),
    Mutation(
        name="bounds of members: each slot has as many members as in the release",
        breaks="the file's number of members lies outside the bound",
        place="answers.bounds:_farthest",
        old="members[slot].high if rank < highest else members[slot].low",
        new="members[slot].answer",
        tests=("tests/answers/test_bounds_members.py::test_the_farthest_mean_takes_weights_at_their_ends",),
    ),
    Mutation(
        name="bounds of members: empty slots count as members",
        breaks="shares include members who do not exist",
        place="answers.bounds:_Measure._cells",
        old="group & is_member",
        new="group",
        tests=(f"{BOUNDS}[share age == 1]", f"{BOUNDS}[share work is missing]"),
    ),
    Mutation(
        name="bounds of members: a slot without information counts as empty",
        breaks="members without a value are not counted",
        place="answers.bounds:_Measure._cells",
        old="not (group & ~is_member & (high > self.place) & (low <= high)).any()",
        new="True",
        tests=(f"{BOUNDS}[share work is missing]",),
    ),
)
