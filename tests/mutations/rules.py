"""Mistakes that follow from the code: wherever a rule finds its pattern in a room that spends, there is a mutation of it.

Nothing of the code is quoted, so no change of it leaves a stale text behind: a new criterion or generator has its mutations
when it is written, and `make mutations` says which of them no test notices. A rule looks at one node of a syntax tree and the
functions around it, and says what stands there in its place.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.mutations.places import PACKAGE, Found, StaleMutation, children, put_in

ROOMS = ("criteria", "generators", "enclave/resizing.py")
"""Where epsilon is spent, and where it is said how far a record moves a figure."""
BUDGETS = frozenset({"epsilon", "rho", "risk", "budget", "left", "delta"})
NOISE = frozenset({"laplace_figure", "discrete_laplace", "rounded_gaussian", "choose", "laplace_tail", "noisy", "chosen"})
"""What adds noise, draws by it or bounds it."""
REAL = frozenset({"Query", "laplace_figure", "laplace_tail"})
"""What takes a sensitivity that is no integer."""
CHARGED = frozenset({"part", "rho", "charge", "epsilon"})
OPPOSITE = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum"}


def name_of(node: ast.AST) -> str:
    """`f` of `f`, and of `anything.f`."""
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


@dataclass(frozen=True, kw_only=True)
class Site:
    """A node, where it stands, and the functions and classes around it, outermost first."""

    found: Found
    around: tuple[ast.AST, ...]

    @property
    def node(self) -> ast.AST:
        return self.found.nodes[0]

    @property
    def function(self) -> str:
        return next((each.name for each in reversed(self.around) if isinstance(each, ast.FunctionDef)), "")

    @property
    def whole(self) -> bool:
        """Whether the function around gives an integer."""
        inner = next((each for each in reversed(self.around) if isinstance(each, ast.FunctionDef)), None)
        return inner is not None and name_of(inner.returns or ast.Pass()) == "int"


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One kind of mistake: its name, what it breaks, and what stands for a node, or None where the pattern is not there."""

    name: str
    breaks: str
    instead: Callable[[Site], str | None]


def halved(value: ast.expr, *, whole: bool) -> str | None:
    """Half of an expression; None where it is 0 or None already."""
    if isinstance(value, ast.Constant):
        if not value.value:
            return None
        if isinstance(value.value, int):
            return str(value.value // 2) if value.value % 2 == 0 else "Fraction(1, 2)" if whole else "0.5"
    if isinstance(value, ast.IfExp):
        kept = [None if isinstance(each, ast.Constant) and each.value is None else each for each in (value.body, value.orelse)]
        first, second = (halved(each, whole=whole) if each is not None else "None" for each in kept)
        return f"{first} if {ast.unparse(value.test)} else {second}"
    return f"({ast.unparse(value)}) {'//' if whole else '/'} 2"


def half_the_sensitivity(site: Site) -> str | None:
    """Where it is handed to noise or to a query, or kept for it: `sensitivity = ...`."""
    node = site.node
    if isinstance(node, ast.Assign) and [name_of(target) for target in node.targets] == ["sensitivity"]:
        half = halved(node.value, whole=False)
        return half and f"sensitivity = {half}"
    if not isinstance(node, ast.keyword) or node.arg not in ("sensitivity", "squared_sensitivity"):
        return None
    call = site.found.parent
    whole = not (isinstance(call, ast.Call) and name_of(call.func) in REAL)
    if isinstance(node.value, ast.Constant) and node.value.value == 1 and whole:
        return None  # no integer stands for its half; twice the epsilon is another rule's
    if isinstance(node.value, ast.Name | ast.Attribute) and name_of(node.value) == "sensitivity":
        return None  # handed on: it is halved where it is made
    half = halved(node.value, whole=whole)
    return half and f"{node.arg}={half}"


def half_of_what_is_said(site: Site) -> str | None:
    node = site.node
    if not isinstance(node, ast.Return) or node.value is None or site.function.startswith("least_"):
        return None
    if not site.function.endswith("sensitivity"):
        return None
    half = halved(node.value, whole=site.whole)
    return half and f"return {half}"


def twice_the_budget(site: Site) -> str | None:
    node, call = site.node, site.found.parent
    if not isinstance(node, ast.keyword) or node.arg not in ("epsilon", "rho", "part") or not isinstance(call, ast.Call):
        return None
    return f"{node.arg}=2 * ({ast.unparse(node.value)})" if name_of(call.func) in NOISE else None


def not_shared(site: Site) -> str | None:
    """A budget divided by a number of parts, or what is left of it."""
    node = site.node
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Div):
        return None
    of = node.left.left if isinstance(node.left, ast.BinOp) else node.left
    return ast.unparse(node.left) if name_of(of) in BUDGETS else None


def not_spent_before(site: Site) -> str | None:
    node = site.node
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub) and name_of(node.left) in BUDGETS:
        return ast.unparse(node.left)
    return None


def not_charged(site: Site) -> str | None:
    node = site.node
    if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and name_of(node.value.func) in ("take", "_take")):
        return None
    return "pass" if any(name_of(argument) in CHARGED for argument in node.value.args) else None


def not_clipped(site: Site) -> str | None:
    node = site.node
    return ast.unparse(node.args[0]) if isinstance(node, ast.Call) and name_of(node.func) == "clip" else None


def other_extreme(site: Site) -> str | None:
    """In what says how far a figure moves, or divides by the rows of the smallest group; `max(1, ...)` keeps from zero."""
    node = site.node
    if site.function not in ("query", "sensitivity", "public_sensitivity") or not isinstance(node, ast.Call):
        return None
    other = OPPOSITE.get(name_of(node.func))
    if other is None or (len(node.args) == 2 and isinstance(node.args[0], ast.Constant)):
        return None
    if isinstance(node.func, ast.Name):
        return f"{other}{ast.unparse(node)[len(node.func.id) :]}"
    assert isinstance(node.func, ast.Attribute)
    return ast.unparse(ast.Call(func=ast.Attribute(node.func.value, other), args=node.args, keywords=node.keywords))


RULES = (
    Rule(
        name="the sensitivity is halved", breaks="the noise is half of what the guarantee needs", instead=half_the_sensitivity
    ),
    Rule(
        name="the function returns half the sensitivity",
        breaks="noise or public report use a sensitivity that is too small",
        instead=half_of_what_is_said,
    ),
    Rule(
        name="the noise is drawn with twice its budget",
        breaks="more epsilon is spent than was charged",
        instead=twice_the_budget,
    ),
    Rule(name="each part gets the whole budget", breaks="more epsilon is spent than was charged", instead=not_shared),
    Rule(name="earlier spending is not subtracted", breaks="more epsilon is spent than was charged", instead=not_spent_before),
    Rule(name="the charge is skipped", breaks="private data are read without a charge", instead=not_charged),
    Rule(name="values are not clipped", breaks="one record can change a statistic without limit", instead=not_clipped),
    Rule(
        name="minimum and maximum are swapped",
        breaks="the sensitivity is taken from the record with the smallest effect",
        instead=other_extreme,
    ),
)


@dataclass(frozen=True, kw_only=True)
class Derived:
    """The mutation that a rule makes of its `number`-th site in a function; `tests`, at least one of which must fail.

    Its name says the function and the rule, and no folder: a class may move.
    """

    name: str
    rule: Rule
    place: str
    number: int
    path: str
    tests: tuple[str, ...]

    @property
    def breaks(self) -> str:
        return self.rule.breaks

    def file(self, root: Path) -> Path:
        return root / self.path

    def applied(self, text: str, root: Path) -> str:
        """The text of its file with the mutation."""
        tree = ast.parse(text)
        for place, number, _, site, instead in _found(tree, self.place.partition(":")[0], (self.rule,)):
            if (place, number) == (self.place, self.number):
                return put_in(text, tree, place, site.found, ast.unparse(site.node), instead)
        raise StaleMutation(f"{self.name}: expected its place, found none")


def _sites(tree: ast.Module) -> Iterator[Site]:
    def below(scope: ast.AST, around: tuple[ast.AST, ...]) -> Iterator[Site]:
        for found in children(scope):
            yield Site(found=found, around=around)
            node = found.nodes[0]
            inside = isinstance(node, ast.FunctionDef | ast.ClassDef)
            yield from below(node, (*around, node) if inside else around)

    return below(tree, ())


def _found(tree: ast.Module, module: str, rules: Sequence[Rule] = RULES) -> Iterator[tuple[str, int, Rule, Site, str]]:
    """Place, number in it, rule, site and what stands there instead."""
    seen: Counter[tuple[str, str]] = Counter()
    for site in _sites(tree):
        for rule in rules:
            instead = rule.instead(site)
            if instead is not None:
                place = f"{module}:{'.'.join(each.name for each in site.around)}".rstrip(":")  # type: ignore[attr-defined]
                yield place, seen[place, rule.name], rule, site, instead
                seen[place, rule.name] += 1


def derived(root: Path, tests: Callable[[str], Sequence[str]]) -> tuple[Derived, ...]:
    """All mutations of the rules, in the order of the files; `tests` says which tests belong to a file."""
    found = [
        (path, place, number, rule)
        for path in _files(root)
        for place, number, rule, _, _ in _found(ast.parse((root / path).read_text(encoding="utf-8")), _module(path))
    ]
    where = {(path, place.partition(":")[2]) for path, place, _, _ in found}
    files = Counter(function for _, function in where)

    def name(path: str, place: str, number: int, rule: Rule) -> str:
        function = place.partition(":")[2]
        words = f"{stem_of(path)} {function}" if files[function] > 1 else function
        return f"{words}: {rule.name}" + (f" ({number + 1})" if number else "")

    return tuple(
        Derived(name=name(*each), rule=each[3], place=each[1], number=each[2], path=each[0], tests=tuple(tests(each[0])))
        for each in found
    )


def stem_of(path: str) -> str:
    """The name of a file; of a private half, that of the public one beside it."""
    return path.rpartition("/")[2].removesuffix(".py").removesuffix("_mechanism")


def room_of(path: str) -> str:
    """The one of ROOMS that a file is in."""
    (room,) = [room for room in ROOMS if path.startswith((f"{PACKAGE}/{room}/", f"{PACKAGE}/{room}"))]
    return room


def _module(path: str) -> str:
    return path.removeprefix(f"{PACKAGE}/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")


@cache
def _files(root: Path) -> tuple[str, ...]:
    found = [
        path
        for room in ROOMS
        for path in ([root / PACKAGE / room] if room.endswith(".py") else sorted((root / PACKAGE / room).rglob("*.py")))
    ]
    return tuple(path.relative_to(root).as_posix() for path in found)
