"""Write the folder of a release with its files and its signature. The folder gets its final name when it is complete.

A run reserves the name of its output before any budget is spent, so that of two runs with one name only one is charged. It
writes the files into the folder `.NAME.partial` beside the output, which it then renames. The folder of a killed run is
removed by the next run into the same parent folder, but only if it is certain that the killed run has ended: this program
created the folder on this machine, and no process holds its lock, which ends with its process. Otherwise the folder stays,
and a message names it.
"""

from __future__ import annotations

import errno
import hashlib
import os
import platform
import shutil
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import IO, TYPE_CHECKING

from synthrelease.bundle.card.page import OfAllLanguages, markdown_bytes, page_bytes
from synthrelease.bundle.catalogues import catalogue_entries
from synthrelease.bundle.dataset import Dataset
from synthrelease.bundle.document import column_parts, measurements_bytes, release_document, selection_part
from synthrelease.bundle.estimates import estimates_files, with_errors, with_estimates
from synthrelease.bundle.formats import statistical_files
from synthrelease.bundle.metadata import citation_bytes, datapackage_bytes, deployment_bytes
from synthrelease.bundle.options import made
from synthrelease.bundle.scripts import scripts
from synthrelease.bundle.sheets import questions_files, sign_files
from synthrelease.bundle.tables import AcceptedRows, row_files
from synthrelease.errors import InputError, OutputError
from synthrelease.privacy.ledger import load_ledger
from synthrelease.privacy.ledger_file import appear, sync_folder
from synthrelease.published import measurements
from synthrelease.published.associations import associations_files
from synthrelease.published.base import (
    CHECKSUMS,
    PUBLIC_KEY,
    SIGNATURE,
    Files,
    Keep,
    OnDisk,
    SigningError,
    checksum_file,
    cryptography,
    fingerprint,
    in_memory,
    key_file,
    public_pem,
)
from synthrelease.published.charges import ChargePart
from synthrelease.published.commitment import CommitmentPart, CommittedCriterionPart, CommittedYearsPart, LedgerHeadPart
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.names import page_name
from synthrelease.published.options import PlanOfYearsPart
from synthrelease.published.table import ReleasedTable
from synthrelease.resources import VERSION
from synthrelease.spec import canonical
from synthrelease.spec.release_spec import ReleaseSpec

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from synthrelease.releasing.release import Release


def commitment(spec: ReleaseSpec, ledger: Path | None = None) -> CommitmentPart:
    """Create a commitment: a list of everything that is fixed before a release, whose digest can be published before the
    run.

    No private data are read. Of the ledger (the list of all charges to a dataset), only its name, its number of entries and
    the digest of its last entry are used.

    Parameters
    ----------
    spec : the specification, restricted to the shortlist if one is given.
    ledger : the ledger of the dataset, or None if the commitment names no ledger.

    Raises
    ------
    BudgetError, InputError : if the ledger cannot be read.
    """
    head = None
    if ledger is not None:
        statement = load_ledger(ledger).statement()
        head = LedgerHeadPart(dataset=statement.dataset, number=statement.head.number, head=statement.head.hash)
    return CommitmentPart(
        commitment=1,
        title=spec.title,
        specification=spec.digest,
        program=VERSION,
        ledger=head,
        charges=ChargePart.of(spec.plan.total),
        selection=selection_part(spec),
        criteria=[CommittedCriterionPart.like(criterion) for criterion in spec.criteria],
        years=None
        if spec.year is None
        else CommittedYearsPart(**PlanOfYearsPart.of_plan(spec.year).model_dump(), again=spec.year.again),
    )


# Everything that is not in release.json is a function of release.json and the released table, so `verify` can write it again.


def release_files(release: Release, keep: Keep = in_memory) -> tuple[ReleasedTable, ReleaseDocument, Files]:
    """Return what cannot be computed again later: the released table, release.json, and the files with rows, measurements
    and specification.

    Parameters
    ----------
    keep : a function that stores each file of rows, block by block.
    """
    candidate, bundle = release.candidate, release.spec.bundle
    columns = column_parts(candidate.transformation)
    rows = AcceptedRows(
        table=replace(ReleasedTable.of(candidate), marked=bundle.synthetic_column),
        transformation=candidate.transformation,
        columns=columns,
        rules=release.spec.synthetic.merge(candidate.transformation),
        smallest=_promised_count(release),
        bundle=bundle,
    )
    of_rows = made(release.spec, rows)
    table, document = of_rows.table, release_document(release, {}, of_rows.parts)
    tables = table_files(document, table)
    data = {**{name: keep(name, pieces) for name, pieces in tables.items()}, **of_rows.files}
    if release.measured is not None:
        bins = release.spec.space.common if release.spec.shared_measurements else candidate.transformation
        data[measurements.NAME] = measurements_bytes(release.measured, bins, candidate.transformation)
    files = Files(data)
    document = document.model_copy(update={"files": {name: files.sha256(name) for name in files}})
    if release.models is not None and release.spec.models is not None:
        from synthrelease.bundle.models import models_part, with_models

        part = models_part(release.spec.models, release.models, candidate.transformation)
        document = with_models(document, part, files.get(measurements.NAME), release.spec.text)
    document = with_estimates(document, files.get(measurements.NAME), release.spec.text)
    listed = estimates_files(document, files.get(measurements.NAME))
    return table, with_errors(document, listed), files | listed | {canonical.NAME: release.spec.text}


def _promised_count(release: Release) -> int:
    promised = [criterion.promised_count for criterion in release.spec.criteria]
    return max(release.candidate.configuration.projection.promised_count, *promised, 1)


def table_files(document: ReleaseDocument, table: ReleasedTable) -> dict[str, Iterable[bytes]]:
    """Return the released rows in every requested format, as a lazy iterable of bytes for each file name."""
    plain = (row_files(document, table, ending) for ending in ("csv", "parquet"))
    return {**next(plain), **next(plain), **statistical_files(document, table)}


def written(
    document: ReleaseDocument, table: ReleasedTable, sizes: Mapping[str, int], measured: bytes | None = None
) -> dict[str, bytes]:
    """Write all documents that follow from release.json, the table and the noisy tables, such as the card.

    Parameters
    ----------
    sizes : the sizes of the data files in bytes, by file name.
    measured : the content of measurements.json, or None if there is no such file.
    """
    dataset = Dataset.of(document, sizes)
    shared = OfAllLanguages.of(document, table)
    languages = document.card.languages
    pages = {page_name(document, language): page_bytes(document, table, language, shared) for language in languages}
    asked = {}
    if measured is not None:
        from synthrelease.bundle.ask import ask_files  # here, because other releases need none of its modules

        asked = ask_files(document, table, measured)
    return {
        "datapackage.json": datapackage_bytes(document, dataset),
        **scripts(document),
        **catalogue_entries(document, table, dataset),
        "deployment.yaml": deployment_bytes(document, dataset),
        "CITATION.cff": citation_bytes(dataset),
        **pages,
        **asked,
        **associations_files(document),
        **questions_files(document),
        **sign_files(document),
        "README.md": markdown_bytes(document, table, shared),
    }


# A key signs SHA256SUMS, and so every file; `published.base` checks the signature.


def make_key(path: Path, password: bytes | None) -> str:
    """Write a new private key to a file (mode 0600), and the public key to a file with the added ending ".pub".

    Returns
    -------
    The fingerprint of the public key. Publish it where readers can find it.

    Raises
    ------
    OutputError : if one of the two files already exists or cannot be written.
    """
    serialization = cryptography("hazmat.primitives.serialization")
    key = cryptography("hazmat.primitives.asymmetric.ed25519").Ed25519PrivateKey.generate()
    secrecy = serialization.BestAvailableEncryption(password) if password else serialization.NoEncryption()
    private = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, secrecy)
    public_path = path.with_name(path.name + ".pub")
    for file in (path, public_path):
        if file.exists() or file.is_symlink():
            raise OutputError(f"{file} exists already. Nothing was overwritten. Choose another name.")
    _write_signed(path, private)
    _write_signed(public_path, public_pem(key.public_key()))
    return fingerprint(key.public_key())


def load_private_key(path: Path, password: bytes | None) -> Ed25519PrivateKey:
    """Read a private key from a file that `make_key` or OpenSSL wrote.

    Raises
    ------
    SigningError : if the file does not contain an Ed25519 private key, or if the password is missing or wrong.
    """
    serialization = cryptography("hazmat.primitives.serialization")
    content = key_file(path)
    if b"ENCRYPTED" in content and password is None:
        raise SigningError(f"{path}: this key is encrypted. Give its password with --password-file FILE.")
    try:
        key = serialization.load_pem_private_key(content, password if b"ENCRYPTED" in content else None)
    except Exception:  # no message of a library may quote the key
        key = None
    if not isinstance(key, cryptography("hazmat.primitives.asymmetric.ed25519").Ed25519PrivateKey):
        raise SigningError(f"{path}: this file is not an Ed25519 private key in PEM, or the password is wrong.")
    return key


def signing_key(path: Path | None, password_file: Path | None) -> Ed25519PrivateKey | None:
    """Return the private key for the signature, read before any budget is spent, or None without a path.

    Raises
    ------
    SigningError, InputError : as in `load_private_key` and `read_password`.
    """
    return None if path is None else load_private_key(path, read_password(password_file))


def read_password(path: Path | None) -> bytes | None:
    """Read a password from the first line of a file, or return None without a file.

    Raises
    ------
    InputError : if the first line is empty or the file cannot be read.
    """
    if path is None:
        return None
    problem, content = "", b""
    try:
        content = path.read_bytes().split(b"\n")[0].rstrip(b"\r")
    except OSError as error:
        problem = str(error.strerror)
    if not content:
        why = f"the file cannot be read ({problem})" if problem else "it is empty"
        raise InputError(f"{path}: the first line of this file must be a password, but {why}.")
    return content


def _write_signed(path: Path, content: bytes) -> None:
    try:
        _write(path, [content])
        return
    except OSError as error:
        problem = error.strerror
    raise OutputError(f"Cannot write the key {path} ({problem}).")


_fcntl: ModuleType | None
try:
    _fcntl = import_module("fcntl")
except ImportError:  # Windows, where no folder can be locked
    _fcntl = None

ENDING = ".partial"
WRITER = "writer"
"""Name of the file in the partial folder that says which program made it, and on which machine."""
CONTENT = "content"
"""Name of the entry in the partial folder that will get the final name."""
_SPACE = "space"  # Name of the file in the partial folder that reserves disk space
_MOST_KEPT = 2**30  # Largest reservation in bytes. The limit exists because some file systems reserve space by writing to it.
_TRIES = 100
MAX_NAME = 200
"""Largest number of bytes in the folder's name. File systems allow 255, and the temporary name is longer."""


def check_free_name(path: str | Path) -> Path:
    """Check, before private data are read, that a new file or folder can be created with this name.

    Raises
    ------
    OutputError : if something exists at the path, its name is too long, or its parent cannot be written to.
    """
    path = Path(path)
    if os.path.lexists(path):
        raise OutputError(f"{path} exists already. Nothing was overwritten. Choose another name.")
    parent = path.absolute().parent
    if not os.path.isdir(parent):
        raise OutputError(f"{path}: the folder {parent} does not exist. Create it, or choose another folder.")
    if len(os.fsencode(path.name)) > MAX_NAME:
        raise OutputError(f"{path.name[:50]}...: this name has more than {MAX_NAME} bytes. Choose a shorter name.")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise OutputError(f"{path}: you may not write to the folder {parent}. Choose another folder.")
    return path


@contextmanager
def taking(path: str | Path, *, spends: bool = False) -> Iterator[Path]:
    """Reserve a file name for the duration of a run. Yield a private folder for the content, which is removed at the end.

    Parameters
    ----------
    spends : whether the run charges a budget. Only such a run removes the folder of a killed run that charged one, because
        only such a run reports it (`killed_runs`).

    Raises
    ------
    OutputError : if another run has reserved the name, something exists at the path, or the path cannot be written to.
    """
    path = check_free_name(path)
    workspace, lock = _take(path, spends)
    try:
        check_free_name(path)  # another run may have removed the folder meanwhile
        for left_behind in workspace.parent.glob(f".*{ENDING}"):
            if left_behind != workspace:
                _remove_dead(left_behind, spends)
        yield workspace
    finally:
        shutil.rmtree(workspace, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def _take(path: Path, spends: bool) -> tuple[Path, int | None]:
    """Create the private folder that reserves a file name. Return the folder and its lock, None if folders cannot be locked
    here.
    """
    workspace, problem = path.absolute().parent / f".{path.name}{ENDING}", "another run uses this name"
    for _ in range(_TRIES):
        try:
            os.mkdir(workspace, 0o700)
        except FileExistsError:
            if _remove_dead(workspace, spends):
                continue
            break
        except OSError as error:
            problem = f"this place cannot be written to ({error.strerror})"
            break
        lock, sure = _lock(workspace)
        if sure and lock is None:  # another run removed the folder before this run could lock it
            continue
        try:
            with open(workspace / WRITER, "x", encoding="utf-8", opener=_for_its_owner) as file:
                file.write(_marks(spends)[-1])
        except OSError as error:
            shutil.rmtree(workspace, ignore_errors=True)
            problem = f"this place cannot be written to ({error.strerror})"
            break
        return workspace, lock
    advice = f" If no run is active, remove {workspace}." if problem.startswith("another") else ""
    raise OutputError(f"{path}: {problem}.{advice} Nothing was spent.")


def killed_runs(folder: Path) -> Iterator[str]:
    """Yield, for each partial folder of a killed run, sentences that say whether its release was complete. Nothing is
    removed.
    """
    for workspace in sorted(folder.glob(f".*{ENDING}")):
        lock, path = None, folder / workspace.name[1 : -len(ENDING)]
        with suppress(OSError, ValueError):  # the mark is read first, so that no run finds its new folder locked
            lock = _lock(workspace)[0] if (workspace / WRITER).read_text(encoding="utf-8") in _marks(True) else None
        if lock is None:
            continue
        os.close(lock)
        if os.path.lexists(path):
            yield f"An earlier run was killed after {path} was complete. Check it with `synthrelease verify`."
        else:
            yield (
                f"An earlier run was killed before {path} was complete, so {path.name} does not exist. If the ledger lists "
                "this run, its budget is spent. A new run costs the budget again."
            )


def _remove_dead(workspace: Path, spends: bool) -> bool:
    """Remove the partial folder of a run that has ended.

    Return False if it must stay: the run may still be active, synthrelease did not make the folder, or the ended run
    charged a budget and this run does not.
    """
    lock, sure = _lock(workspace)
    try:
        if not sure:
            return False
        if lock is None:
            return not os.path.lexists(workspace)
        inside = sorted(file.name for file in workspace.iterdir())
        if inside and not (WRITER in inside and (workspace / WRITER).read_text(encoding="utf-8") in _marks(spends)):
            return False
        shutil.rmtree(workspace)
        return True
    except (OSError, ValueError):
        return False
    finally:
        if lock is not None:
            os.close(lock)


def _lock(workspace: Path) -> tuple[int | None, bool]:
    """Try to lock a folder. Return the lock (or None), and whether the answer is certain: some file systems cannot lock
    folders.

    The result is (None, True) if another run holds the lock or the folder is gone.
    """
    if _fcntl is None:
        return None, False
    try:
        descriptor = os.open(workspace, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except FileNotFoundError:
        return None, True
    except OSError:  # not a folder of this program
        return None, False
    sure = True
    try:
        _fcntl.flock(descriptor, _fcntl.LOCK_EX | _fcntl.LOCK_NB)
        # another run may have removed the folder and made it again
        if os.path.samestat(os.fstat(descriptor), os.lstat(workspace)):
            return descriptor, True
    except (BlockingIOError, FileNotFoundError):
        pass
    except OSError:  # a file system without locks
        sure = False
    os.close(descriptor)
    return None, sure


def _for_its_owner(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _marks(spends: bool) -> tuple[str, ...]:
    """Return the texts that mark partial folders which this run may remove. The last one marks the folder of this run."""
    mark = f"synthrelease on {platform.node()}\n"
    return (mark, f"{mark}spends\n") if spends else (mark,)


def keep_space(workspace: Path, size: int) -> None:
    """Reserve disk space in the partial folder until `give_back`, if the file system supports this.

    Parameters
    ----------
    size : number of bytes.

    Raises
    ------
    OutputError : if there is not enough free space.
    """
    free, problem = shutil.disk_usage(workspace).free, ""
    try:
        if free < size:
            raise OSError(errno.ENOSPC, "")
        if hasattr(os, "posix_fallocate") and size:
            with open(workspace / _SPACE, "xb", opener=_for_its_owner) as file:
                os.posix_fallocate(file.fileno(), 0, min(size, _MOST_KEPT))
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            problem = f"only {free / 1e6:,.1f} MB" if free < size else "less, because of a quota"
    if problem:
        give_back(workspace)
        raise OutputError(
            f"{workspace.parent}: the released files need about {size / 1e6:,.1f} MB of free space, but there is {problem}. "
            "Nothing was spent."
        )


def give_back(workspace: Path) -> None:
    """Free the disk space that `keep_space` reserved."""
    (workspace / _SPACE).unlink(missing_ok=True)


# The output folder: private to its owner, complete or absent, never overwritten.

NO_TIME = 315_532_800
"""Time stamp of all released files: 1 January 1980, the earliest that a zip archive can hold."""


def write_bundle(
    release: Release, folder: str | Path, key: Ed25519PrivateKey | None = None, workspace: Path | None = None
) -> Path:
    """Write the bundle of a release into a new folder (`new_folder`), signed if a private key is given.

    Raises
    ------
    OutputError : if the folder or its documents cannot be written. If only documents cannot be written, the table and
        release.json are still written, so that the spent budget is not lost.
    """
    failed, documents = "", {}
    with new_folder(folder, workspace) as new:
        table, document, data = release_files(release, new.keep)
        try:
            sizes = {name: data.size(name) for name in document.files}
            documents = written(document, table, sizes, data.get(measurements.NAME))
        except Exception as error:  # the error concerns released values only, and preview.py makes it unlikely
            failed = type(error).__name__
        new.seal(data | {"release.json": document.dumped(), **documents}, key)
    if failed:
        raise OutputError(
            f"{folder}: the table and release.json were written, but not the other documents ({failed}). Do not run the "
            "release again: a second run would spend the budget again."
        )
    return Path(folder)


def write_folder(
    contents: Mapping[str, bytes], folder: str | Path, key: Ed25519PrivateKey | None = None, workspace: Path | None = None
) -> Path:
    """Write files with their checksums, signed if a private key is given, into a new folder (`new_folder`).

    Raises
    ------
    OutputError : as in `new_folder`.
    """
    with new_folder(folder, workspace) as new:
        new.seal(Files(contents), key)
    return Path(folder)


class NewFolder:
    """A folder that is still being written under a temporary name."""

    def __init__(self, path: Path):
        self._path = path

    def keep(self, name: str, pieces: Iterable[bytes]) -> OnDisk:
        """Write a file block by block, so that the whole file is never in memory."""
        return _write(self._path / name, pieces)

    def seal(self, contents: Files, key: Ed25519PrivateKey | None = None) -> None:
        """Write the remaining files, and the checksums of all files, signed if a key is given."""
        for name, content in _sealed(contents, key).contents.items():
            if isinstance(content, bytes):
                _write(self._path / name, [content])
            elif content.path != self._path / name:
                with content.path.open("rb") as file:
                    _write(self._path / name, iter(partial(file.read, 2**20), b""))


@contextmanager
def new_folder(folder: str | Path, workspace: Path | None = None) -> Iterator[NewFolder]:
    """Collect the files of a new folder in a temporary place, and rename it at the end: `folder` is complete or does not
    exist.

    Parameters
    ----------
    workspace : the folder of `taking`, if the name is already reserved.

    The folder has mode 0700 and its files have mode 0600. The time stamps of the files are constant, because the time at
    which a run ended would reveal the number of its rounds. The signature signs the checksums.

    Raises
    ------
    OutputError : if something exists at `folder` by now, or if the disk cannot be written to.
    """
    folder = check_free_name(folder)
    failed = partial("Cannot write the release {} ({}). The planned budget is spent.".format, folder)
    with _whole_or_not_at_all(folder, workspace, failed) as temporary:
        os.mkdir(temporary, 0o700)
        yield NewFolder(temporary)
        for path in (*temporary.iterdir(), temporary):
            os.utime(path, (NO_TIME, NO_TIME))
        with suppress(OSError):  # some file systems cannot sync a folder; the release must not be lost after its charge
            sync_folder(temporary)


@contextmanager
def new_file(path: Path, what: str = "the file") -> Iterator[IO[bytes]]:
    """Yield a temporary file, and rename it to `path` at the end, so that `path` is complete or does not exist.

    Parameters
    ----------
    what : a description of the file for the error message.

    Raises
    ------
    OutputError : if something exists at `path`, or the file cannot be written.
    """
    failed = partial("Cannot write {1} {0} ({2}).".format, path, what)
    with _whole_or_not_at_all(path, None, failed) as temporary, temporary.open("xb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def _whole_or_not_at_all(path: Path, workspace: Path | None, failed: Callable[[str | None], str]) -> Iterator[Path]:
    """Yield a temporary path for a file or folder, which is renamed to `path` in one step when it is complete.

    Parameters
    ----------
    workspace : the folder of `taking`, if the name is already reserved.
    failed : a function that returns the message of an OutputError, given the reason for which the disk cannot be written
        to.
    """
    problem = ""
    with nullcontext(workspace) if workspace is not None else taking(path) as inside:
        temporary = inside / CONTENT
        try:
            give_back(inside)
            yield temporary
            check_free_name(path)
            _give_name(temporary, path)
            with suppress(OSError):  # the name is there, even if this file system cannot say when it is on the disk
                sync_folder(path.absolute().parent)
        except OSError as error:
            problem = failed(error.strerror)
    if problem:
        raise OutputError(problem)


def _give_name(temporary: Path, path: Path) -> None:
    """Rename a complete file or folder, without replacing a file, except on file systems without hard links."""
    if temporary.is_dir():
        os.rename(temporary, path)
        return
    try:
        appear(temporary, path)
    except FileExistsError:
        check_free_name(path)
        raise
    except OSError:
        os.rename(temporary, path)


def _sealed(contents: Mapping[str, bytes], key: Ed25519PrivateKey | None) -> Files:
    files = contents if isinstance(contents, Files) else Files(contents)
    if key is None:
        return files | {CHECKSUMS: checksum_file(files)}
    signed = files | {PUBLIC_KEY: public_pem(key.public_key())}
    checksums = checksum_file(signed)
    return signed | {CHECKSUMS: checksums, SIGNATURE: key.sign(checksums)}


def _write(path: Path, pieces: Iterable[bytes]) -> OnDisk:
    """Write a file of mode 0600, and wait until its content is on the disk."""
    binary, digest = getattr(os, "O_BINARY", 0), hashlib.sha256()  # on Windows, line ends would be changed without it
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | binary, 0o600), "wb") as file:
        for piece in pieces:
            digest.update(piece)
            file.write(piece)
        file.flush()
        os.fsync(file.fileno())
        return OnDisk.written(path, file, digest.hexdigest())


# A released folder as a .zip file that reveals nothing but its files. Archives made by hand also store when each file was
# written, and by whom. The end of a run would reveal how long it took, and so the number of its rounds. Here the times are
# those of the folder (1 January 1980), names are sorted, and modes are fixed. Contents are not compressed, because compressors
# differ between versions. The same folder gives the same bytes.

_FIRST_DAY = (1980, 1, 1, 0, 0, 0)
_UNIX = 3
_MODE = 0o100600 << 16


def check_archive(path: str | Path, folder: str | Path) -> Path:
    """Check, before budget is spent, that a new archive can be written to this path.

    Raises
    ------
    OutputError : if something exists at the path, or the path does not end with .zip, lies inside the folder, or cannot be
        written.
    """
    path, folder = Path(path), Path(folder)
    if path.suffix != ".zip":
        raise OutputError(f"{path}: the name of an archive must end with .zip.")
    if path.absolute() == folder.absolute() or folder.absolute() in path.absolute().parents:
        raise OutputError(f"{path}: the archive must be outside the released folder {folder}.")
    check_free_name(path)
    return path


def write_archive(folder: str | Path, path: str | Path, workspace: Path | None = None) -> Path:
    """Write the files of a folder into a new archive of mode 0600, which is complete or does not exist.

    Parameters
    ----------
    workspace : the folder of `taking`, if the archive's name is already reserved.

    Raises
    ------
    OutputError : if something exists at `path`, or the archive cannot be written. The folder is not changed.
    """
    folder, path = Path(folder), check_archive(path, folder)
    failed = partial("Cannot write the archive {0} ({2}). The released folder {1} is complete.".format, path, folder)
    with _whole_or_not_at_all(path, workspace, failed) as temporary:
        descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
        with os.fdopen(descriptor, "w+b") as file:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
                for member in sorted(folder.iterdir(), key=lambda entry_: entry_.name):
                    entry = zipfile.ZipInfo(f"{folder.absolute().name}/{member.name}", _FIRST_DAY)
                    entry.create_system, entry.external_attr = _UNIX, _MODE
                    entry.file_size = member.stat().st_size
                    with member.open("rb") as source, archive.open(entry, "w") as into:
                        shutil.copyfileobj(source, into, 2**20)
            file.flush()
            os.fsync(file.fileno())
        os.utime(temporary, (NO_TIME, NO_TIME))
    return path
