"""Database servers of a test: started in a folder of their own by a user without rights, and gone with it."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

NOBODY = "nobody"
"""Who runs the servers where the tests are run by root, which both refuse to be run by."""


def program(*names: str) -> str:
    """The first of these programs that is installed; the test is skipped where none is."""
    folders = [
        os.environ.get("PATH", ""),
        "/usr/sbin",
        *map(str, sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)),
    ]
    found = next(filter(None, (shutil.which(name, path=os.pathsep.join(folders)) for name in names)), None)
    if found is None:
        pytest.skip(f"needs the database server with the program {names[0]}")
    return found


@contextmanager
def postgresql() -> Iterator[str]:
    """The address of a server of PostgreSQL that trusts the user steward, with the database registry: 127.0.0.1:PORT."""
    make, serve = program("initdb"), program("postgres")
    with _folder() as folder:
        port, data = _free_port(), str(folder / "data")
        _run([make, "-D", data, "-A", "trust", "-U", "steward", "-E", "UTF8", "--locale=C", "--no-sync"], folder)
        options = {"listen_addresses": "127.0.0.1", "port": str(port), "unix_socket_directories": "", "fsync": "off"}
        settings = [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
        with _serving([serve, "-D", data, *settings], folder, port):
            yield f"127.0.0.1:{port}"


@contextmanager
def mariadb() -> Iterator[str]:
    """The address of a server of MariaDB or MySQL's protocol that trusts the user root: 127.0.0.1:PORT."""
    make, serve = program("mariadb-install-db", "mysql_install_db"), program("mariadbd", "mysqld")
    with _folder() as folder:
        port, data = _free_port(), f"--datadir={folder / 'data'}"
        _run([make, "--no-defaults", data, "--auth-root-authentication-method=normal", "--skip-test-db"], folder)
        options = [
            f"--port={port}",
            "--bind-address=127.0.0.1",
            f"--socket={folder / 's'}",
            "--innodb-flush-log-at-trx-commit=0",
        ]
        with _serving([serve, "--no-defaults", data, *options, f"--pid-file={folder / 'pid'}"], folder, port):
            yield f"127.0.0.1:{port}"


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="sr-") as name:
        if os.geteuid() == 0:
            shutil.chown(name, NOBODY)
        yield Path(name)


def _as_nobody() -> dict[str, str]:
    return {"user": NOBODY} if os.geteuid() == 0 else {}


def _run(command: Sequence[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, **_as_nobody())  # type: ignore[call-overload]
    if done.returncode:
        pytest.skip(f"needs a database server that can be set up: {command[0]} failed with {done.stderr[-300:]}")


@contextmanager
def _serving(command: Sequence[str], folder: Path, port: int) -> Iterator[None]:
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log, **_as_nobody())  # type: ignore[call-overload]
    try:
        if not _soon(lambda: server.poll() is not None or _answers(port)) or server.poll() is not None:
            pytest.skip(f"needs a database server that starts: {(folder / 'log').read_text(errors='replace')[-300:]}")
        yield
    finally:
        server.terminate()
        try:
            server.wait(20)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def _soon(happened: Callable[[], bool]) -> bool:
    pause = threading.Event()
    return any(happened() or pause.wait(0.1) for _ in range(300))


def _answers(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def _free_port() -> int:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return int(server.getsockname()[1])
