"""The files that come with synthrelease: where they are, in a checkout and in an installed package; digests of files."""

from __future__ import annotations

import hashlib
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from synthrelease.data.texts import visible

if TYPE_CHECKING:
    from jinja2 import Environment
    from jinja2.bccache import Bucket, BytecodeCache


def resource(name: str) -> Path:
    """Path of a shipped file such as "configs/births.toml".

    Raises
    ------
    FileNotFoundError : when the installation lacks it.
    """
    package = Path(__file__).parent
    for root in (package / "resources", package.parent):
        if (root / name).exists():
            return root / name
    raise FileNotFoundError(name)


def is_shipped(path: Path) -> bool:
    """Whether the path is among the configurations that come with synthrelease."""
    return resource("configs").resolve() in path.resolve().parents


def file_digest(path: str | Path) -> str:
    """sha256 of a file, read in batches."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def templates(folder: Path, settings: str) -> Environment:
    """The templates of a folder, as `compiled_templates` keeps them. Everything that is put into a page (.html) is escaped, and
    hidden characters are shown as their codes.

    Parameters
    ----------
    settings : the file of the module that adds filters, or asks for them alone.
    """
    import jinja2

    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        bytecode_cache=compiled_templates(folder, settings),
        autoescape=lambda name: name is not None and name.endswith(".html"),
        undefined=jinja2.StrictUndefined,
        finalize=lambda value: visible(value) if type(value) is str else value,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def compiled_templates(folder: Path, settings: str) -> BytecodeCache | None:
    """Keeps the templates of a folder as Python keeps its modules: compiled, in `__pycache__` beside them, where it may write.

    They are compiled anew for another text of the template or of the two modules that make its environment, this one and
    `settings`, and for another version of Python or jinja2.
    """
    import jinja2

    class Beside(jinja2.FileSystemBytecodeCache):
        def load_bytecode(self, bucket: Bucket) -> None:
            with suppress(OSError):
                super().load_bytecode(bucket)

        def dump_bytecode(self, bucket: Bucket) -> None:
            with suppress(OSError):
                Path(self.directory).mkdir(exist_ok=True)
                super().dump_bytecode(bucket)

    if sys.dont_write_bytecode:
        return None
    settled = f"{file_digest(settings)[:16]}.{file_digest(__file__)[:8]}"
    return Beside(str(folder / "__pycache__"), f"%s.{settled}.jinja2-{jinja2.__version__}.cache")
