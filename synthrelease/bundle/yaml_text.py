"""Tables as YAML: keys in their order, texts of several lines as blocks."""

from __future__ import annotations

from typing import Any

import yaml

from synthrelease.published.table import NOTICE


class _Dumper(yaml.SafeDumper):
    """The writer in pure Python, whose bytes do not depend on whether libyaml is there."""

    def ignore_aliases(self, data: object) -> bool:
        return True


def _text(dumper: _Dumper, text: str) -> yaml.Node:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)


def yaml_bytes(tables: dict[str, Any]) -> bytes:
    """The tables, below a comment that says that the data are synthetic."""
    text: str = yaml.dump(tables, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)
    return f"# {NOTICE}\n{text}".encode()
