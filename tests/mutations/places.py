"""Where in the code a mutation belongs: a place and a piece of its syntax tree, whatever the layout, comments and folders.

A place is `module:Class.function`, `module:Class`, `module:function` or `module` alone. The module is named as it is imported
inside the package (`criteria.marginals`); the end of that name is enough where only one module ends so (`marginals` is two),
so that a file may move to another folder. A module of the tests has its whole name (`tests.reproduction.weighting`).

The pieces `old` and `new` are Python: an expression, one or more statements, a keyword argument (`sensitivity=1 / n`), or the
head of a compound statement (`except ValueError:`, `with lock():`), which leaves its body as it is. They are compared as syntax
trees; of the file only the text of the piece that is found changes.
"""

from __future__ import annotations

import ast
import io
import textwrap
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

PACKAGE = "synthrelease"
BODIES = ("body", "orelse", "handlers", "finalbody", "decorator_list")
"""Fields of a compound statement that are not its head."""
IGNORED = frozenset({"ctx", "kind", "type_comment"})


class StaleMutation(Exception):
    """The code has changed and the mutation no longer says where it belongs."""


@dataclass(frozen=True, kw_only=True)
class Found:
    """A piece of a tree: `count` items from `index` on of a list of `parent`, or (index None) the field itself."""

    parent: ast.AST
    field: str
    index: int | None
    count: int

    @property
    def nodes(self) -> list[ast.AST]:
        value = getattr(self.parent, self.field)
        return [value] if self.index is None else value[self.index : self.index + self.count]

    def put(self, nodes: list[ast.AST]) -> None:
        if self.index is None:
            setattr(self.parent, self.field, nodes[0])
        else:
            getattr(self.parent, self.field)[self.index : self.index + self.count] = nodes


def file_of(place: str, root: Path) -> Path:
    """The file of a place. Raises StaleMutation unless there is exactly one."""
    name, modules = place.partition(":")[0], _modules(root / PACKAGE)
    if name.startswith("tests."):
        return root.joinpath(*name.split(".")).with_suffix(".py")
    if name in modules:
        return modules[name]
    found = sorted(path for module, path in modules.items() if module.endswith(f".{name}"))
    if len(found) != 1:
        raise StaleMutation(f"{place}: expected one module whose name is or ends with {name!r}, found {len(found)}")
    return found[0]


@cache
def _modules(package: Path) -> dict[str, Path]:
    return {
        ".".join((path.parent if path.stem == "__init__" else path.with_suffix("")).relative_to(package).parts): path
        for path in package.rglob("*.py")
    }


def changed(text: str, place: str, old: str, new: str) -> str:
    """The text of a file with `new` for `old` at a place. Raises StaleMutation unless `old` is found there exactly once."""
    tree = ast.parse(text)
    matches = [match for scope in _scopes(tree, place) for match in find(scope, old, new)]
    if len(matches) != 1:
        raise StaleMutation(f"{place}: expected {old!r} once, found it {len(matches)} times")
    (match,) = matches
    return put_in(text, tree, place, match, old, new)


def put_in(text: str, tree: ast.Module, place: str, match: Found, old: str, new: str) -> str:
    """The text of a file, whose tree is changed likewise, with `new` for the piece `old` that was found in it."""
    start, end = _span(text, match, header=_is_header(old))
    match.put(_replacement(match, old, new))
    encoded = text.encode()
    for candidate in _texts(new, column=len(encoded[:start]) - encoded.rfind(b"\n", 0, start) - 1):
        result = (encoded[:start] + candidate.encode() + encoded[end:]).decode()
        try:
            if same(ast.parse(result), tree):
                compile(result, place, "exec")
                return result
        except SyntaxError:
            continue
    raise StaleMutation(f"{place}: expected that {new!r} can stand for {old!r}, found that it cannot")


def find(scope: ast.AST, old: str, new: str) -> list[Found]:
    """All pieces of a tree that `old` describes: expressions when `new` is one, too."""
    if _is_header(old):
        wanted = _header(old)
        return [found for found in _pieces(scope) if same(found.nodes[0], wanted, without=BODIES)]
    expression = _expression(old)
    if expression is not None and _expression(new) is not None:
        return [found for found in _pieces(scope) if same(found.nodes[0], expression)]
    statements = ast.parse(textwrap.dedent(old)).body
    if not statements:
        raise StaleMutation(f"expected an expression or statements, found {old!r}")
    keyword = _keyword(statements)
    return [found for found in _runs(scope, len(statements)) if all(map(same, found.nodes, statements))] + [
        found for found in _pieces(scope) if keyword is not None and same(found.nodes[0], keyword)
    ]


def same(one: object, other: object, without: tuple[str, ...] = ()) -> bool:
    """Whether two trees are the same but for positions, comments and layout (and some fields of the root)."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if type(one) is not type(other):
        return False
    if not isinstance(one, ast.AST):
        return one == other
    fields = [field for field in one._fields if field not in IGNORED and field not in without]
    return all(same(getattr(one, field, None), getattr(other, field, None)) for field in fields)


def _scopes(tree: ast.Module, place: str) -> list[ast.AST]:
    """The definitions with the qualified name of a place; the module itself when the place names none."""
    scopes: list[ast.AST] = [tree]
    for name in filter(None, place.partition(":")[2].split(".")):
        scopes = [found for scope in scopes for found in _definitions(scope) if found.name == name]
    if not scopes:
        raise StaleMutation(f"{place}: expected a class or function of that name, found none")
    return scopes


def _definitions(scope: ast.AST) -> Iterator[ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef]:
    for child in ast.iter_child_nodes(scope):
        if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield child
        else:
            yield from _definitions(child)


def children(scope: ast.AST) -> Iterator[Found]:
    """Every node right below another; what stands inside an f-string has no positions of its own and is left out."""
    for field, value in () if isinstance(scope, ast.JoinedStr) else ast.iter_fields(scope):
        for index, node in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if isinstance(node, ast.AST):
                yield Found(parent=scope, field=field, index=index, count=1)


def _pieces(scope: ast.AST) -> Iterator[Found]:
    """Every node below a scope."""
    for found in children(scope):
        yield found
        yield from _pieces(found.nodes[0])


def _runs(scope: ast.AST, count: int) -> Iterator[Found]:
    """Every run of so many statements that follow each other."""
    for node in ast.walk(scope):
        for field in ("body", "orelse", "finalbody"):
            statements = getattr(node, field, None)
            for index in range(len(statements) - count + 1) if isinstance(statements, list) else ():
                yield Found(parent=node, field=field, index=index, count=count)


def _is_header(text: str) -> bool:
    return text.rstrip().endswith(":")


def _header(text: str) -> ast.AST:
    if text.lstrip().startswith("except"):
        (attempt,) = ast.parse(f"try:\n    pass\n{text.strip()}\n    pass").body
        assert isinstance(attempt, ast.Try)
        return attempt.handlers[0]
    return ast.parse(f"{text.strip()}\n    pass").body[0]


def _expression(text: str) -> ast.expr | None:
    try:
        return ast.parse(text.strip(), mode="eval").body
    except SyntaxError:
        return None


def _keyword(statements: list[ast.stmt]) -> ast.keyword | None:
    """`name=value` as the keyword argument of a call."""
    match statements:
        case [ast.Assign(targets=[ast.Name(id=name)], value=value)]:
            return ast.keyword(arg=name, value=value)
    return None


def _replacement(match: Found, old: str, new: str) -> list[ast.AST]:
    node = match.nodes[0]
    if _is_header(old):
        head = _header(new)
        for field in BODIES:
            if hasattr(node, field):
                setattr(head, field, getattr(node, field))
        return [head]
    if isinstance(node, ast.stmt):
        return list(ast.parse(textwrap.dedent(new)).body)
    found = _keyword(ast.parse(new.strip()).body) if isinstance(node, ast.keyword) else _expression(new)
    if found is None:
        raise StaleMutation(f"expected {new!r} to be of the kind of {old!r}: an expression, statements, a keyword, a head")
    return [found]


def _texts(new: str, column: int) -> Iterator[str]:
    """How `new` may be written where `old` stood: as it is, with its lines indented, or in parentheses."""
    lines = textwrap.dedent(new).strip("\n").rstrip()
    yield textwrap.indent(lines, " " * column).lstrip(" ")
    yield f"({new.strip()})"


def _span(text: str, match: Found, *, header: bool) -> tuple[int, int]:
    """Where a piece begins and ends, in bytes of the text."""
    starts = [0]
    for line in text.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    first, last = match.nodes[0], match.nodes[-1]
    line, column = first.lineno, first.col_offset  # type: ignore[attr-defined]
    if not header and getattr(first, "decorator_list", []):
        line = first.decorator_list[0].lineno  # type: ignore[attr-defined]
    start = starts[line - 1] + column
    if header:
        return start, start + _header_length(text.encode()[start:].decode())
    return start, starts[last.end_lineno - 1] + last.end_col_offset  # type: ignore[attr-defined]


def _header_length(text: str) -> int:
    """Bytes up to and with the colon that ends the head of a compound statement."""
    depth = lambdas = 0
    lines = text.splitlines(keepends=True)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.string in ("(", "[", "{"):
            depth += 1
        elif token.string in (")", "]", "}"):
            depth -= 1
        elif depth == 0 and token.string == "lambda":
            lambdas += 1
        elif depth == 0 and token.string == ":" and not lambdas:
            row, column = token.end
            return len("".join([*lines[: row - 1], lines[row - 1][:column]]).encode())
        elif depth == 0 and token.string == ":":
            lambdas -= 1
    raise StaleMutation("expected the head of a compound statement, found no colon that ends it")
