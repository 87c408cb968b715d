"""The last lines of a terminal: what lasts is drawn there, and what others write comes above it."""

import io
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol, TextIO

from kgprobe.sanitize import visible

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table
    from rich.text import Text

# Ctrl-C is echoed behind what is drawn.
_ECHO = 4
_LEAST_BAR, _MOST_BAR = 8, 40
_LEAST_TITLE = 16


class Shown(Protocol):
    """Something that has a row.

    Attributes:
        title: what it is.
    """

    title: str

    @property
    def share(self) -> float | None:
        """How much of it is done, in [0, 1]; None where nobody knows."""
        ...

    def text(self, short: bool = False) -> str:
        """How it stands, without its title."""
        ...


class OnTerminal:
    """The last lines of a terminal; all else that is written to it comes above them."""

    def __init__(self, shown: Callable[[], Sequence[Shown]], console: "Console") -> None:
        """Draw what is shown, until :meth:`close`.

        Args:
            shown: what there is to draw now, from top to bottom.
        """
        from rich.live import Live
        from rich.spinner import Spinner

        self._shown, self._console = shown, console
        self._spinner = Spinner("dots")
        self._above: list[_Above] = []
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
                self._above.append(_Above(console, stream))
                setattr(sys, name, self._above[-1])

    def keep(self, bar: Shown) -> None:
        """Leave a bar that is over where it is; the rest is drawn below."""
        self._console.print(self.row(bar))

    def close(self) -> None:
        """Draw no more, and give the terminal's streams back."""
        for name, stream in (("stderr", self._streams), ("stdout", self._out)):
            proxy = getattr(sys, name)
            # Somebody else may have put theirs there in the meantime.
            if stream is not None and isinstance(proxy, _Above):
                proxy.end()
                setattr(sys, name, stream)
        self._live.stop()

    def _draw(self) -> "RenderableType":
        from rich.console import Group

        rows = [self.row(shown) for shown in self._shown()]
        return Group(*rows, *[stream.half_line(self._console.width - _ECHO) for stream in self._above if stream.half])

    def row(self, shown: Shown) -> "Table":
        """A row, narrower than the terminal."""
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        room = max(self._console.width - _ECHO, 2 * _LEAST_TITLE)
        told, title = (
            Text(visible(text), no_wrap=True, overflow="ellipsis") for text in (shown.text(short=True), shown.title)
        )
        row = Table.grid(padding=(0, 1, 0, 0))
        if shown.share is not None:
            title.truncate(max(room - told.cell_len - _LEAST_BAR - 3, _LEAST_TITLE), overflow="ellipsis")
            width = min(room - told.cell_len - title.cell_len - 3, _MOST_BAR)
            bar = [ProgressBar(1.0, shown.share, width=width)] if width >= _LEAST_BAR else []
            told.truncate(room - title.cell_len - (width + 3 if bar else 2), overflow="ellipsis")
            row.add_row(title, *bar, told)
        else:
            title.truncate(max(room - told.cell_len - 4, _LEAST_TITLE), overflow="ellipsis")
            told.truncate(room - title.cell_len - 4, overflow="ellipsis")
            row.add_row(self._spinner, title, told)
        return row


def _is_terminal(stream: TextIO) -> bool:
    try:
        return stream.isatty()
    except ValueError:
        return False


class _Above(io.TextIOBase):
    """A terminal's stream whose lines come above what is drawn.

    Half a line waits for its rest, or for the end, and is drawn below meanwhile: bars of other libraries are such.
    """

    def __init__(self, console: "Console", stream: TextIO) -> None:
        self._console, self._stream = console, stream
        self.half = ""

    # click looks for these two; without them it would find the terminal itself, and write on what is drawn.
    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._stream.encoding or "utf-8"

    @property
    def errors(self) -> str:  # type: ignore[override]
        return self._stream.errors or "strict"

    @property
    def rich_proxied_file(self) -> TextIO:
        """The stream itself, for consoles of rich."""
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
        # What begins at the left again takes the place of what stood there.
        self.half = half.rstrip("\r").rpartition("\r")[2]
        for line in lines:
            self._print(line.rstrip("\r").rpartition("\r")[2])
        return len(text)

    def half_line(self, width: int) -> "Text":
        """What has no end of line yet, no wider than so many columns."""
        from rich.text import Text

        line = Text.from_ansi(self.half, no_wrap=True)
        line.truncate(width, overflow="ellipsis")
        return line

    def end(self) -> None:
        """Write what has no end of line."""
        if self.half:
            self._print(self.half)
            self.half = ""

    def _print(self, line: str) -> None:
        from rich.text import Text

        self._console.print(Text.from_ansi(line), soft_wrap=True)
