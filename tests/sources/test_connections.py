"""No message quotes a connection string, whatever its dialect; one quotes a file name that was mistyped."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import synthrelease
from synthrelease.data.plausibility import Plausibility
from synthrelease.enclave.ingest import ingest
from synthrelease.errors import InputError, SynthreleaseError
from synthrelease.settings.columns import InputTable
from synthrelease.sources.paths import may_hold_secret, without_secrets
from synthrelease.sources.source import Source
from synthrelease.spec.load import load_spec
from tests.conftest import ROOT
from tests.helpers.command_line import said_by

SECRET = "HUNTER2"
FORMS = tuple(
    form.replace("%s", SECRET)
    for form in (
        # URIs of SQLAlchemy
        "postgresql://u:%s@server/db", "postgresql://server/db?password=%s", "postgresql://server/db?sslpassword=%s",
        "postgresql:u:%s@server/db", "mysql:/u:%s@h/db", "postgresql://server/db?auth=%s", "postgresql://server/db;%s",
        "postgresql://server/db/%s", "postgresql://server/db?%%70assword=%s".replace("%%", "%"),
        "postgresql://server/db?service=x&p%%61ssword=%s".replace("%%", "%"), "sqlite:////nowhere/%s",
        "mssql+pyodbc:///?odbc_connect=DRIVER%3D%7BODBC%7D%3BUID%3Du%3BPWD%3D%s".replace("%3D%s", "%3D" + SECRET),
        "snowflake://acct/db?authenticator=oauth&jwt=%s", "databricks://server/db?access=%s",
        "bigquery://p/d?credentials_base64=%s", "adbc+snowflake://acct/db?adbc.snowflake.sql.auth=%s",
        # other dialects
        "jdbc:postgresql://server/db?user=u&password=%s", "jdbc:sqlserver://server;databaseName=d;user=u;password=%s",
        "host=server user=u password=%s dbname=x", "Driver={SQL Server};Server=s;UID=u;PWD=%s", "odbc:DSN=x;PWD=%s",
        "DSN=x;PWD=%s", "u:%s@server/db", "//u:%s@server/db",
        # object stores, and what is on the web
        "az://c/x?sv=1&sig=%s", "abfss://c@acct.dfs/x?sig=%s", "s3://u:%s@bucket/x", "s3://b/x?X-Amz-Signature=%s",
        "s3://b/x;%s", "https://server/x.csv?sig=%s", "https://u:%s@server/x.csv", "s3:/k:%s@b/x", "webhdfs://u:%s/@h/x",
        "s3::simplecache://%s", "simplecache::s3://u:%s@b/x", "filecache://%s/x",
        "gs://b/x?token%3D%s".replace("D%s", "D" + SECRET),
        # what nobody told
        "scott/%s@//host:1521/service", "jdbc:oracle:thin:scott/%s@host:1521:orcl", "PWD=%s", "password: %s",
        "mongodb+srv://u:%s@cluster/db", "DefaultEndpointsProtocol=https;AccountKey=%s", "Server=s,1433;Password = %s",
        "u:%s%40server/db".replace("%s%", SECRET + "%"), "u:%s%2540server/db".replace("%s%", SECRET + "%"), "u:%s＠server/db",
        '{"host": "server", "password": "%s"}', "server?pass%3D%s".replace("D%s", "D" + SECRET), "PGPASSWORD=%s psql server",
        "POSTGRESQL://SERVER/DB?PWD=%s", "adbc+postgresql:///x/%s", "  postgresql:%s", "host = server\tpassword = %s",
    )
)  # fmt: skip
NAMES = (
    "briths.csv", "births 2019.csv", "C:\\registry\\births.csv", "./data/year=2019/births.parquet", "births-*.parquet",
    "nowhere/births[1].csv", "~/births.dta", "user.csv", "keys/births.csv",
)  # fmt: skip


def said_of(text: str | Path) -> str:
    """All that the door of the enclave says of a source that is not there."""
    try:
        source = Source.of(text)
    except InputError as error:
        return str(error)
    schema = load_spec(ROOT / "tests" / "spec" / "bad_specs" / "base" / "release.toml").schema
    with pytest.raises(InputError) as caught:
        ingest(source, schema, InputTable(), Plausibility(layout=schema.layout, masks=()))
    return f"{source} {source!r} {caught.value}"


def test_there_are_the_forms_that_once_leaked_and_more():
    assert len(set(FORMS)) == len(FORMS) >= 37 + 15
    assert all(SECRET in form for form in FORMS)


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_a_connection_string_is_not_quoted(form, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for text in (form, Path(form)):
        assert SECRET not in said_of(text)


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_the_command_line_quotes_none_wherever_it_stands(form, tmp_path, monkeypatch, capsys):
    """Also where an argument is one too many, or stands for another one."""
    monkeypatch.chdir(tmp_path)
    for command in (("verify", form), (form,), ("plan", "a.toml", f"--jobs={form}"), ("schema", "x.toml", form)):
        code, printed = said_by(monkeypatch, capsys, *command)
        assert code == 2
        assert SECRET not in printed.replace(" ", "")


COMMANDS = (
    "check CONFIG --data FORM", "check FORM", "release CONFIG --data FORM --out out", "release CONFIG --data DATA --out FORM",
    "release CONFIG --data DATA --out out --ledger FORM", "release CONFIG --data DATA --out out --shortlist FORM",
    "release CONFIG --data DATA --out out --sign FORM", "release CONFIG --data DATA --out out --archive FORM",
    "rehearse CONFIG --data FORM --out out", "rehearse CONFIG --data DATA --out FORM", "init births --from FORM",
    "init births --from DATA --into FORM", "allocate CONFIG --data FORM", "commit CONFIG --out FORM",
    "simulate FORM --rows 5 --out out.csv",
    "card CONFIG --out FORM", "card CONFIG --out out --bundle FORM", "bound FORM age", "estimate FORM age", "ledger show FORM",
    "ledger open FORM --dataset d --limit 1", "keygen FORM", "demo --out FORM", "audit --out FORM", "schema --out FORM",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("form", ["u:HUNTER2@h/db", "DSN=x;PWD=HUNTER2"])
def test_no_command_quotes_one(command, form, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    shutil.copy(ROOT / "tests" / "spec" / "bad_specs" / "base" / "release.toml", "release.toml")
    shutil.copy(ROOT / "tests" / "spec" / "bad_specs" / "base" / "acceptance.toml", "acceptance.toml")
    Path("data.csv").write_text("age\n1\n")
    words = {"CONFIG": "release.toml", "DATA": "data.csv", "FORM": form}
    code, printed = said_by(monkeypatch, capsys, *(words.get(word, word) for word in command.split()))
    assert code == 2
    assert "looks like a connection string" in " ".join(printed.split())
    assert SECRET not in printed.replace(" ", "")
    assert {path.name for path in tmp_path.iterdir()} == {"release.toml", "acceptance.toml", "data.csv"}


def test_no_function_quotes_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    form, spec = "u:HUNTER2@h/db", ROOT / "tests" / "spec" / "bad_specs" / "base" / "release.toml"
    for call in (
        lambda: synthrelease.plan(form),
        lambda: synthrelease.load(form),
        lambda: synthrelease.bound(form, "age"),
        lambda: synthrelease.estimate(form, "age"),
        lambda: synthrelease.rehearse(spec, form, "out"),
        lambda: synthrelease.rehearse(spec, "data.csv", form),
        lambda: synthrelease.release(spec, form, "out"),
        lambda: synthrelease.release(spec, "data.csv", form),
        lambda: synthrelease.release(spec, "data.csv", "out", ledger=form),
        lambda: synthrelease.release(spec, "data.csv", "out", archive=form),
    ):
        with pytest.raises(SynthreleaseError) as caught:
            call()
        assert SECRET not in str(caught.value)


@pytest.mark.parametrize("name", NAMES)
def test_a_mistyped_name_is_quoted(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert name.removeprefix("./") in said_of(name)
    assert not may_hold_secret(name)


def test_a_file_of_any_name_is_read_and_quoted(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("births@2019.csv", "a=1;b.csv", "key=2019.csv"):
        Path(name).write_text("")
        assert f"{name}: The file is empty. The file needs a header and rows." in said_of(name)
    assert str(Source.of(f"sqlite:///{tmp_path}/births@2019.csv")) == f"{tmp_path}/births@2019.csv"


def test_a_query_is_quoted(tmp_path):
    for query in ("age >= 35 and parity == 1", "user == 3", "signed != 1 or key <= 4", "Births: 2019"):
        assert without_secrets(f"found {query!r}", [query]) == f"found {query!r}"
