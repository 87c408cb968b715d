"""Draw progress in the last lines of a terminal; all other output appears above it."""

import io
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol, TextIO

from kgprobe.sanitize import visible

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table
    from rich.text import Text

# Columns left free for the echo of Ctrl-C.
_ECHO = 4
_LEAST_BAR, _MOST_BAR = 8, 40
_LEAST_TITLE = 16


class ProgressRow(Protocol):
    """A task whose progress is drawn in a row.

    Attributes:
        title: name of the task.
    """

    title: str

    @property
    def share(self) -> float | None:
        """Completed share in [0, 1]; None if unknown."""
        ...

    def text(self, short: bool = False) -> str:
        """Return the state as text, without the title."""
        ...


class OnTerminal:
    """Progress rows in the last lines of a terminal."""

    def __init__(self, rows: Callable[[], Sequence[ProgressRow]], console: "Console") -> None:
        """Draw rows until :meth:`close`.

        Args:
            rows: returns the tasks to draw now, from top to bottom.
        """
        from rich.live import Live
        from rich.spinner import Spinner

        self._rows, self._console = rows, console
        self._spinner = Spinner("dots")
        self._above: list[_StreamAbove] = []
        self._live: Live = Live(
            get_renderable=self._draw,
            console=console,
            refresh_per_second=5,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._streams: TextIO = sys.stderr
        self._out: TextIO | None = sys.stdout if _is_terminal(sys.stdout) else None
        self._live.start()
        for name, stream in (("stderr", self._streams), ("stdout", self._out)):
            if stream is not None:
                self._above.append(_StreamAbove(console, stream))
                setattr(sys, name, self._above[-1])

    def keep(self, bar: ProgressRow) -> None:
        """Print a finished bar above the rows."""
        self._console.print(self.row(bar))

    def close(self) -> None:
        """Stop drawing, and restore the terminal's streams."""
        for name, stream in (("stderr", self._streams), ("stdout", self._out)):
            proxy = getattr(sys, name)
            # Other code may have replaced the stream in the meantime.
            if stream is not None and isinstance(proxy, _StreamAbove):
                proxy.end()
                setattr(sys, name, stream)
        self._live.stop()

    def _draw(self) -> "RenderableType":
        from rich.console import Group

        width = self._console.width - _ECHO
        half_lines = [stream.half_line(width) for stream in self._above if stream.half]
        return Group(*map(self.row, self._rows()), *half_lines)

    def row(self, task: ProgressRow) -> "Table":
        """Return the row of a task, narrower than the terminal."""
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        room = max(self._console.width - _ECHO, 2 * _LEAST_TITLE)
        state = Text(visible(task.text(short=True)), no_wrap=True, overflow="ellipsis")
        title = Text(visible(task.title), no_wrap=True, overflow="ellipsis")
        row = Table.grid(padding=(0, 1, 0, 0))
        if task.share is None:
            title.truncate(max(room - state.cell_len - 4, _LEAST_TITLE), overflow="ellipsis")
            state.truncate(room - title.cell_len - 4, overflow="ellipsis")
            row.add_row(self._spinner, title, state)
            return row
        title.truncate(max(room - state.cell_len - _LEAST_BAR - 3, _LEAST_TITLE), overflow="ellipsis")
        width = min(room - state.cell_len - title.cell_len - 3, _MOST_BAR)
        bar = [ProgressBar(1.0, task.share, width=width)] if width >= _LEAST_BAR else []
        state.truncate(room - title.cell_len - (width + 3 if bar else 2), overflow="ellipsis")
        row.add_row(title, *bar, state)
        return row


def _is_terminal(stream: TextIO) -> bool:
    try:
        return stream.isatty()
    except ValueError:
        return False


class _StreamAbove(io.TextIOBase):
    """A terminal's stream whose lines are printed above the rows.

    An unfinished line, such as the bar of another library, is drawn below the rows until it ends.
    """

    def __init__(self, console: "Console", stream: TextIO) -> None:
        self._console, self._stream = console, stream
        self.half = ""

    # Without these two, click would write to the terminal itself, over the rows.
    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._stream.encoding or "utf-8"

    @property
    def errors(self) -> str:  # type: ignore[override]
        return self._stream.errors or "strict"

    @property
    def rich_proxied_file(self) -> TextIO:
        """Original stream, for consoles of rich."""
        return self._stream

    def isatty(self) -> bool:
        return self._stream.isatty()

    def fileno(self) -> int:
        return self._stream.fileno()

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError(f"write() takes text, not {type(text).__name__}")
        *lines, half = (self.half + text).split("\n")
        # A carriage return overwrites the line.
        self.half = half.rstrip("\r").rpartition("\r")[2]
        for line in lines:
            self._print(line.rstrip("\r").rpartition("\r")[2])
        return len(text)

    def half_line(self, width: int) -> "Text":
        """Return the unfinished line, truncated to a number of columns."""
        from rich.text import Text

        line = Text.from_ansi(self.half, no_wrap=True)
        line.truncate(width, overflow="ellipsis")
        return line

    def end(self) -> None:
        """Print the unfinished line."""
        if self.half:
            self._print(self.half)
            self.half = ""

    def _print(self, line: str) -> None:
        from rich.text import Text

        self._console.print(Text.from_ansi(line), soft_wrap=True)
