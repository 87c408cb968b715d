"""Signs of life: bars and waits, drawn on a terminal, and plain lines elsewhere."""

import io
import os
import pty
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click
import pytest
from rich.console import Console

from kgprobe.answers.callbacks import Batch, Start
from kgprobe.base import progress
from kgprobe.base.progress import (
    Display,
    OnTerminal,
    hearing_shares,
    print_message,
    progress_bar,
    share_counter,
    waiting,
)
from kgprobe.cli.running import running


class Clock:
    """Seconds that pass when a test says so."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Clock:
    """The clock of whatever lasts, in a folder of the test's own."""
    monkeypatch.setenv("KGPROBE_HOME", str(tmp_path))
    clock = Clock()
    monkeypatch.setattr(progress, "DISPLAY", Display(clock))
    return clock


@pytest.fixture
def pass_time(clock: Clock, capsys: pytest.CaptureFixture[str]) -> Callable[[float], list[str]]:
    """Let some seconds pass; gives the lines that were written in them."""

    def passing(seconds: float) -> list[str]:
        clock.now += seconds
        progress.DISPLAY.print_due()
        return capsys.readouterr().err.splitlines()

    return passing


PassTime = Callable[[float], list[str]]


def test_bar_without_a_terminal_is_a_line_twice_a_minute(pass_time: PassTime) -> None:
    with progress_bar("Probing demo", 5000, "facts") as bar:
        assert pass_time(29) == []
        bar.move_to(1200, 1200)
        assert pass_time(9.7) == ["Probing demo: 1,200 of 5,000 facts, 24%, 31.0 facts/s, about 2 min left"]
        assert pass_time(29) == []
        bar.move_to(4000, 4000, "50% right")
        assert pass_time(12.3) == ["Probing demo: 4,000 of 5,000 facts, 80%, 50.0 facts/s, about 20 s left, 50% right"]
        bar.move_to(5000, 5000)
        assert pass_time(30) == ["Probing demo: 5,000 of 5,000 facts, 100%, 45.5 facts/s, in 2 min"]
    assert pass_time(60) == []


def test_end_is_estimated_from_what_was_done_now(pass_time: PassTime) -> None:
    with progress_bar("Probing demo", 5000, "facts", start=4000) as bar:
        bar.move_to(4500, 500)
        assert pass_time(50) == ["Probing demo: 4,500 of 5,000 facts, 90%, 10.0 facts/s, about 50 s left"]


def test_bar_that_ended_early_promises_no_end(pass_time: PassTime) -> None:
    with progress_bar("Probing demo", 5_000, "facts") as bar:
        pass_time(10)
        bar.move_to(500, 500)
        assert "left" in bar.text()
    assert bar.text() == "500 of 5,000 facts, 10%, 50.0 facts/s, in 10 s"


def test_length_of_something_else_is_not_counted_in_things(pass_time: PassTime) -> None:
    with progress_bar("Loading films.csv", 2_000_000, "records", counted=False) as bar:
        bar.move_to(500_000, 9_000, "entities")
        assert pass_time(30) == ["Loading films.csv: 9,000 records, 25%, 300 records/s, about 2 min left, entities"]


def test_what_is_over_soon_says_nothing_and_leaves_nothing(pass_time: PassTime, tmp_path: Path) -> None:
    with waiting("Loading demo"), progress_bar("Probing demo", 3, "facts"):
        assert pass_time(1.9) == []
    assert (pass_time(60), list(tmp_path.iterdir())) == ([], [])


def test_of_waits_the_innermost_tells_and_bars_always(pass_time: PassTime) -> None:
    with waiting("Getting ready"), progress_bar("Probing demo", 5, "facts"), waiting("Loading demo") as wait:
        wait.note = "check of the ways"
        assert pass_time(30) == [
            "Probing demo: 0 of 5 facts, 0%",
            "Loading demo: 30 s so far, check of the ways",
        ]


def test_lines_come_by_themselves(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(progress, "LINE_SECONDS", 0.01)
    written = ""
    with waiting("Reading"):
        while "Reading: 1 s so far\n" not in written:
            time.sleep(0.01)
            written += capsys.readouterr().err


def test_shares_go_on_where_the_last_stood_and_never_fall() -> None:
    heard: list[float] = []
    with hearing_shares(heard.append):
        first, second = share_counter(4, until=0.5), share_counter(0)
        for more in (1, 0, 1, 2):
            first(more)
        second(0)
        share_counter(2)(1)
        first(1)
    share_counter(2)(2)
    assert heard == [0.125, 0.25, 0.5, 0.75]


@contextmanager
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], str]]:
    """Stderr is a terminal; gives what was written to it."""
    master, slave = pty.openpty()
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("NO_COLOR", raising=False)
    with open(slave, "w", encoding="utf-8") as stream, open(master, "rb", buffering=0, closefd=True) as read:
        os.set_blocking(read.fileno(), False)
        written = b""

        def so_far() -> str:
            nonlocal written
            while (more := read.read(65536)) is not None:
                written += more
            return written.decode()

        monkeypatch.setattr(sys, "stderr", stream)
        yield so_far
        monkeypatch.undo()


def rows(written: str) -> list[str]:
    """Return what stays in the terminal's rows, without colours."""
    text = re.sub(r"\x1b\[[0-9;?]*[mhl]", "", written)
    screen, row, column = [""], 0, 0
    for part in re.findall(r"\x1b\[\d*[A-Z]|[\r\n]|[^\x1b\r\n]+", text):
        if part == "\r":
            column = 0
        elif part == "\n":
            row += 1
            screen += [""] * (row == len(screen))
        elif part.endswith("K"):
            screen[row] = ""
        elif part.endswith("A"):
            row -= int(part[2:-1] or 1)
        else:
            screen[row] = screen[row].ljust(column)[:column] + part + screen[row][column + len(part) :]
            column += len(part)
    return screen


def test_ctrl_c_is_answered_above_the_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    with terminal(monkeypatch) as so_far:
        with running("Run demo") as callbacks:
            callbacks.on_start(Start(900, 0, 3, batch=32))
            while "0 questions" not in so_far():
                time.sleep(0.01)
            # As a terminal echoes it.
            os.write(sys.stderr.fileno(), b"^C")
            import signal

            signal.raise_signal(signal.SIGINT)
            assert callbacks.should_stop()
            click.echo("From click.", err=True)
            print_message("From us.")
            print("half a ", end="", file=sys.stderr)
            print("line", file=sys.stderr)
            callbacks.on_part(16.0)
            callbacks.on_batch(Batch((), 1))
            seen = so_far()
        shown = rows(so_far())
    assert [line.rstrip() for line in shown[:5]] == [
        "900 facts can be asked; 0 of 3 rounds are done.",
        "Finishing this round; Ctrl-C again stops at once.",
        "From click.",
        "From us.",
        "half a line",
    ], seen
    assert shown[5].startswith("Run demo ━")
    assert "33%" in shown[5]
    assert max(map(len, shown)) < 80
    assert "".join(shown[6:]).strip() == ""


def test_data_on_stdout_stays_clean(monkeypatch: pytest.MonkeyPatch) -> None:
    data = io.StringIO()
    with terminal(monkeypatch) as so_far:
        monkeypatch.setattr(sys, "stdout", data)
        with progress_bar("Probing demo", 3, "facts"):
            print('{"facts": 3}')
        so_far()
    assert data.getvalue() == '{"facts": 3}\n'


def test_bar_of_another_library_is_drawn_below(monkeypatch: pytest.MonkeyPatch) -> None:
    with terminal(monkeypatch) as so_far:
        with progress_bar("Loading model", 3, "files"):
            for share in (10, 60):
                sys.stderr.write(f"\rmodel.safetensors: {share}%")
            while "model.safetensors: 60%" not in so_far():
                time.sleep(0.01)
            sys.stderr.write("\rmodel.safetensors: 100%\n")
        shown = rows(so_far())
    assert [line.rstrip() for line in shown if "model" in line][0] == "model.safetensors: 100%"  # noqa: RUF015
    assert not any("safetensors" in line and "Loading" in line for line in shown)


@pytest.mark.parametrize("width", [20, 40, 80, 200])
@pytest.mark.parametrize("title", ["P", "Run " + "x" * 90])
def test_row_leaves_room_for_what_a_terminal_echoes(title: str, width: int, clock: Clock) -> None:
    bar = progress.Task(title, clock, total=50_000, unit="questions")
    clock.now = 100
    bar.move_to(12_345, 12_345, "3 of 60 rounds, 41% right")
    wait = progress.Task(title, clock, note="checking")
    out = io.StringIO()
    console = Console(file=out, width=width, force_terminal=True, color_system=None)
    shown = OnTerminal(lambda: [bar, wait], console)
    try:
        console.print(shown.table([bar, wait]))
    finally:
        shown.close()
    lines = [line.rstrip() for line in out.getvalue().splitlines()]
    assert all(len(line) <= width - 4 for line in lines if "\x1b" not in line)
