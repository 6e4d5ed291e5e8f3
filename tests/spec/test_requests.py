"""A request is one value: the command line says it back, and its help stands in its docstring alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, fields
from inspect import Parameter, signature
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import synthrelease
from synthrelease import publish
from synthrelease.cli import app
from synthrelease.cli.commands import LazyGroup, built
from synthrelease.data.texts import entries
from synthrelease.errors import InputError
from synthrelease.sources.source import Source
from synthrelease.spec.arguments import command_words, help_texts
from synthrelease.spec.requests import (
    AllocationRequest,
    ComparisonRequest,
    DraftRequest,
    RehearsalRequest,
    ReleaseRequest,
    TableRequest,
    requested,
)
from tests.helpers.command_line import called
from tests.helpers.tiny import write_config

CONFIG = Path("configs/coins 1.toml")
REQUESTS = (
    ReleaseRequest(config=CONFIG, data="coins.csv", out=Path("out")),
    ReleaseRequest(
        config=CONFIG, data="coins", table="coins", out=Path("out"), jobs=2,
        shortlist=Path("-list.toml"), ledger=Path("l"), expect_head="0123456789abcdef", unrehearsed=True, rows=400,
    ),
    RehearsalRequest(
        config=CONFIG, data="coins.csv", members="sides.csv", out=Path("out"), target=0.2, keep=1, minutes=0.5, seed=0,
        copies=0, quasi_identifiers=("face", "year, of minting", '12" disc'), adopt=True,
    ),
    ComparisonRequest(config=CONFIG, data="coins.csv", method=("dami", "swapping"), swap=("face",), swap_key=(), swap_rate=0.1),
    AllocationRequest(config=CONFIG, data="coins.csv", total="0.5"),
    DraftRequest(name="coins", public="coins.csv", only=("a", "b"), unit="KEY:2", pure=True, into=Path("there")),
)  # fmt: skip


def taking(kind: type, taken: list[object]) -> Callable[..., None]:
    """A command that takes a request of a kind, and keeps it."""

    def command(request: Any) -> None:
        taken.append(request)

    command.__annotations__["request"] = kind
    return command


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda each: type(each).__name__)
def test_the_words_of_a_request_are_read_as_the_same_request(request_: object) -> None:
    """By the library that reads the arguments of the commands."""
    taken: list[object] = []
    command = built("command", taking(type(request_), taken))
    assert command.main(command_words(request_), standalone_mode=False) in (0, None)
    assert taken == [request_]


def test_a_source_keeps_its_table_and_its_members(monkeypatch: pytest.MonkeyPatch) -> None:
    """What Python gives as a value is read as it is: its text for messages names neither the members nor a URI."""
    source, asked = Source.of("coins.db", "coins", members="sides.csv"), list[ReleaseRequest]()
    monkeypatch.setattr(publish, "publish", lambda request, listener: asked.append(request))
    assert synthrelease.release(CONFIG, source, "out") is None
    assert asked[0].source == source
    other = Source.of("others.db", "sides")
    assert ReleaseRequest(config=CONFIG, data="coins.csv", members=other, out=Path("out")).source.members == other


@pytest.mark.parametrize("name", ["data", "members"])
def test_a_connection_string_is_refused_before_anything_is_done(name: str) -> None:
    """And before a plan is shown: when the request is made, without a word of it."""
    given = {"data": "coins.csv", name: "host=server password=geheim"}
    for kind, more in (
        (ReleaseRequest, {"out": Path("out")}),
        (RehearsalRequest, {"out": Path("out")}),
        (ComparisonRequest, {}),
    ):
        with pytest.raises(InputError, match="connection string") as caught:
            kind(config=CONFIG, **given, **more)
        assert "geheim" not in str(caught.value)


@pytest.mark.parametrize("command", [("release", "--out", "new", "--unrehearsed"), ("check", "--unrehearsed")])
def test_a_command_shows_no_plan_before_it_refuses_a_connection_string(command: tuple[str, ...], tmp_path: Path) -> None:
    write_config(tmp_path)
    name, *more = command
    done = called(tmp_path, name, "coins.toml", "--data", "host=server password=geheim", *more)
    assert (done.returncode, done.stdout) == (2, "")
    assert "connection string" in done.stderr
    assert "geheim" not in done.stderr


@pytest.mark.parametrize("kind", sorted({type(each) for each in REQUESTS}, key=lambda kind: kind.__name__))
def test_every_field_has_its_help(kind: type) -> None:
    assert {name: text for name, text in help_texts(kind).items() if not text} == {}


def test_a_command_is_loaded_when_it_is_asked_for_and_built_once() -> None:
    group = LazyGroup(name="synthrelease")
    assert group.commands["release"] is group.commands["release"]
    assert list(group.commands) == group.list_commands(None)
    assert "No such command 'relaese'" in CliRunner().invoke(app, ["relaese"]).output


FUNCTIONS = [(synthrelease.rehearse, RehearsalRequest), (synthrelease.release, ReleaseRequest)]


@pytest.mark.parametrize(("function", "kind"), FUNCTIONS)
def test_a_function_has_the_defaults_and_the_help_of_its_request(
    function: Callable[..., object], kind: type[TableRequest]
) -> None:
    parameters, texts = dict(signature(function).parameters), help_texts(kind)
    del parameters["progress"]
    defaults = {field.name: Parameter.empty if field.default is MISSING else field.default for field in fields(kind)}
    assert {name: parameter.default for name, parameter in parameters.items()} == {name: defaults[name] for name in parameters}
    described = entries(function.__doc__ or "", "Parameters")
    assert {name: described[name] for name in parameters} == {name: texts[name] for name in parameters}


def test_paths_may_be_texts_and_names_any_sequence() -> None:
    request = requested(
        ReleaseRequest,
        {"config": "a.toml", "data": "b.csv", "out": Path("c"), "ledger": "d", "trust": ["one", "two"], "progress": print},
    )
    assert request == ReleaseRequest(config=Path("a.toml"), data="b.csv", out=Path("c"), ledger=Path("d"), trust=("one", "two"))
    rehearsal = {"config": "a.toml", "data": "b.csv", "out": "c", "quasi_identifiers": 'age,"a,b"'}
    assert requested(RehearsalRequest, rehearsal).quasi_identifiers == ("age", "a,b")


def test_a_path_that_cannot_be_one_is_refused() -> None:
    with pytest.raises(InputError):
        requested(ReleaseRequest, {"config": "a.toml", "data": "b.csv", "out": "postgresql://h/db"})
