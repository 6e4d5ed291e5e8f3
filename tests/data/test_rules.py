"""The rule grammar, by a slow evaluation of the same trees in plain Python; text is never run."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synthrelease.data.rules import All, Any, Comparison, Domain, Not, Rule, RuleError, edges, parse_rule
from tests.helpers.plain_rules import DOMAINS, Tree, evaluated, rendered, trees

pytestmark = pytest.mark.slow


def read(text: str) -> Rule:
    return parse_rule(text, DOMAINS)


def holds(rule: Rule, row: dict[str, float | str]) -> bool:
    """A parsed rule for one row, in the plainest way."""
    match rule:
        case Not(part):
            return not holds(part, row)
        case All(parts):
            return all(holds(part, row) for part in parts)
        case Any(parts):
            return any(holds(part, row) for part in parts)
        case Comparison(column, operator, value):
            return evaluated((operator, column, value), row)


ROWS = st.fixed_dictionaries(
    {"age": st.integers(0, 9), "wage": st.floats(0, 4), "sector": st.sampled_from(["farm", "shop", "it's", "Q&A"])}
)


@given(trees(), ROWS)
def test_a_rule_says_of_every_row_what_its_text_says(tree: Tree, row: dict[str, float | str]) -> None:
    assert holds(read(rendered(tree)), row) == evaluated(tree, row)


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("age < 3", Comparison("age", "<", 3)),
        ("  age<3  ", Comparison("age", "<", 3)),
        ("wage >= 1.5", Comparison("wage", ">=", 1.5)),
        ("sector == 'farm'", Comparison("sector", "==", "farm")),
        ('sector != "it\'s"', Comparison("sector", "!=", "it's")),
        ("age in [3, 5]", Any((Comparison("age", "==", 3), Comparison("age", "==", 5)))),
        ("not age > 3", Not(Comparison("age", ">", 3))),
        ("not not age > 3", Not(Not(Comparison("age", ">", 3)))),
        (
            "age < 1 or age < 2 and age < 3",
            Any((Comparison("age", "<", 1), All((Comparison("age", "<", 2), Comparison("age", "<", 3))))),
        ),
        (
            "(age < 1 or age < 2) and age < 3",
            All((Any((Comparison("age", "<", 1), Comparison("age", "<", 2))), Comparison("age", "<", 3))),
        ),
        ("not age < 1 and age < 2", All((Not(Comparison("age", "<", 1)), Comparison("age", "<", 2)))),
    ],
)
def test_and_binds_closer_than_or_and_not_closest(text: str, tree: Rule) -> None:
    assert read(text) == tree


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('touch rule_was_run')",
        "__import__('os')",
        "age.__class__ < 3",
        "age < 3; import os",
        "(lambda: age)() < 3",
        "age < __import__('os')",
        "exec == 'x'",
        "sector == f'{1+1}'",
        "[age for age in [1]]",
        "age < 1 + 1",
        "open('rule_was_run', 'w') and age < 3",
    ],
)
def test_a_rule_that_is_code_is_refused_and_not_run(text: str, tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RuleError, match="^expected .*, found "):
        read(text)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "expected", "found"),
    [
        ("", "a column name", "the end of the condition"),
        ("age < 3 age", "'and', 'or' or the end of the condition", "'age'"),
        ("age < 3)", "'and', 'or' or the end of the condition", "')'"),
        ("age in 3", "'['", "'3'"),
        ("age in []", "a number to compare 'age' with", "']'"),
        ("age in [3 4]", "']'", "'4'"),
        ("age in [3,]", "a number to compare 'age' with", "']'"),
        ("age not in [3]", "one of < <= > >= == != in is after 'age'", "'not'"),
        ("age '<' 3", "one of < <= > >= == != in is after 'age'", "the text '<'"),
        ("sector == farm", "a category of 'sector' in quotes", "'farm'"),
        ("3 < age", "a column name", "'3'"),
        ("age < wage", "a number to compare 'age' with", "'wage'"),
        ("age < 3 and or age < 4", "a column (", "'or'"),
        ("and", "a column (", "'and'"),
        ("sector == 'farm", "a column, an operator or a value", '"\'farm"'),
    ],
)
def test_a_rule_that_cannot_be_read_says_what_was_expected(text: str, expected: str, found: str) -> None:
    with pytest.raises(RuleError) as caught:
        read(text)
    assert str(caught.value).startswith(f"expected {expected}")
    assert str(caught.value).endswith(f", found {found}")


@pytest.mark.parametrize(
    ("text", "suggestion"), [("aeg < 3", "age"), ("sector == 'shpo'", "shop"), ("age = 3", "=="), ("zzzzzz < 3", None)]
)
def test_a_misspelt_name_is_answered_with_the_right_one(text: str, suggestion: str | None) -> None:
    with pytest.raises(RuleError) as caught:
        read(text)
    assert caught.value.suggestion == suggestion


@pytest.mark.parametrize("depth", [101, 10_000])
@pytest.mark.parametrize(("before", "after"), [("(", ")"), ("not ", "")])
def test_a_rule_nested_too_deeply_is_refused_before_python_runs_out_of_stack(depth: int, before: str, after: str) -> None:
    with pytest.raises(RuleError, match="more than 100 parentheses and negations inside each other"):
        read(before * depth + "age < 3" + after * depth)


@given(
    st.sampled_from(["<", "<=", ">", ">=", "==", "!="]), st.one_of(st.integers(-3, 13), st.sampled_from([-0.5, 2.5, 8.5, 9.5]))
)
def test_a_comparison_is_refused_just_when_it_says_the_same_of_every_value(operator: str, value: float) -> None:
    text = f"age {operator} {value}"
    answers = {evaluated((operator, "age", value), {"age": age}) for age in range(10)}
    if len(answers) == 1:
        with pytest.raises(RuleError, match=f"'{text}' is true for all values of 'age' or for none, .* are 0 and 9$"):
            read(text)
    else:
        assert read(text) == Comparison("age", operator, value)


@given(trees())
def test_between_two_edges_a_rule_never_changes(tree: Tree) -> None:
    rule = read(rendered(tree))
    cuts = edges(rule, "age", (0, 9), whole_numbers=True)
    assert all(0 < cut <= 9 for cut in cuts)
    for sector in DOMAINS["sector"].categories:
        for wage in (0.0, 0.9, 1.0, 2.7, 4.0):
            for age in range(1, 10):
                if age not in cuts:
                    now, before = ({"age": value, "wage": wage, "sector": sector} for value in (age, age - 1))
                    assert evaluated(tree, now) == evaluated(tree, before)


def test_a_column_without_known_bounds_or_categories_is_not_checked_against_them() -> None:
    domains = {"age": Domain(kind="integer"), "sector": Domain(kind="category")}
    assert parse_rule("age < -7", domains) == Comparison("age", "<", -7)
    assert parse_rule("sector == 'mine'", domains) == Comparison("sector", "==", "mine")
