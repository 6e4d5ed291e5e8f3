"""Which functions of the package a private value is handed to, by the syntax trees alone.

A private value leaves the door in one way: as the argument of what is handed to `spend`, or of the figure of a `Query`, which
`spend` evaluates. From there it is followed: what is computed from it is private, and so is the parameter of a function that it
is handed to, as far as names and annotations tell which function that is. What has noise is public: whatever `privacy/noise.py`
gives back. Nothing is followed into `enclave`, where every line is private anyway.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property

import numpy as np

PUBLIC = {"layout", "sizes", "shape", "size", "dtype", "columns", "epsilon"}
"""Attributes that are the same for all neighbours."""

NOISE = ("privacy/noise.py",)
"""What the functions of this file give back has noise, or is chosen with it."""

DOORS = ("PrivateCounts", "PrivateRows", "PrivateTables", "NoisyGradients", "NoisyVotes", "QueryAnswers")
"""Whoever holds one of these has noisy answers alone: what is inside comes out in their own methods, or in `spend`."""

PUBLIC_TYPES = {
    "Layout", "Schema", "Column", "Binning", "Transformation", "PublishedColumn", "Grouping", "RegressionColumns",
    "Plausibility", "PublicFacts", "Setting", "SyntheticTable", "Candidate", "Fitted", "Background", "Charge", "SystemEntropy",
    "Fraction", "str", "bool", "NoisySum", "Columns", "Groups", "CellLimit",
}  # fmt: skip
"""What a parameter of such a type gets is the same for all neighbours, or has been paid for, or rules time and memory alone."""

COMMON = {name for kind in (np.ndarray, np.random.Generator, list, dict, set, str, float) for name in dir(kind)}
"""A method of such a name is that of an array, list or dict, unless an annotation tells otherwise."""

MADE_UP = {"releasing/dry_run.py"}
"""Where a door has made-up rows behind it."""

FOLLOWED = ("data/", "generators/", "criteria/", "releasing/", "scouting/", "privacy/grids.py", *NOISE)
"""Where the paths of files begin that a private value is followed into."""


@cache
def children(node: ast.AST) -> tuple[ast.AST, ...]:
    return tuple(ast.iter_child_nodes(node))


@cache
def text_of(node: ast.AST) -> str:
    return ast.unparse(node)


@cache
def names_and_calls(node: ast.AST) -> tuple[frozenset[str], bool]:
    """The names in an expression, and whether anything is called in it."""
    below = [names_and_calls(part) for part in children(node)]
    own = {node.id} if isinstance(node, ast.Name) else set()
    return frozenset(own.union(*(names for names, _ in below))), isinstance(node, ast.Call) or any(call for _, call in below)


@dataclass(eq=False, kw_only=True)
class Place:
    """A function or a lambda where it stands, with the parameters that are known to be private."""

    path: str
    name: str
    node: ast.FunctionDef | ast.Lambda
    owner: Class | None = None
    around: Place | None = None
    private: set[str] = field(default_factory=set)
    returns_private: bool = False

    @cached_property
    def parameters(self) -> list[ast.arg]:
        given = self.node.args
        return [*given.posonlyargs, *given.args, *given.kwonlyargs]

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """Its nodes, those of functions inside it left out."""
        body = self.node.body
        found, left = list[ast.AST](), list[ast.AST](body if isinstance(body, list) else [body])
        while left:
            found.append(left.pop())
            if not isinstance(found[-1], ast.FunctionDef | ast.Lambda):
                left.extend(children(found[-1]))
        return found

    @cached_property
    def assigned(self) -> list[tuple[str, ast.expr, bool]]:
        """Names that get a value, with what it is computed from, and whether it is that very value."""
        found = list[tuple[str, ast.expr, bool]]()
        for node in self.nodes:
            targets = list[ast.expr]()
            if isinstance(node, ast.Assign):
                targets, value = node.targets, node.value
            elif isinstance(node, ast.AnnAssign | ast.AugAssign | ast.NamedExpr) and node.value is not None:
                targets, value = [node.target], node.value
            elif isinstance(node, ast.For | ast.comprehension):
                targets, value = [node.target], node.iter
            for target in targets:
                for one, given in _pairs(target, value):
                    for part in ast.walk(one):
                        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                            found.append((part.id, given, part is one and isinstance(node, ast.Assign)))
        return found

    @cached_property
    def filled(self) -> list[tuple[str, ast.expr]]:
        """Names of which an attribute gets a value, with what that is computed from: `table.counts = counts`."""
        pairs = (
            pair
            for node in self.nodes
            if isinstance(node, ast.Assign)
            for one in node.targets
            for pair in _pairs(one, node.value)
        )
        return [
            (one.value.id, given) for one, given in pairs if isinstance(one, ast.Attribute) and isinstance(one.value, ast.Name)
        ]


@dataclass(eq=False, kw_only=True)
class Class:
    path: str
    node: ast.ClassDef
    methods: dict[str, Place]

    @cached_property
    def bases(self) -> set[str]:
        return {text_of(base).split("[")[0] for base in self.node.bases}


class Followed:
    """Where private values go in a package, given by its syntax trees."""

    def __init__(self, trees: Mapping[str, ast.Module]):
        trees = {path: tree for path, tree in trees.items() if _inside(path) and path not in MADE_UP}
        self._home = {path.removesuffix(".py").removesuffix("/__init__").replace("/", "."): path for path in trees}
        self._imports = {path: dict(_imported(tree)) for path, tree in trees.items()}
        self._known: dict[str, dict[str, Place | Class]] = {path: {} for path in trees}
        self._places: list[Place] = []
        self._inner: dict[Place, list[Place]] = defaultdict(list)
        self._called: dict[ast.Call, list[Place | Class]] = {}
        self._callers: dict[Place | Class, set[Place]] = defaultdict(set)
        for path, tree in trees.items():
            for node in tree.body:
                self._enter(path, node)
        self._classes = [each for known in self._known.values() for each in known.values() if isinstance(each, Class)]
        self.handed: set[Place] = set()
        """What is handed to `spend`, or is the figure of a query."""
        self.unknown: list[tuple[str, int]] = []
        """Files and lines where something is, and nobody can say what."""
        self._left = dict.fromkeys(self._places)
        """Those to follow, in order: all, and again those for which something new is known."""
        while self._left:
            place = next(iter(self._left))
            del self._left[place]
            self._follow(place)

    @property
    def private(self) -> list[Place]:
        """Every function with a private parameter."""
        return [place for place in self._places if place.private]

    @property
    def files(self) -> set[str]:
        return {place.path for place in self.private}

    def _enter(self, path: str, node: ast.stmt) -> None:
        if isinstance(node, ast.FunctionDef):
            self._known[path][node.name] = self._place(path, node.name, node)
        elif isinstance(node, ast.ClassDef):
            found = Class(path=path, node=node, methods={})
            for part in node.body:
                if isinstance(part, ast.FunctionDef):
                    found.methods[part.name] = self._place(path, f"{node.name}.{part.name}", part, found)
            self._known[path][node.name] = found
            if {node.name, *found.bases} & set(DOORS):
                for place in found.methods.values():
                    place.private.add("self")

    def _place(
        self, path: str, name: str, node: ast.FunctionDef | ast.Lambda, owner: Class | None = None, around: Place | None = None
    ) -> Place:
        place = Place(path=path, name=name, node=node, owner=owner, around=around)
        self._places.append(place)
        if around is not None:
            self._inner[around].append(place)
        for part in place.nodes:
            if isinstance(part, ast.FunctionDef | ast.Lambda):
                self._place(path, f"{name}.{getattr(part, 'name', 'lambda')}", part, owner, place)
        return place

    def _named(self, path: str, name: str) -> Place | Class | None:
        """What a name means at the top of a file."""
        if name in self._known[path]:
            return self._known[path][name]
        module, original = self._imports[path].get(name, ("", ""))
        home = self._home.get(module)
        return self._named(home, original) if home and home != path else None

    def _methods(self, owner: Class, name: str) -> list[Place]:
        """A method of a class, of what it is derived from, and of what is derived from it."""
        above = [found for base in owner.bases if isinstance(found := self._named(owner.path, base), Class)]
        of_bases = [place for each in above for place in self._methods_up(each, name)]
        below = [each.methods[name] for each in self._classes if owner.node.name in each.bases and name in each.methods]
        return [*([owner.methods[name]] if name in owner.methods else []), *of_bases, *below]

    def _methods_up(self, owner: Class, name: str) -> list[Place]:
        if name in owner.methods:
            return [owner.methods[name]]
        above = [found for base in owner.bases if isinstance(found := self._named(owner.path, base), Class)]
        return [place for each in above for place in self._methods_up(each, name)]

    def _type(self, place: Place, node: ast.expr) -> Class | None | bool:
        """The class of a value; False where it is none of the package, None where nobody says."""
        if isinstance(node, ast.Name):
            at: Place | None = place
            while at is not None:
                if node.id == "self" and at.owner is not None:
                    return at.owner
                for each in at.parameters:
                    if each.arg == node.id:
                        return self._annotated(at.path, each.annotation)
                values = [(value, very) for name, value, very in at.assigned if name == node.id]
                if values:
                    given, very = values[0]
                    return self._type(at, given) if very else self._element(at, given)
                at = at.around
            found = self._named(place.path, node.id)
            return found if isinstance(found, Class) else None
        if isinstance(node, ast.Call):
            for callee in self._callees(place, node):
                if isinstance(callee, Class):
                    return callee
                if isinstance(callee.node, ast.FunctionDef):
                    return self._annotated(callee.path, callee.node.returns)
        if isinstance(node, ast.Attribute):
            owner = self._type(place, node.value)
            if isinstance(owner, Class):
                for part in owner.node.body:
                    if isinstance(part, ast.AnnAssign) and text_of(part.target) == node.attr:
                        return self._annotated(owner.path, part.annotation)
                for method in self._methods_up(owner, node.attr):
                    if isinstance(method.node, ast.FunctionDef):
                        return self._annotated(method.path, method.node.returns)
        return None

    def _element(self, place: Place, node: ast.expr) -> Class | None:
        """The class of what a parameter that is gone through holds."""
        annotation = next((a.annotation for a in place.parameters if isinstance(node, ast.Name) and a.arg == node.id), None)
        found = self._annotated(place.path, annotation.slice) if isinstance(annotation, ast.Subscript) else None
        return found if isinstance(found, Class) else None

    def _annotated(self, path: str, annotation: ast.expr | None) -> Class | None | bool:
        if annotation is None or text_of(annotation) == "Any":
            return None
        found = self._named(path, text_of(annotation).removesuffix(" | None"))
        if isinstance(found, Class):
            return found
        parts = [self._named(path, part.id) for part in ast.walk(annotation) if isinstance(part, ast.Name)]
        return None if any(isinstance(part, Class) for part in parts) else False  # one of several, perhaps

    def _callees(self, place: Place, call: ast.Call) -> list[Place | Class]:
        """The functions that a call may mean."""
        if call not in self._called:
            self._called[call] = []  # of a name that is computed from itself nothing is known
            self._called[call] = self._means(place, call.func)
        for each in self._called[call]:
            self._callers[each].add(place)
        return self._called[call]

    def _means(self, place: Place, called: ast.expr) -> list[Place | Class]:
        if isinstance(called, ast.Name):
            at: Place | None = place
            while at is not None:
                inner = [each for each in self._inner[at] if getattr(each.node, "name", "") == called.id]
                if inner:
                    return list(inner)
                at = at.around
            found = self._named(place.path, called.id)
            return [found] if found else []
        if isinstance(called, ast.Attribute):
            owner = self._type(place, called.value)
            if isinstance(owner, Class):
                return list(self._methods(owner, called.attr))
            if owner is None and called.attr not in COMMON:
                near = {place.path, *(self._home.get(module, "") for module, _ in self._imports[place.path].values())}
                return [
                    each.methods[called.attr] for each in self._classes if called.attr in each.methods and each.path in near
                ]
        return []

    def _follow(self, place: Place) -> None:
        names = set(place.private)
        at = place.around
        while at is not None:  # what a function inside another one sees of it
            names |= self._private_names(at, set(at.private))
            at = at.around
        names = self._private_names(place, names)
        for node in place.nodes:
            if isinstance(node, ast.Call):
                self._handed_over(place, node)
                self._handed_on(place, node, names)
            if isinstance(node, ast.Return | ast.Yield) and node.value and self._is_private(place, node.value, names):
                self._returns_private(place)
        if isinstance(place.node, ast.Lambda) and self._is_private(place, place.node.body, names):
            self._returns_private(place)

    def _private_names(self, place: Place, names: set[str]) -> set[str]:
        """Names in a function whose values are private, from those that are known to be."""
        grown = True
        while grown:
            given = [*((name, value) for name, value, _ in place.assigned), *place.filled]
            more = {name for name, value in given if self._is_private(place, value, names)} - names
            names, grown = names | more, bool(more)
        return names

    def _is_private(self, place: Place, node: ast.AST, names: set[str]) -> bool:
        if isinstance(node, ast.Name):
            return node.id in names
        named, called = names_and_calls(node)
        if not called and names.isdisjoint(named):
            return False
        if isinstance(node, ast.FunctionDef | ast.Lambda):
            return False
        if isinstance(node, ast.Attribute) and (node.attr in PUBLIC or self._is_n(place, node)):
            return False
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Attribute) and node.func.attr == "spend":
                return False
            callees = self._callees(place, node)
            if any(isinstance(each, Place) and each.path in NOISE for each in callees):
                return False
            if callees and not any(isinstance(each, Class) for each in callees):
                giving = [each for each in callees if isinstance(each, Place) and each.returns_private]
                handed = any(self._is_private(place, part, names) for part in children(node))
                return bool(giving) and (handed or any(each.around is not None for each in giving))
        return any(self._is_private(place, part, names) for part in children(node))

    def _is_n(self, place: Place, node: ast.Attribute) -> bool:
        """Whether this is the number of rows of a whole table that was handed over, which is public."""
        tables = {each.arg for each in place.parameters if each.annotation and text_of(each.annotation) == "Counts"}
        return node.attr == "total" and isinstance(node.value, ast.Name) and node.value.id in tables

    def _handed_on(self, place: Place, call: ast.Call, names: set[str]) -> None:
        """The parameters of what is called that get a private value."""
        receiver = call.func.value if isinstance(call.func, ast.Attribute) else None
        for callee in self._callees(place, call):
            if isinstance(callee, Class):
                inits = self._methods_up(callee, "__init__")
                targets, bound = inits, True
            else:
                bound = callee.owner is not None and callee.around is None and not _static(callee.node)
                targets = [callee]
            for target in targets:
                given = [each.arg for each in target.parameters]
                if bound and receiver is not None and self._is_private(place, receiver, names):
                    self._mark(target, given[0])
                for name, value in zip(given[bound:], call.args, strict=False):
                    if self._is_private(place, value, names):
                        self._mark(target, name)
                for keyword in call.keywords:
                    if keyword.arg in given and self._is_private(place, keyword.value, names):
                        self._mark(target, str(keyword.arg))

    def _handed_over(self, place: Place, call: ast.Call) -> None:
        """What is handed to `spend`, and the figures of a query: their first parameter that is not given is private."""
        if not _inside(place.path):
            return
        named = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        handed = call.args[1:2] if named == "spend" else []
        if named == "Query":
            handed = [each.value for each in call.keywords if each.arg in ("figure", "slack")]
        for value in handed:
            meant = list(self._meant(place, value))
            if not meant and (place.path, call.lineno) not in self.unknown:
                self.unknown.append((place.path, call.lineno))
            for target, first in meant:
                self._mark(target, first)
                self.handed |= {target}

    def _meant(self, place: Place, value: ast.expr) -> Iterator[tuple[Place, str]]:
        """The function that a value is, and the first of its parameters that is not given."""
        if isinstance(value, ast.Lambda):
            target = next(each for each in self._places if each.node is value)
            yield target, target.parameters[0].arg
        elif isinstance(value, ast.Call) and text_of(value.func) == "partial":
            bound = {each.arg for each in value.keywords}
            for target in self._means(place, value.args[0]):
                if isinstance(target, Place):
                    free = [each.arg for each in target.parameters if each.arg not in bound | {"self", "cls"}]
                    yield target, free[len(value.args) - 1]
        elif isinstance(value, ast.Name | ast.Attribute):
            made = [given for name, given, _ in place.assigned if isinstance(value, ast.Name) and name == value.id]
            if made:
                for given in made:
                    yield from self._meant(place, given)
                return
            for target in self._means(place, value):
                if isinstance(target, Place):
                    yield target, next(each.arg for each in target.parameters if each.arg not in ("self", "cls"))

    def _mark(self, target: Place, name: str) -> None:
        annotation = next((each.annotation for each in target.parameters if each.arg == name), None)
        kind = target.owner.node.name if name == "self" and target.owner else text_of(annotation) if annotation else ""
        closed = kind in {*DOORS, *PUBLIC_TYPES}
        if name not in target.private and not closed and _inside(target.path):
            target.private.add(name)
            self._again(target)

    def _returns_private(self, place: Place) -> None:
        if not place.returns_private:
            place.returns_private = True
            for caller in self._callers[place]:
                self._again(caller)

    def _again(self, place: Place) -> None:
        """A place and those inside it, which see its names."""
        self._left[place] = None
        for inner in self._inner[place]:
            self._again(inner)


def _pairs(target: ast.expr, value: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
    """Where several names get several values, each with its own."""
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        return list(zip(target.elts, value.elts, strict=True))
    return [(target, value)]


def _inside(path: str) -> bool:
    return path.startswith(FOLLOWED)


def _static(node: ast.FunctionDef | ast.Lambda) -> bool:
    return isinstance(node, ast.FunctionDef) and any(text_of(each) == "staticmethod" for each in node.decorator_list)


def _imported(tree: ast.Module) -> Iterator[tuple[str, tuple[str, str]]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("synthrelease."):
            for alias in node.names:
                yield alias.asname or alias.name, ((node.module or "").removeprefix("synthrelease."), alias.name)
