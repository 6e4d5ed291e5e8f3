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
        name="rules that count: one more than the rule allows is counted as what it allows",
        breaks="rows of a model break the rule, and are drawn again",
        place="generators.counters:_enough",
        old="math.floor(most) + 1",
        new="math.floor(most)",
        tests=(COUNTERS,),
    ),
    Mutation(
        name="rules that count: a bin that may be counted is not",
        breaks="a model has no row of bins that hold values of both kinds, or has those that no rule allows",
        place="generators.counters:_part",
        old="~false & possible & high",
        new="true & possible & high",
        tests=(COUNTERS,),
    ),
    Mutation(
        name="rules that count: a column that matters is left out",
        breaks="whether a member is counted is read off bins of others",
        place="generators.counters:_part",
        old="all((somewhere == everywhere)[some].all() for somewhere, everywhere in alike)",
        new="True",
        tests=(COUNTERS,),
    ),
    Mutation(
        name="means over roots: members are clipped, and roots are not",
        breaks="a root moves a mean by as many times the range as it has members",
        place="criteria.mean_of_roots_mechanism:NumbersOfRoots._numbers",
        old="total[valued] += one[valued]",
        new="total[valued] += np.clip(one[valued], *self.range)",
        tests=(f"{OF_ROOTS}[mean_of_roots: mean of roots of how many, clipped, roots of 0 to 3]",),
        also=(("criteria.mean_of_roots_mechanism:NumbersOfRoots._added", "np.clip(numbers, *self.range)", "numbers"),),
    ),
    Mutation(
        name="means over roots: roots without two members agree in nothing",
        breaks="a mean over roots of at least two members has those of one among them",
        place="criteria.mean_of_roots_mechanism:NumbersOfRoots._numbers",
        old="pairs > 0",
        new="pairs >= 0",
        tests=(f"{OF_ROOTS}[mean_of_roots: mean of roots of alike, roots of 0 to 3]", MEANS),
    ),
    Mutation(
        name="means over roots: the number of pairs that agree in place of their share",
        breaks="large roots count for more, and for more than their noise",
        place="criteria.mean_of_roots_mechanism:NumbersOfRoots._numbers",
        old="total / np.maximum(pairs, 1)",
        new="total",
        tests=(f"{OF_ROOTS}[mean_of_roots: mean of roots of alike, roots of 0 to 3]",),
    ),
    Mutation(
        name="means over roots: own values by the numbers of bins",
        breaks="the mean of the file is that of its bins",
        place="criteria.mean_of_roots_mechanism:NumbersOfRoots.of_original",
        old="not self.own",
        new="True",
        tests=(MEANS,),
    ),
    Mutation(
        name="means over roots: the noise of all roots for a group",
        breaks="a root moves the mean of a small group further than its noise is for",
        place="criteria.mean_of_roots:MeanOfRoots.query",
        old="min(int(group.roots.min()) for group in groups)",
        new="max(int(group.roots.max()) for group in groups)",
        tests=(f"{OF_ROOTS}[mean_of_roots: mean of roots of means by town, roots of 1 to 2]",),
    ),
    Mutation(
        name="criteria of members: one row is paid for in place of a root's",
        breaks="a replaced root moves a figure by as many times what its noise is for as it has members",
        place="criteria.members:_query",
        old="rows.rows.most * query.sensitivity",
        new="query.sensitivity",
        tests=(ROOT_IS_REPLACED,),
        core=True,
    ),
    Mutation(
        name="criteria of members: a root makes one row more than is paid for",
        breaks="roots with as many members as can be move a figure further than its noise is for",
        place="data.members:MemberRows.most",
        old="max(1, len(self.seats))",
        new="max(1, len(self.seats) - 1)",
        tests=(ROOT_IS_REPLACED,),
    ),
    Mutation(
        name="criteria of members: the last member is left out",
        breaks="a figure about members that is not about all of them",
        place="data.member_counts:stacked",
        old="number >= max(seat)",
        new="number > max(seat)",
        tests=(f"{CRITERIA}::test_every_root_makes_the_rows_that_its_members_are",),
    ),
    Mutation(
        name="faithfulness: members of the file stay in their slots",
        breaks="a candidate in another order than the file has no similar roots",
        place="criteria.faithfulness_mechanism:compared_rows",
        old="linked is not None",
        new="False",
        tests=(
            "tests/criteria/test_sensitivity.py::test_no_neighbour_moves_a_figure_by_more_than_its_sensitivity"
            "[faithfulness: faithfulness of members in any order, all exact, roots of 0 to 3]",
        ),
    ),
    Mutation(
        name="faithfulness: columns of a member are put in order one by one",
        breaks="members that no root has are similar to members of the file",
        place="data.linked:Linked.in_order",
        old="np.take_along_axis(values, order, axis=1)",
        new="np.sort(values, axis=1)",
        tests=(f"{CRITERIA}::test_rows_with_members_in_another_order_are_similar_where_the_order_is_of_no_matter",),
    ),
    Mutation(
        name="criteria of members: empty slots are rows, too",
        breaks="members who are not there",
        place="data.member_counts:stacked",
        old="number >= max(seat)",
        new="number >= 0",
        tests=(f"{CRITERIA}::test_every_root_makes_the_rows_that_its_members_are",),
    ),
    Mutation(
        name="criteria of members: own values by the numbers of bins",
        breaks="the mean of the file is that of its bins",
        place="data.member_counts:RowsOnBins.with_own_values",
        old="name in self.own",
        new="False",
        tests=(f"{CRITERIA}::test_figures_are_those_of_lists_of_members",),
    ),
    Mutation(
        name="members: a rule holds in a slot that no member fills",
        breaks="roots with few members are left out for a member that they do not have",
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
        name="members: a rule for two members is asked of neighbours alone",
        breaks="a root with two such members is released when another member stands between them",
        place="settings.wide:_of_every_two",
        old="slot == 1 and of_others(rule)",
        new="abs(slot - second) > 1",
        tests=TWO,
    ),
    Mutation(
        name="members: two members are asked in one order",
        breaks="a root whose later member is the first of the two is released",
        place="settings.wide:_of_every_two",
        old='frozenset(applied.never.split(" and ")) if not words_of(rule) & {"or", "not"} else frozenset([applied.never])',
        new="frozenset([str(sorted((slot, second or 0)))])",
        tests=TWO,
    ),
    Mutation(
        name="members: slots that no member fills are counted",
        breaks="a rule about how many members are not something is true of small households",
        place="settings.wide:_counted",
        old="slot > table.least",
        new="False",
        tests=COUNTS,
    ),
    Mutation(
        name="members: an equation is asked of families that the cap cut",
        breaks="every large household is left out",
        place="settings.wide:_counted",
        old='against is None or table.more == "drop"',
        new="True",
        tests=COUNTS,
    ),
    Mutation(
        name="members: the first one is counted among the others",
        breaks="a rule about the others is one about everybody",
        place="settings.wide:_counted",
        old="2 if any(word.startswith(FIRST) for word in words_in(condition)) else 1",
        new="1",
        tests=(f"{COUNTED}::test_the_first_member_is_not_counted_among_the_others",),
    ),
    Mutation(
        name="rules of records: a coarse bin is what some value in it is",
        breaks="released rows are left out that a household of the file may be",
        place="data.rules:RecordRule.merge",
        old="np.ones(transformation.layout.sizes[column], dtype=bool)",
        new="np.zeros(transformation.layout.sizes[column], dtype=bool)",
        also=(("data.rules:RecordRule.merge", "np.logical_and.at", "np.logical_or.at"),),
        tests=("tests/data/test_truth.py",),
    ),
    Mutation(
        name="rules of records: released rows are not asked",
        breaks="a rule that counts holds for the private file alone",
        place="data.plausibility:Plausibility.merge",
        old="tuple(rule.merge(transformation) for rule in self.records)",
        new="()",
        tests=("tests/data/test_truth.py", f"{COUNTED}::test_a_whole_release_of_300_households_breaks_none_of_them"),
    ),
    Mutation(
        name="rules of records: public filling rows break them",
        breaks="rows that no root can have",
        place="data.plausibility:FillerRows.__init__",
        old="if raw.records or raw.counted:",
        new="if False:",
        tests=(f"{COUNTED}::test_public_filling_rows_follow_the_rules",),
    ),
    Mutation(
        name="members: a key with two roots is kept",
        breaks="one replaced root takes several kept records along",
        place="enclave.members:_roots",
        old="complete, columns = (times > 0) if one_file else (times == 1), list[np.ndarray]()",
        new="complete, columns = times > 0, list[np.ndarray]()",
        tests=(CONTENTS,),
        core=True,
    ),
    Mutation(
        name="members: in one file the last of several roots counts",
        breaks="which root a key has depends on the order of the file",
        place="enclave.members:_roots",
        old="complete[of_rows[bins != column[of_rows]]] = False",
        new="pass",
        tests=(f"{ROWS}::test_in_one_file_a_key_with_two_roots_is_left_out_whole",),
        core=True,
    ),
    Mutation(
        name="members: a member without a root is not counted",
        breaks="replacing a root with nothing but its members changes a public number",
        place="enclave.members:count_linked_rows",
        old="n_rows=keys",
        new="n_rows=len(roots.marks)",
        tests=(f"{ROWS}::test_the_number_of_keys_is_told_and_that_of_members_is_not",),
        core=True,
    ),
    Mutation(
        name="members: columns that read alike but for values outside of them are one",
        breaks="a value is clipped where its column says that its root is left out",
        place="data.misfits:_but_for_names",
        old='replace(column, name="", description="", alternatives={})',
        new='replace(column, name="", description="", alternatives={}, outside="drop")',
        tests=(
            "tests/enclave/test_linked_hostile.py"
            "::test_two_columns_of_members_that_read_one_column_of_the_file_keep_their_own_rules",
        ),
    ),
    Mutation(
        name="members: those beyond the cap in the order of the file",
        breaks="which members are released depends on how the file was sorted",
        place="enclave.members:_members",
        old="ordered = np.lexsort([*rows.of_member[::-1], *rows.order[::-1], of_rows])",
        new="ordered = np.lexsort([of_rows])",
        tests=(f"{ROWS}::test_the_order_of_both_files_and_their_batches_have_no_effect", CONTENTS),
        core=True,
    ),
    Mutation(
        name="members: one without a value stays",
        breaks="a slot that is filled looks like one that is not",
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
        breaks="the first member is another one than the card says",
        place="enclave.members:_Reading._order",
        old="if self.linked.reference is not None:",
        new="if False:",
        tests=(CONTENTS,),
    ),
    Mutation(
        name="keys: 206.0 and 206 are two keys",
        breaks="members of a file that knows numbers lose their root, and a person is protected as two",
        place="enclave.texts:key_text",
        old='return _plain(Decimal(number.upper().replace("D", "E"))).replace(".", decimal)',
        new="return plain",
        tests=(f"{ROWS}::test_keys_are_compared_without_blanks_and_whole_numbers_without_their_zeros",),
    ),
    Mutation(
        name="members: public filling rows with members that are not there",
        breaks="rows of the public sequence are none that a root can have",
        place="data.linked:Linked.empty",
        old="bins[column][number <= index] = sizes[column] - 1",
        new="pass",
        tests=(f"{ROWS}::test_a_table_is_filled_with_records_of_roots_that_can_be",),
    ),
    Mutation(
        name="members: released slots that no member fills may hold values",
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
        name="members: more of them than roots count",
        breaks="verify accepts members that belong to nobody",
        place="published.table:_wide",
        old="if len(members) > len(of_row):",
        new="if False:",
        tests=(f"{BUNDLE}::test_members_that_do_not_fit_their_roots_are_found",),
    ),
    Mutation(
        name="estimates: slopes of members as if each were drawn by itself",
        breaks="intervals of a population that are too short where members of a root are alike",
        place="answers.slopes:_spread",
        old="not question.slots",
        new="True",
        tests=(f"{SLOPES}[slope age on rent-measured0-1.1]",),
    ),
    Mutation(
        name="estimates: slopes of members from tables of two columns as if each were drawn by itself",
        breaks="intervals of a population that are too short where members of a root are alike",
        place="answers.slopes:_spread",
        old="len(question.parts)",
        new="1",
        tests=(f"{SLOPES}[slope age on rent, persons-measured2-2]",),
    ),
    Mutation(
        name="bounds of members: as many in each slot as the release has",
        breaks="a bound that the file's own numbers of members are beyond",
        place="answers.bounds:_farthest",
        old="members[slot].high if rank < highest else members[slot].low",
        new="members[slot].answer",
        tests=("tests/answers/test_bounds_members.py::test_the_farthest_mean_takes_weights_at_their_ends",),
    ),
    Mutation(
        name="bounds of members: empty slots are members",
        breaks="shares of members who are not there",
        place="answers.bounds:_Measure._cells",
        old="group & is_member",
        new="group",
        tests=(f"{BOUNDS}[share age == 1]", f"{BOUNDS}[share work is missing]"),
    ),
    Mutation(
        name="bounds of members: a slot of which nothing tells that it is filled",
        breaks="members without a value who are there are not counted",
        place="answers.bounds:_Measure._cells",
        old="not (group & ~is_member & (high > self.place) & (low <= high)).any()",
        new="True",
        tests=(f"{BOUNDS}[share work is missing]",),
    ),
)
