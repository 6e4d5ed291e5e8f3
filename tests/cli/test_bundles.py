"""card, verify, keygen and release --sign, through a process of their own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.test_cli import EXTRAS, HEAVY, INPUTS, left_in, loaded, run, words
from tests.helpers.cards import rich_bundle, write_files, write_rich_config
from tests.helpers.tiny import write_config, write_data

pytestmark = pytest.mark.slow

SENTENCE = "Tosses of coins."


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_files(rich_bundle(), tmp_path_factory.mktemp("released") / "bundle")


def test_verify_ends_with_0_and_says_that_nobody_signed(bundle: Path) -> None:
    result = run("verify", bundle)
    assert result.returncode == 0
    assert "The files fit together. Nobody signed the files. No commitment was given" in words(result.stdout)
    assert "Without the private file, nobody can check: - that a private file of 401 rows was counted" in words(result.stdout)


def test_the_part_that_stands_alone_says_what_was_left_out(bundle: Path) -> None:
    result = run("verify", bundle, "--no-plan", "--no-documents")
    assert result.returncode == 0
    assert "The files fit together (plan and documents not checked)." in words(result.stdout)
    assert loaded("verify", bundle, "--no-plan", "--no-documents", among=HEAVY | EXTRAS) == {"pyarrow"}


def test_a_text_of_the_files_moves_no_cursor() -> None:
    from synthrelease.cli.reading import printable

    assert printable("a\x1b[2Jb\nc \u202e d\u05d0") == "a\\x1b[2Jb\\nc \\u202e d\u05d0"


def test_verify_reads_both_tables_without_pandas_or_scipy(bundle: Path) -> None:
    """Half a second each; pyarrow imports pandas for some of its functions."""
    assert loaded("verify", bundle, among=HEAVY | EXTRAS) == {"jinja2", "pyarrow", "yaml"}


def test_verify_ends_with_5_and_names_the_file(bundle: Path, tmp_path: Path) -> None:
    files = rich_bundle()
    folder = write_files({**files, "README.md": files["README.md"].replace(b"46.66", b"1.66")}, tmp_path / "edited")
    result = run("verify", folder)
    assert result.returncode == 5
    assert "README.md: the checksum of this file is not the checksum in SHA256SUMS" in words(result.stdout.replace("│", " "))
    assert "a check of this release failed" in words(result.stderr)


def test_verify_of_a_folder_that_is_none_ends_with_2(tmp_path: Path) -> None:
    assert run("verify", tmp_path / "absent").returncode == 2


def test_a_preview_costs_nothing_and_needs_no_data(tmp_path: Path) -> None:
    config = write_rich_config(tmp_path)
    result = run("card", config, "--out", tmp_path / "preview")
    assert result.returncode == 0
    assert {"README.html", "README.he.html", "README.md"} <= left_in(tmp_path / "preview")
    assert "data.csv" not in left_in(tmp_path / "preview")
    assert "PREVIEW" in (tmp_path / "preview" / "README.html").read_text(encoding="utf-8")
    again = run("card", config, "--out", tmp_path / "preview")
    assert (again.returncode, "Nothing was overwritten" in words(again.stderr)) == (2, True)


def test_new_texts_for_a_finished_release_change_nothing_else(bundle: Path, tmp_path: Path) -> None:
    config = write_rich_config(tmp_path, {SENTENCE: "Tosses of two coins.", "published = 2026-03-04\n": ""})
    result = run("card", config, "--bundle", bundle, "--out", tmp_path / "new")
    assert result.returncode == 0, result.stderr
    old, new = (json.loads((folder / "release.json").read_text(encoding="utf-8")) for folder in (bundle, tmp_path / "new"))
    assert new["card"]["summary"] == "Tosses of two coins."
    assert new["card"]["published"] == "2026-03-04"
    assert old | {"card": None} == new | {"card": None}
    for name in ("data.csv", "data.parquet"):
        assert (bundle / name).read_bytes() == (tmp_path / "new" / name).read_bytes()
    assert run("verify", tmp_path / "new").returncode == 0


def test_new_texts_are_refused_for_another_release_or_an_edited_one(bundle: Path, tmp_path: Path) -> None:
    other = run("card", write_rich_config(tmp_path, {"threshold = 0.5": "threshold = 0.4"}), "--bundle", bundle, "--out",
                tmp_path / "new")  # fmt: skip
    assert other.returncode == 2
    assert "This configuration did not make the release" in words(other.stderr)
    files = rich_bundle()
    folder = write_files({**files, "data.csv": files["data.csv"] + b"head,1-2\n"}, tmp_path / "edited")
    assert run("card", write_rich_config(tmp_path), "--bundle", folder, "--out", tmp_path / "new").returncode == 5
    assert not (tmp_path / "new").exists()


def test_documents_that_were_lost_are_written_again(tmp_path: Path) -> None:
    sources = ("data.csv", "data.parquet", "release.json", "specification.json")
    kept = {name: content for name, content in rich_bundle().items() if name in sources}
    from tests.bundle.verify.test_verify import resealed

    folder = write_files(resealed(kept), tmp_path / "poor")
    assert run("verify", folder).returncode == 5
    assert run("card", write_rich_config(tmp_path), "--bundle", folder, "--out", tmp_path / "whole").returncode == 0
    assert left_in(tmp_path / "whole") == set(rich_bundle())


def test_a_release_is_signed_with_a_key_that_is_read_before_anything_is_spent(tmp_path: Path) -> None:
    pytest.importorskip("cryptography")
    (tmp_path / "password").write_text("sesame\n")
    key = tmp_path / "key"
    assert run("keygen", key, "--password-file", tmp_path / "password").returncode == 0
    config, data = write_config(tmp_path), write_data(tmp_path)
    refused = run("release", config, "--data", data, "--out", tmp_path / "out", "--sign", key)
    assert refused.returncode == 2
    assert "this key is encrypted. Give its password" in words(refused.stderr)
    assert left_in(tmp_path) == INPUTS | {"password", "key", "key.pub"}  # no ledger: nothing was reserved
    signed = run("release", config, "--data", data, "--out", tmp_path / "out", "--sign", key, "--password-file",
                 tmp_path / "password")  # fmt: skip
    assert signed.returncode == 0, signed.stderr
    result = run("verify", tmp_path / "out", "--public-key", f"{key}.pub")
    assert result.returncode == 0
    assert "The key that you gave signed the files" in words(result.stdout)
    assert "sesame" not in refused.stdout + refused.stderr + signed.stdout + signed.stderr


def test_what_the_card_lacks_is_a_warning_and_no_mistake(tmp_path: Path) -> None:
    config = write_config(tmp_path)
    result = run("plan", config)
    assert result.returncode == 0
    assert "The data card will say that these facts are not stated: description, card.contact, card.licence" in words(
        result.stdout
    )
    assert "card.contact" in json.loads(run("plan", config, "--json").stdout)["card_lacks"]
    assert "will lack" not in run("plan", write_rich_config(tmp_path)).stdout


def test_a_document_that_cannot_be_written_shows_up_before_anything_is_spent(tmp_path: Path) -> None:
    broken = "import synthrelease.bundle.metadata as d\ndef fail(*_):\n    raise RuntimeError('x')\nd._tree = fail"
    result = run("release", write_config(tmp_path), "--data", write_data(tmp_path), "--out", tmp_path / "out", before=broken)
    assert result.returncode == 1
    assert left_in(tmp_path) == INPUTS


def test_a_document_that_fails_after_the_release_does_not_lose_the_table(tmp_path: Path) -> None:
    """What was paid for is written in any case."""
    broken = "import synthrelease.bundle.write as f\ndef fail(*_):\n    raise RuntimeError('x')\nf.written = fail"
    result = run("release", write_config(tmp_path), "--data", write_data(tmp_path), "--out", tmp_path / "out", before=broken)
    assert result.returncode == 2
    assert "Do not run the release again" in words(result.stderr)
    assert left_in(tmp_path / "out") == {"data.csv", "data.parquet", "release.json", "specification.json", "SHA256SUMS"}
