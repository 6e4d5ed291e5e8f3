"""Mutations of weights: raking, its limits, what is refused beforehand, and the weighted criterion."""

from __future__ import annotations

from tests.mutations.machinery import Mutation

RAKING = "tests/data/test_raking.py"
MARGINS = "tests/data/test_margins.py"
STATED = "tests/spec/test_calibration.py"
WEIGHTED = "tests/criteria/test_weighted_marginals.py"
NEIGHBOURS = "tests/criteria/test_sensitivity.py"
VERIFIED = "tests/published/test_calibration_verified.py"
DONORS = "tests/data/test_donors.py"
COPIES = "tests/bundle/test_imputation.py"
REFUSED = "tests/spec/test_bad_specs.py"

OF_WEIGHTS = (
    Mutation(
        name="weighted marginal error: the sensitivity of an unweighted share",
        breaks="a record with a large weight exceeds the noise",
        place="criteria.marginals:WeightedMarginalError.query",
        old="sensitivity=HEAVIEST / max(1, total)",
        new="sensitivity=1 / n",
        tests=(NEIGHBOURS,),
    ),
    Mutation(
        name="weighted marginal error: a candidate without weight passes",
        breaks="a table without weight is accepted",
        place="criteria.marginals:WeightedMarginalError.query",
        old="total == 0",
        new="False",
        tests=(WEIGHTED,),
    ),
    Mutation(
        name="weighted marginal error: weights are cut off, not rounded",
        breaks="the value is not the stated one",
        place="criteria.marginals:whole_weights",
        old="round(number / heaviest * HEAVIEST)",
        new="int(number / heaviest)",
        tests=(WEIGHTED,),
    ),
    Mutation(
        name="raking: a cap that is not applied",
        breaks="weights exceed what was promised",
        place="data.weights:_rake",
        old="np.clip(raw, *limits)",
        new="np.maximum(raw, limits[0])",
        tests=(RAKING,),
    ),
    Mutation(
        name="raking: groups with a total of 0 keep their weight",
        breaks="a group without persons gets persons",
        place="data.weights:_rake",
        old="aims[cell] > 0",
        new="aims[cell] >= 0",
        tests=(RAKING,),
    ),
    Mutation(
        name="raking: margins that are not met are called met",
        breaks="the card states totals that the table does not have",
        place="data.weights:_rake",
        old="if worst <= tolerance / 2:\n    return weights, MOST_CYCLES",
        new="if worst <= math.inf:\n    return weights, MOST_CYCLES",
        tests=(RAKING,),
    ),
    Mutation(
        name="raking: sparse groups join the larger neighbour",
        breaks="the rule differs from the documented one",
        place="data.weights:_neighbour",
        old="sizes[group - 1] <= sizes[group + 1]",
        new="sizes[group - 1] > sizes[group + 1]",
        tests=(RAKING,),
    ),
    Mutation(
        name="raking: the start is forgotten",
        breaks="design weights have no effect",
        place="data.weights:raked",
        old="start[kinds[:, -1]]",
        new="np.ones(len(kinds))",
        tests=(RAKING,),
    ),
    Mutation(
        name="margins: only the number of persons is compared",
        breaks="contradictory totals are accepted",
        place="data.weights:disagreements",
        old="[column for column in left.columns if column in right.columns]",
        new="[]",
        tests=(MARGINS,),
    ),
    Mutation(
        name="calibration: any column may be the start",
        breaks="weights start from a column that is not a weight",
        place="spec.totals:_check_names",
        old="columns[table.start].role != WEIGHT",
        new="False",
        tests=(REFUSED,),
    ),
    Mutation(
        name="design weights: nothing has to be said about the rows",
        breaks="a file that was expanded by weight is accepted",
        place="spec.record:check_design_weights",
        old="marked and release.input.one_row_per is None",
        new="False",
        tests=(REFUSED,),
    ),
    Mutation(
        name="verify: weights in the table are taken as they are",
        breaks="forged weights pass",
        place="published.verify.options:_near",
        old="np.allclose(left, right, rtol=_RELATIVE, atol=0)",
        new="True",
        tests=(VERIFIED,),
    ),
    Mutation(
        name="imputation: donors that agree are not looked for",
        breaks="a gap is filled from any row, so the bias of complete cases remains",
        place="data.donors:_drawn",
        old="match[:width]",
        new="[]",
        tests=(DONORS,),
    ),
    Mutation(
        name="imputation: each cell is as likely as another",
        breaks="rare donors are used as often as common ones",
        place="data.donors:_Groups.of",
        old="counts = table.counts[pattern.donors[order]]",
        new="counts = np.ones(len(order), dtype=np.int64)",
        tests=(DONORS,),
    ),
    Mutation(
        name="imputation: every row gets a donor of its own",
        breaks="completed rows are rarer than promised",
        place="data.donors:_blocks",
        old="counts // smallest",
        new="counts",
        tests=(DONORS,),
    ),
    Mutation(
        name="imputation: rules are ignored",
        breaks="completed rows break the rules",
        place="data.donors:_drawn",
        old="~_forbidden(table, pattern.columns, pattern.recipients[recipient[block]], donors, rules)",
        new="np.ones(len(block), dtype=bool)",
        tests=(DONORS,),
    ),
    Mutation(
        name="imputation: donors may lack some of the values",
        breaks="gaps remain",
        place="data.donors:patterns",
        old="~empty[:, lacking].any(axis=1)",
        new="~empty[:, lacking].all(axis=1)",
        tests=(DONORS,),
    ),
    Mutation(
        name="verify: observed values of copies are not compared",
        breaks="a forged copy passes",
        place="published.verify.options:_copy_problems",
        old="(bins[column] != table.counts.rows(column))[~lacking[:, column]].any()",
        new="False",
        tests=(COPIES,),
    ),
)
