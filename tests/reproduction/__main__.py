"""Write the page docs/sources.md, or print some of its tables: python -m tests.reproduction [--only NAME]"""

from __future__ import annotations

import argparse
import sys

from tests.conftest import ROOT
from tests.reproduction.experiments import TABLES, page

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.reproduction", description=__doc__)
    parser.add_argument("--only", action="append", choices=TABLES, default=[], help="Print this table. May be repeated.")
    if only := parser.parse_args().only:
        sys.stdout.write(page(only))
    else:
        (ROOT / "docs" / "sources.md").write_text(page(), encoding="utf-8", newline="\n")
