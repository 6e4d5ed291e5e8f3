"""How many random single edits of whole folders `verify` finds, all checksums made anew. Table of docs/audit.md.

    python -m tests.benchmarks.forged_folders [--edits 300] [--seed 53]

Two small releases are edited: one with words in two languages and eight criteria, one with published noisy tables. An edit
changes one file, adds one or takes one away; the checksums of release.json and of SHA256SUMS are those of the edited files.
`tests.benchmarks.forgeries` has edits of the values of release.json.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path

from synthrelease.bundle.verify import verify_files
from synthrelease.published.document import ReleaseDocument
from tests.helpers.cards import rich_bundle
from tests.helpers.forgeries import SEALS, problems, resealed
from tests.helpers.tiny import write_measured_release

Edit = Callable[[dict[str, bytes], str, random.Random], None]
NAMES = (
    "README.de.html", "index.html", "data-private.csv", "estimates.csv", "imputed.csv", "measurements.json", "read.R",
    "SIGN.html",
)  # fmt: skip


def bit(files: dict[str, bytes], name: str, draw: random.Random) -> None:
    """One bit of a file turned around."""
    content = bytearray(files[name])
    content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
    files[name] = bytes(content)


def put_in(files: dict[str, bytes], name: str, draw: random.Random) -> None:
    """Bytes put in anywhere."""
    place = draw.randrange(len(files[name]) + 1)
    files[name] = files[name][:place] + draw.choice([b" ", b"\n", b"0", b"\x00" * 12_000]) + files[name][place:]


def digit(files: dict[str, bytes], name: str, draw: random.Random) -> None:
    """One digit is another one."""
    content = bytearray(files[name])
    places = [place for place, letter in enumerate(content) if letter in b"0123456789"]
    if places:
        place = draw.choice(places)
        content[place] = draw.choice([digit for digit in b"0123456789" if digit != content[place]])
        files[name] = bytes(content)


def lines(files: dict[str, bytes], name: str, draw: random.Random) -> None:
    """A line taken away, twice there, or in the place of another one."""
    found = files[name].splitlines(keepends=True)
    place, other = draw.randrange(len(found)), draw.randrange(len(found))
    how = draw.randrange(3)
    if how == 0:
        del found[place]
    elif how == 1:
        found.insert(other, found[place])
    else:
        found[place], found[other] = found[other], found[place]
    files[name] = b"".join(found)


def added(files: dict[str, bytes], name: str, draw: random.Random) -> None:
    """A file with a name that other releases have, or that none has."""
    strangers = [each for each in NAMES if each not in files]
    files[draw.choice(strangers)] = draw.choice([b"epsilon = 0.01\n", files[name]])


def removed(files: dict[str, bytes], name: str, draw: random.Random) -> None:
    """A file taken away."""
    del files[name]


EDITS: dict[str, Edit] = {
    "a bit turned around": bit,
    "bytes put in": put_in,
    "a digit changed": digit,
    "a line moved, doubled or left out": lines,
    "a file added": added,
    "a file taken away": removed,
}


def edited(files: Mapping[str, bytes], kind: str, name: str, draw: random.Random) -> dict[str, bytes] | None:
    """The files after an edit, with all checksums made anew; None where it changed nothing."""
    new = {each: content for each, content in files.items() if each not in SEALS}
    EDITS[kind](new, name, draw)
    if new == {each: content for each, content in files.items() if each not in SEALS}:
        return None
    try:
        tables = json.loads(new.get("release.json", b""))
        tables["files"] = {each: sha256(new[each]).hexdigest() for each in tables["files"] if each in new}
        if name == "specification.json" and name in new:
            tables["specification"] = sha256(new[name]).hexdigest()
        if name != "release.json":
            new["release.json"] = ReleaseDocument.model_validate_json(json.dumps(tables)).dumped()
    except (ValueError, KeyError, TypeError):
        pass
    return resealed(new)


def bundles() -> dict[str, Mapping[str, bytes]]:
    """The two releases."""
    with tempfile.TemporaryDirectory() as name:
        folder = write_measured_release(Path(name), Path(name) / "release")
        measured = {path.name: path.read_bytes() for path in folder.iterdir()}
    return {"eight criteria, two languages": rich_bundle(), "published noisy tables": measured}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--edits", type=int, default=300)
    parser.add_argument("--seed", type=int, default=53)
    asked = parser.parse_args()
    draw, looked, missed, began = random.Random(asked.seed), Counter[str](), Counter[str](), time.process_time()
    made = bundles()
    while looked.total() < asked.edits:
        release, kind = draw.choice(sorted(made)), draw.choice(sorted(EDITS))
        files = made[release]
        name = draw.choice(sorted(set(files) - set(SEALS)))
        new = edited(files, kind, name, draw)
        if new is None:
            continue
        looked[kind] += 1
        report = verify_files(new, documents=False)
        if not problems(report) and not problems(verify_files(new)):
            missed[kind] += 1
            print(f"not found: {release}: {kind}: {name}")
    for kind in sorted(looked):
        print(f"| {kind} | {looked[kind]} | {looked[kind] - missed[kind]} |")
    print(f"{looked.total() - missed.total()} of {looked.total()} found, {time.process_time() - began:.0f} processor seconds")


if __name__ == "__main__":
    main()
