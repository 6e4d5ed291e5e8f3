"""card, verify and keygen: what is done with the files of a release. None of them reads private data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from synthrelease.cli.terminal import Config, err, out
from synthrelease.errors import VerificationFailed

if TYPE_CHECKING:
    from synthrelease.published.verify.checks import Report

Sign = Annotated[Path | None, typer.Option("--sign", metavar="KEY", help="Sign the files with this private key (see keygen).")]
Password = Annotated[
    Path | None, typer.Option("--password-file", metavar="FILE", help="A file whose first line is the password of the key.")
]


def keygen(
    file: Annotated[Path, typer.Argument(metavar="KEY", help="A new file for the private key; KEY.pub gets the public one.")],
    password_file: Password = None,
) -> None:
    """Make a key pair for signing releases. Needs the extra `sign`."""
    from synthrelease.bundle.write import make_key, read_password

    fingerprint = make_key(file, read_password(password_file))
    out.print(f"The private key is {str(file)}: keep it secret. The public key is {str(file)}.pub.")
    out.print(f"Publish its fingerprint where readers of the release will find it: {fingerprint}")


def verify(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a release.")],
    public_key: Annotated[
        Path | None,
        typer.Option("--public-key", metavar="FILE", help="The publisher's public key, which must have signed it."),
    ] = None,
    earlier: Annotated[
        list[Path] | None,
        typer.Option("--with", metavar="DIR", help="An earlier release of the same register, or what an erratum replaces."),
    ] = None,
    commitment: Annotated[
        Path | None, typer.Option("--commitment", metavar="FILE", help="What was committed to before the run (see commit).")
    ] = None,
    plan: Annotated[
        bool, typer.Option(help="Compute plan and figures again from the published specification, as the program does.")
    ] = True,
    documents: Annotated[bool, typer.Option(help="Write every other document again and compare.")] = True,
) -> None:
    """Check a published release without any private data, and list what cannot be checked. Exit code 5 if something is wrong.

    With --no-plan --no-documents, the part is left that stands alone: it needs nothing that makes or writes a release.
    """
    from synthrelease.bundle.verify import verify_bundle

    report = verify_bundle(folder, public_key, earlier or (), commitment, plan=plan, documents=documents)
    print_report(report)
    if not report.passed:
        raise VerificationFailed(f"{folder}: this release does not fit together. See the problems above.")
    out.print("Nobody can check without the private file:")
    for sentence in report.beyond:
        out.print(f"- {printable(sentence)}", highlight=False)
    out.print(report.closing, style="green" if report.vouched_for else "yellow", highlight=False)


def card(
    config: Config,
    target: Annotated[Path, typer.Option("--out", metavar="DIR", help="A new folder.")],
    bundle: Annotated[
        Path | None, typer.Option("--bundle", metavar="DIR", help="A finished release; without it a preview is written.")
    ] = None,
    sign: Sign = None,
    password_file: Password = None,
) -> None:
    """Write the data card as it would look, or a finished release anew with [card] and [calibration] as they are now.

    Spends nothing and reads no private data.
    """
    from synthrelease.bundle import check_free, new_folder, write_folder
    from synthrelease.bundle.write import signing_key
    from synthrelease.spec.load import load_spec

    spec = load_spec(config)
    check_free(target)
    key = signing_key(sign, password_file)
    if bundle is None:
        from synthrelease.bundle.preview import preview

        write_folder(preview(spec), target, key)
        warn_of_gaps(spec)
        out.print(f"A preview, with placeholders for figures, is {str(target / 'README.html')}.")
        return
    from synthrelease.bundle.preview import rewritten
    from synthrelease.bundle.verify import verify_bundle
    from synthrelease.published.verify.checks import read_files

    report = verify_bundle(bundle)
    if not all(check.passed for check in report.checks if check.name not in ("documents", "weights")):  # these are written anew
        print_report(report)
        raise VerificationFailed(f"{bundle}: expected a release that fits together, found problems. Nothing was written.")
    with new_folder(target) as new:
        new.seal(rewritten(read_files(bundle), spec, new.keep), key)
    warn_of_gaps(spec)
    out.print(f"The release with the new texts is in {str(target)}.")
    print_outcomes(target)


def print_outcomes(folder: Path) -> None:
    """What became of options in a release that was written."""
    from synthrelease.bundle.options import outcomes
    from synthrelease.published.document import read_leniently

    for each in outcomes(read_leniently((folder / "release.json").read_bytes())):
        (err if each.failed else out).print(each.text, style="yellow" if each.failed else None)


def print_report(report: Report) -> None:
    """The checks. Texts of the files are shown with their control characters written out: they could hide what is said."""
    from rich.table import Table

    table = Table("check", "", "found", title="Verification")
    for check in report.checks:
        found = "\n".join(printable(problem) for problem in check.problems) if check.problems else printable(check.found)
        table.add_row(check.name, check.mark, found, style=None if check.passed else "red")
    out.print(table)


def printable(text: str) -> str:
    """A text with the codes of all characters that a terminal would not show as they are."""
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)


def warn_of_gaps(spec: Any) -> None:
    """Say what the data card will lack, and what further files will call otherwise; both can be changed later, with
    `card --bundle`.
    """
    if spec.bundle.chosen:
        from synthrelease.bundle.further import warnings

        for line in warnings(spec.bundle, spec.schema.names):
            out.print(line, style="yellow")
    if missing := spec.unstated:
        shown = ", ".join(missing[:8]) + (f" and {len(missing) - 8} more" if len(missing) > 8 else "")
        out.print(f"The data card will lack: {shown}. The card will say that they are not stated.", style="yellow")
    if not str(spec.tables["acceptance"].get("description", "")).strip():
        out.print(
            "The acceptance file lacks a description of what the release must be good for. specification.json, which is "
            "published, has none either.",
            style="yellow",
        )
