"""Print the sizes that a reader feels, beside those of the last release: `make report`.

Nothing here fails: an honest addition may make any of these numbers larger. `--save` writes the numbers of today into
`report.json`, which is done when a version is released.
"""

from __future__ import annotations

import ast
import json
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "synthrelease"
DOCS = ROOT / "docs"
LAST_RELEASE = Path(__file__).with_name("report.json")


def code_lines(path: Path) -> int:
    """Lines of a module that are neither blank nor comments, docstrings or imports."""
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    numbers = {number for number, line in enumerate(text.splitlines(), 1) if line.strip() and not line.strip().startswith("#")}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom) or _is_docstring_of(node):
            left_out = node if isinstance(node, ast.Import | ast.ImportFrom) else node.body[0]  # type: ignore[attr-defined]
            numbers -= set(range(left_out.lineno, (left_out.end_lineno or left_out.lineno) + 1))
    return len(numbers)


def _is_docstring_of(node: ast.AST) -> bool:
    scopes = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    return isinstance(node, scopes) and ast.get_docstring(node, clean=False) is not None


def class_names() -> Iterator[str]:
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                yield node.name


def words_of(page: str) -> int:
    return len((DOCS / page).read_text(encoding="utf-8").split())


def measured() -> dict[str, float]:
    """The name of each size and its value today."""
    sys.path.insert(0, str(ROOT))
    from tests.mutations.of_rules import ruled
    from tests.mutations.of_theory import mutations
    from tests.test_docs import PAGES, navigation
    from tests.test_private_lines import LISTED, MECHANISMS, followed, lines_of

    modules = sorted(PACKAGE.rglob("*.py"))
    sizes = [code_lines(path) for path in modules]
    names = list(class_names())
    pages = [page.relative_to(DOCS).as_posix() for page in PAGES]
    sizes_of_ways = {f"words of the way {way}": sum(map(words_of, read)) for way, read in navigation().items() if way != "Home"}
    return {
        "private lines": lines_of(LISTED),
        "files with private lines": len(LISTED),
        "files that the follower of private values enters": len(followed().files),
        "private halves": len(MECHANISMS),
        "modules": len(modules),
        "folders at the root of the package": sum((PACKAGE / path.name / "__init__.py").exists() for path in PACKAGE.iterdir()),
        "files at the root of the package": len(list(PACKAGE.glob("*.py"))),
        "lines of code": sum(sizes),
        "median lines of code of a module": statistics.median(sizes),
        "largest module, lines of code": max(sizes),
        "class names that stand twice": len(names) - len(set(names)),
        "mutations": len(mutations()),
        "mutations that rules make": len(ruled()),
        "pages of documents": len(pages),
        "words of all pages": sum(map(words_of, pages)),
        **sizes_of_ways,
    }


def main() -> None:
    today = measured()
    if "--save" in sys.argv:
        LAST_RELEASE.write_text(json.dumps(today, indent=1) + "\n", encoding="utf-8")
    before = json.loads(LAST_RELEASE.read_text(encoding="utf-8"))
    width = max(map(len, today))
    print(f"{'':{width}} {'today':>9} {'last release':>13}")
    for name, value in today.items():
        print(f"{name:{width}} {value:9,.0f} {format(before[name], ',.0f') if name in before else 'not known':>13}")


if __name__ == "__main__":
    main()
