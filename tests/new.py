"""Write the files of a new criterion, generator or option from a template, with the lines that other files need of it.

    python -m tests.new criterion largest_gap

What is written works and passes its checks; the author then puts her own figure, model or setting in its place. A template in
tests/templates is text in parts. Each part begins with a line that says where it goes: "=== FILE" is a new file, and
"=== FILE :: PLACE" goes into one that is there. PLACE is "end of NAME" (a dict, tuple or function), "fields of CLASS", "before
return of FUNCTION", "before TEXT" or "after TEXT" (the last line that begins so), "imports", or "replace TEXT".
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TEMPLATES = Path(__file__).parent / "templates"
KINDS = ("criterion", "generator", "option")
LONGEST = 20
"""Signs of a name, so that no line of a template becomes too long."""


class Misplaced(Exception):
    """A place that a template names is not there."""


def parts(kind: str, name: str) -> Iterator[tuple[str, str, str]]:
    """Yield file, place (empty for a new file) and text of each part of a template, about a name."""
    text = (TEMPLATES / f"{kind}.txt").read_text(encoding="utf-8")
    plain, camel = name.replace("_", " "), "".join(map(str.capitalize, name.split("_")))
    for before, after in (("newname", name), ("NewName", camel), ("new name", plain), ("New name", plain.capitalize())):
        text = text.replace(before, after)
    for part in re.split(r"^=== ", text, flags=re.MULTILINE)[1:]:
        head, _, body = part.partition("\n")
        file, _, place = head.partition(" :: ")
        yield file, place, body


def put(text: str, place: str, body: str) -> str:
    """Return the text of a file with a part in its place."""
    how, _, what = place.partition(" ")
    if how == "replace":
        if text.count(what) != 1:
            raise Misplaced(place)
        return text.replace(what, body.rstrip("\n"))
    lines = text.splitlines(keepends=True)
    line = _line(lines, text, place)
    return "".join([*lines[:line], body, *lines[line:]])


def _line(lines: list[str], text: str, place: str) -> int:
    """Return before which line, from 0, a part goes."""
    how, _, what = place.partition(" ")
    if how in ("before", "after") and not what.startswith("return of "):
        found = [number for number, line in enumerate(lines) if line.startswith(what)]
        if not found:
            raise Misplaced(place)
        return found[-1] + (how == "after")
    nodes = list(ast.walk(ast.parse(text)))
    if place == "imports":
        found = [node.lineno for node in ast.parse(text).body if isinstance(node, ast.ImportFrom)]
        return found[-1] - 1
    name = place.rpartition(" ")[2]
    for node in nodes:
        if how == "end" and isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if [getattr(target, "id", "") for target in targets] == [name]:
                last = node.value.args[-1] if isinstance(node.value, ast.Call) else node.value
                return (last.end_lineno or 0) - 1
        if how == "end" and isinstance(node, ast.FunctionDef) and node.name == name:
            return node.end_lineno or 0
        if how == "fields" and isinstance(node, ast.ClassDef) and node.name == name:
            return max(field.end_lineno or 0 for field in node.body if isinstance(field, ast.AnnAssign))
        if how == "before" and isinstance(node, ast.FunctionDef) and node.name == name:
            return max(line.lineno for line in ast.walk(node) if isinstance(line, ast.Return)) - 1
    raise Misplaced(place)


def write(kind: str, name: str, root: Path = ROOT) -> tuple[list[str], list[str]]:
    """Write all parts of a template; the new files, and those that got a line."""
    new, changed = dict[str, str](), dict[str, str]()
    for file, place, body in parts(kind, name):
        path = root / file
        if not place:
            if path.exists():
                raise SystemExit(f"{file} exists: choose another NAME")
            new[file] = body
            continue
        text = changed.get(file) or path.read_text(encoding="utf-8")
        try:
            changed[file] = put(text, place, body)
        except Misplaced as error:
            raise SystemExit(f"{file}: expected the place {str(error)!r}, which tests/templates/{kind}.txt names") from None
    for file, text in (new | changed).items():
        (root / file).write_text(text, encoding="utf-8", newline="\n")
    code = [file for file in (*new, *changed) if file.endswith(".py")]
    for command in (["check", "--quiet", "--fix", "--select", "I"], ["format", "--quiet"]):
        subprocess.run([sys.executable, "-m", "ruff", *command, *code], cwd=root, check=True)
    return list(new), list(changed)


def main(kind: str, name: str) -> None:
    """Write a new kind, and say what is next."""
    if kind not in KINDS or len(name) > LONGEST or not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", name):
        raise SystemExit(f"usage: make new KIND={'|'.join(KINDS)} NAME=small_letters, at most {LONGEST} characters")
    new, changed = write(kind, name)
    print("New files:", *new, sep="\n  ")
    print("The command added lines to:", *changed, sep="\n  ")
    print(f"The written code passes its checks: make {kind} NAME={name}. Now replace the example with your own {kind}.")


if __name__ == "__main__":
    main(*(sys.argv[1:] if len(sys.argv) == 3 else ("", "")))
