"""A table of many files has the counts of the one file that holds all rows, here and on a real Dask cluster."""

from __future__ import annotations

import gzip
import os
import signal
from collections import Counter
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest

from synthrelease.enclave import many_files
from synthrelease.enclave.ingest import digest_of, ingest
from synthrelease.enclave.many_files import as_they_were, count_files
from synthrelease.errors import InputError
from synthrelease.settings.columns import InputTable
from synthrelease.sources.source import Source, StoredFile, state_of
from tests.helpers.people import HEADER, ROW, Person, anything, no_old_men, read, schema_of, write_csv, write_parquet

PEOPLE = [Person(age % 130, age % 3 == 0, None, 0.01 * age) for age in range(300)]
POLICY = InputTable(missing="bin", outside="clip")
STRICT = InputTable(missing="error", outside="clip")


def schema(policy: InputTable = POLICY):
    return schema_of("age", "sex", "height", policy=policy)


def counts(path, run=None) -> dict:
    found = ingest(path, schema(), POLICY, no_old_men(schema()), run)._Door__counts  # type: ignore[attr-defined]
    cells = zip(*(bins.tolist() for bins in found.bins), strict=True)
    return dict(zip(cells, found.counts.tolist(), strict=True))


def message(path, run=None, policy: InputTable = POLICY) -> str:
    with pytest.raises(InputError) as caught:
        ingest(path, schema(policy), policy, anything(schema(policy)), run)
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)
    return str(caught.value)


@pytest.fixture
def register(tmp_path: Path) -> Path:
    """A folder of CSV and Parquet files; the whole table is beside it, in all.csv."""
    folder = tmp_path / "register"
    folder.mkdir()
    write_csv(folder / "part-0.csv", PEOPLE[:90])
    write_csv(folder / "part-1.csv.gz", PEOPLE[90:100], compressed=True)
    write_parquet(folder / "part-2.parquet", PEOPLE[100:250])
    write_csv(folder / "part-3.csv", PEOPLE[250:])
    write_csv(folder / "_notes.csv", PEOPLE)
    write_csv(tmp_path / "all.csv", PEOPLE)
    return folder


@pytest.mark.parametrize("name", ["register", "register/part-*", "reg*/*-[0123].*"])
def test_a_folder_and_a_pattern_have_the_counts_of_one_file(register, name, monkeypatch):
    assert counts(register.parent / name) == counts(register.parent / "all.csv")
    monkeypatch.chdir(register.parent)
    source = Source.of(name)
    assert source.is_there()
    assert source.holds_files()
    assert (source.size(), len(digest_of(source))) == (sum(each.stat().st_size for each in register.glob("part*")), 64)
    assert counts(source) == counts(register.parent / "all.csv")


def test_an_object_store_has_the_counts_of_one_file(register):
    fsspec = pytest.importorskip("fsspec", reason="needs the extra stores")
    store = fsspec.filesystem("memory")
    store.store.clear()
    store.put(str(register) + "/", "/bucket/births/", recursive=True)
    expected = counts(register.parent / "all.csv")
    for uri in ("memory://bucket/births", "memory://bucket/births/part-*"):
        assert Source.of(uri).path is None
        assert not Source.of(uri).is_database
        assert counts(uri) == expected
    assert counts("memory://bucket/births/part-2.parquet") == counts(register / "part-2.parquet")
    assert "expected a folder or pattern of an object store with Parquet or CSV files alone, found none in it." in message(
        "memory://bucket/nothing"
    )
    store.pipe("/bucket/births/notes.txt", b"age")
    assert "found other files in it" in message("memory://bucket/births")
    store.store.clear()


@pytest.mark.parametrize(
    "uri", ["s3://user:SECRET-7461@bucket/births", "s3://bucket/births?token=SECRET-7461", "s3::memory://SECRET-7461/births"]
)
def test_a_uri_of_a_store_that_may_hold_a_password_is_refused_and_not_shown(uri):
    with pytest.raises(InputError) as caught:
        Source.of(uri.replace("s3::", "s3://x::"))
    assert "SECRET" not in str(caught.value)
    assert "expected the URI of an object store (s3) alone" in str(caught.value)


def test_a_pattern_that_fits_nothing_or_something_else_is_refused(register):
    assert not Source.of(register / "nothing-*.csv").is_there()
    (register / "part-9.txt").write_text("age\n")
    assert message(register / "part-*").endswith("with Parquet or CSV files alone, found other files in it.")


def test_the_first_file_that_cannot_be_read_is_told_without_its_name(register):
    (register / "part-1.csv").write_text(HEADER + ROW + "1,2\n")
    (register / "part-3.csv").write_text("age\n")
    found = message(register)
    assert "found 2 in data row 2 " in found
    assert found.endswith("This was found in file 2 of 5, in the order of their names.")
    backwards = lambda action, tasks: reversed([*many_files.one_by_one(action, tasks)])  # noqa: E731
    assert message(register, backwards) == found
    assert "part-" not in found


def test_what_does_not_fit_is_told_of_the_whole_table(register):
    (register / "part-4.csv").write_text(HEADER + ROW.replace("34", "SECRET"))
    (register / "part-5.csv").write_text(HEADER + ROW.replace("1.64", "SECRET"))
    (found,) = {
        message(register, run, STRICT)
        for run in (None, lambda action, tasks: reversed([*many_files.one_by_one(action, tasks)]))
    }
    assert [line.strip().split(":")[0] for line in found.splitlines()[1:-1]] == ["column 'age'", "column 'height'"]
    assert "SECRET" not in found


@pytest.mark.parametrize("when", ["before it is counted", "after it was counted", "one more", "another file counted"])
def test_a_file_that_is_written_meanwhile_is_an_error(register, when):
    part = register / "part-0.csv"

    def run(action, tasks):
        if when == "before it is counted":
            os.utime(part, ns=(1, 1))
        found = list(many_files.one_by_one(action, tasks))
        if when == "after it was counted":
            part.write_text(part.read_text() + ROW)
        if when == "one more":
            write_csv(register / "part-8.csv", PEOPLE[:1])
        if when == "another file counted":
            found.append(found[0])
        return found

    wanted = "counted twice" if when == "another file counted" else "found one that was written meanwhile"
    assert wanted in message(register, run)


def test_a_file_that_is_written_while_it_is_counted_is_an_error(register, monkeypatch):
    file = register / "part-0.csv"
    state = state_of(file)
    counted = partial(as_they_were, many_files._count_file, [file], [state], schema(), POLICY)
    assert not isinstance(counted(), str)
    batches = many_files.file_batches

    def writing(*arguments):
        yield from batches(*arguments)
        file.write_text(file.read_text() + ROW)

    monkeypatch.setattr(many_files, "file_batches", writing)
    assert counted() == many_files.CHANGED


def test_files_that_nobody_counted_are_missed(register):
    with pytest.raises(InputError, match="found some that were not"):
        count_files(Source.of(register).files, schema(), POLICY, lambda action, tasks: iter(()))


def test_a_failure_that_nobody_foresaw_is_a_text_without_a_value(register, monkeypatch):
    def fail(*_):
        raise ValueError("SECRET-7461")

    monkeypatch.setattr(many_files, "count_batches", fail)
    assert many_files.UNFORESEEN in message(register)


# --- A cluster ------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_cluster_has_the_counts_of_one_process(cluster, register):
    from synthrelease.enclave.many_files import counting_cluster

    with counting_cluster(cluster[0]) as run:
        assert counts(register, run) == counts(register.parent / "all.csv")
        (register / "part-1.csv").write_text(HEADER + ROW + "1,2\n")
        assert message(register, run) == message(register)
        assert "expected a folder, a pattern or an object store" in message(register / "part-0.csv", run)


@pytest.mark.slow
def test_a_row_is_the_same_on_a_cluster_whatever_rows_are_beside_it(cluster, tmp_path):
    """The counts of a table are the sum of those of its rows, each a file by itself (theory 1.8, reading row by row)."""
    from synthrelease.enclave.many_files import counting_cluster

    some = [*PEOPLE[::60], Person(34, None, None, None), Person(35, True, None, 1.5), Person(35, True, None, 1.5)]
    alone = Counter[tuple]()
    for number, person in enumerate(some):
        folder = tmp_path / str(number)
        folder.mkdir()
        write_parquet(folder / "one.parquet", [person], age=pa.float64() if number % 2 else pa.string())
        alone.update(counts(folder))
    table = tmp_path / "table"
    table.mkdir()
    write_parquet(table / "0.parquet", some[::2], age=pa.string())
    write_parquet(table / "1.parquet", some[1::2], age=pa.float64())
    with counting_cluster(cluster[0]) as run:
        assert counts(table, run) == alone


@pytest.mark.slow
@pytest.mark.parametrize("cluster", [{"workers": 2}], indirect=True)
def test_a_worker_that_dies_is_replaced_and_every_file_counted_once(cluster, tmp_path):
    from synthrelease.enclave.many_files import counting_cluster

    address, workers = cluster
    folder, done = tmp_path / "many", []
    folder.mkdir()
    for number in range(60):
        (folder / f"{number:02}.csv.gz").write_bytes(
            gzip.compress((HEADER + "".join(f"{(number + i) % 120},F,,1.5\n" for i in range(20_000))).encode(), 1)
        )

    with counting_cluster(address) as run:

        def killing(action, tasks):
            for result in run(action, tasks):
                done.append(result)
                if len(done) == 5:
                    workers[0].send_signal(signal.SIGKILL)
                yield result

        found = counts(folder, killing)
    assert workers[0].wait(timeout=60) == -signal.SIGKILL
    assert sorted(place for place, _ in done) == list(range(60))
    assert found == counts(folder)


@pytest.mark.slow
@pytest.mark.parametrize("cluster", [{"environment": {}}], indirect=True)
def test_workers_that_may_write_to_a_disk_are_refused(cluster):
    from synthrelease.enclave.many_files import counting_cluster

    with pytest.raises(InputError, match="expected workers that write no results to a disk"), counting_cluster(cluster[0]):
        pass


@pytest.mark.parametrize("address", ["tcp://10.0.0.5:8786", "tcp://registry.example:8786", "10.0.0.5:8786", "tcp://[::2]:1"])
def test_counts_do_not_go_over_a_network_that_everybody_can_read(address):
    pytest.importorskip("distributed", reason="needs the extra dask")
    from synthrelease.enclave.many_files import counting_cluster

    with pytest.raises(InputError, match="expected tls://, because counts of private rows"), counting_cluster(address):
        pass


def certificates(folder: Path) -> tuple[str, ...]:
    """Options of Dask's commands for a certificate that signs itself."""
    import datetime

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name, now = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "enclave")]), datetime.datetime.now(datetime.UTC)
    built = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key()).serial_number(1)
    built = built.not_valid_before(now - datetime.timedelta(1)).not_valid_after(now + datetime.timedelta(1))
    certificate = built.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True).sign(
        key, hashes.SHA256()
    )
    (folder / "certificate.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    (folder / "key.pem").write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    files = [str(folder / "certificate.pem"), str(folder / "certificate.pem"), str(folder / "key.pem")]
    return tuple(part for pair in zip(("--tls-ca-file", "--tls-cert", "--tls-key"), files, strict=True) for part in pair)


@pytest.mark.slow
@pytest.mark.parametrize("cluster", [{"tls": certificates}], indirect=True)
def test_a_cluster_with_certificates_counts_and_refuses_whoever_has_none(cluster, register, monkeypatch):
    import dask

    from synthrelease.enclave import many_files as room

    address, folder = cluster[0], register.parent
    assert address.startswith("tls://")
    names = {"ca-file": "certificate", "client.cert": "certificate", "client.key": "key"}
    tls = {f"distributed.comm.tls.{name}": str(folder / f"{file}.pem") for name, file in names.items()}
    with dask.config.set(tls), room.counting_cluster(address) as run:
        assert counts(register, run) == counts(folder / "all.csv")
    monkeypatch.setattr("synthrelease.enclave.many_files.CONNECT_SECONDS", 2)
    with pytest.raises(InputError, match="reached none within 2 s"), room.counting_cluster(address):
        pass


def test_a_store_that_does_not_tell_when_a_file_was_written_is_refused(monkeypatch):
    pytest.importorskip("fsspec", reason="needs the extra stores")
    monkeypatch.setattr("synthrelease.sources.source._STATES", ("size",))
    import fsspec

    fsspec.filesystem("memory").pipe("/one.csv", b"age\n1\n")
    with pytest.raises(InputError, match="expected an object store that tells when a file was written"):
        state_of(StoredFile("memory://one.csv"))


def test_one_file_is_read_as_before(register):
    assert sum(read(register.parent / "all.csv", schema_of("age", policy=POLICY), POLICY).values()) == 300
