"""What others wrote, on its way out: visible, and no formula."""

import csv
import io

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kgprobe.base.errors import ArgumentError, KgprobeError
from kgprobe.base.progress import print_message
from kgprobe.base.sanitize import spreadsheet_cell, visible
from kgprobe.results.rendering.rows import write_csv

HOSTILE = "\x1b[2J\x9b31m\u202eevil\ud800\r\x07"
STEERS = set(map(chr, [*range(32), *range(127, 160), *range(0x202A, 0x202F), *range(0x2066, 0x206A), 0xD800]))


@given(text=st.text(st.characters()))
@example(text=HOSTILE)
def test_nothing_of_a_visible_text_steers_a_terminal(text: str) -> None:
    assert not STEERS & set(visible(text))
    visible(text).encode()
    assert visible(visible(text)) == visible(text)


def test_messages_of_errors_are_visible_and_keep_their_lines() -> None:
    for error in (KgprobeError(f"one\n{HOSTILE}"), ArgumentError("facts", f"is\n{HOSTILE}")):
        assert str(error).splitlines()[1] == "\\x1b[2J\\x9b31m\\u202eevil\\ud800\\r\\x07"


def test_what_is_told_is_visible(capsys: pytest.CaptureFixture[str]) -> None:
    print_message(HOSTILE)
    assert "\\x1b[2J" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["=1+1", "+cmd|' /C calc'!A0", "-1+cmd", "@SUM(A1)", "\tx", "\r=1", "-"])
def test_formulas_are_quoted(text: str) -> None:
    assert spreadsheet_cell(text) == f"'{text}"
    out = io.StringIO(newline="")
    write_csv(["=name"], [{"=name": text}], out)
    (_, *cells) = csv.reader(io.StringIO(out.getvalue().replace("\r", "\t"), newline=""))
    assert cells == [["'" + text.replace("\r", "\t")]]


@pytest.mark.parametrize("value", ["Paris", "-0044-03-15", "-3.5", "+7", -3.5, None, "a=b", ""])
def test_what_is_no_formula_stays(value: object) -> None:
    assert spreadsheet_cell(value) == value


def test_csv_on_a_terminal_is_visible() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    out = Terminal()
    write_csv([HOSTILE], [{HOSTILE: HOSTILE}], out)
    assert not STEERS - {"\n"} & set(out.getvalue())
