"""Hidden characters are shown as codes wherever a text is shown, and texts that look alike are told apart."""

from __future__ import annotations

import sys
import tomllib
import unicodedata
from pathlib import Path

import pytest
from typer.testing import CliRunner

from synthrelease.cli import app
from synthrelease.cli.terminal import _Terminal
from synthrelease.data.texts import alike, visible
from synthrelease.resources import templates
from tests.helpers.tiny import write_config

TURNED, COMPOSED, APART = "na\u202eme", "caf\u00e9", "cafe\u0301"
JOINERS = "\u200c\u200d"


def test_what_is_shown_has_no_control_and_no_format_character_but_joiners() -> None:
    """Of all characters of Unicode: signs of Arabic numbers, of shorthand and of music are format characters, too; one sees
    them, or they only stand among their own."""
    shown = [chr(code) for code in range(sys.maxunicode + 1) if visible(chr(code)) == chr(code)]
    left = {sign for sign in shown if unicodedata.category(sign) in ("Cc", "Cf", "Zl", "Zp")}
    seen = {sign for sign in left if ord(sign) in {*range(0x600, 0x606), 0x6DD, 0x70F, 0x8E2, 0x890, 0x891, 0x110BD, 0x110CD}}
    of_scripts = {sign for sign in left if 0x13430 <= ord(sign) <= 0x1343F or 0x1BCA0 <= ord(sign) <= 0x1D17A}
    assert left - seen - of_scripts == {"\n", "\t", *JOINERS}
    assert not any(chr(code).isidentifier() for code in range(sys.maxunicode + 1) if visible(chr(code)) != chr(code))
    assert visible(TURNED) == "na\\u202eme"


def test_every_text_on_the_terminal_and_every_template_shows_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _Terminal(stderr=False).print(f"{TURNED} a\u200bge", COMPOSED)
    assert capsys.readouterr().out == f"na\\u202eme a\\u200bge {COMPOSED}\n"
    for name in ("page.html", "SIGN.md"):
        (tmp_path / name).write_text("{{ name }}, {{ name | upper }}")
        shown = templates(tmp_path, str(tmp_path / name)).get_template(name).render(name=TURNED)
        assert shown == "na\\u202eme, NA\\u202eME"


def test_texts_look_alike_by_accents_and_by_what_nobody_sees() -> None:
    assert alike([COMPOSED, "the", APART, "th\u200be"]) == [(COMPOSED, APART), ("the", "th\u200be")]
    assert alike(["a", "A", "\u0430"]) == []  # capitals and other alphabets are other letters


@pytest.mark.parametrize("command", ["plan", "check"])
def test_two_categories_that_look_the_same_are_named(command: str, tmp_path: Path) -> None:
    config = write_config(tmp_path)
    text = config.read_text().replace(
        'categories = ["head", "tail"]', f'categories = ["head", "tail", "{COMPOSED}", "{APART}"]'
    )
    config.write_text(text, encoding="utf-8")
    shown = " ".join(CliRunner().invoke(app, [command, str(config)]).output.split())
    assert "Different categories of 'face' look the same: 'caf\\xe9' and 'cafe\\u0301'." in shown
    config.write_text(text.replace(f'"{COMPOSED}", "{APART}"', f'"{COMPOSED}"'), encoding="utf-8")
    assert "look the same" not in CliRunner().invoke(app, [command, str(config)]).output


def test_a_draft_has_one_category_for_both_ways_to_write_a_letter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a public rule for each row alone; and a name in the file that hides a character is shown with its code."""
    monkeypatch.chdir(tmp_path)
    rows = [f"{20 + row % 50},{(COMPOSED, APART, 'tea')[row % 3]},{'xy'[row % 2]}" for row in range(600)]
    (tmp_path / "public.csv").write_text("\n".join([f"a\u200bge,drink,{TURNED}", *rows]), encoding="utf-8")
    run = CliRunner().invoke(app, ["init", "drinks", "--from", "public.csv"])
    assert run.exit_code == 0, run.output
    assert "\u200b" not in run.output
    assert "\u202e" not in run.output
    assert "na\\u202eme" in run.output
    draft = (tmp_path / "configs" / "drinks.toml").read_text(encoding="utf-8")
    ((_, texts),) = [each for each in tomllib.loads(draft)["columns"]["drink"]["categories"].items() if len(each[1]) > 1]
    assert set(texts) == {COMPOSED, APART}
    assert APART not in draft  # written with the code of its accent
