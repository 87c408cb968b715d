"""The contract between a loader and the graph, and the register of loaders.

A loader is a plug-in: an entry point of the group ``kgprobe.loaders`` that names a :class:`Loader`. It reads an
outside format and knows nothing of the graph; ``kgprobe load NAME`` takes its options from it.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Protocol

import click

from kgprobe.errors import UnknownNameError
from kgprobe.records import Placed

GROUP = "kgprobe.loaders"


class Source(Protocol):
    """One input, opened by a loader: three streams, each of which can be started anew any number of times.

    Every stream yields records and, in their place, :class:`~kgprobe.records.Rejected` for what could not be read.
    The same input gives the same stream, so that an interrupted load goes on by skipping what it has done.

    Attributes:
        name: what the user would call it, shown in messages and kept as ``source`` in the graph.
        fingerprint: changes when the input or an option that filters it changes.
        partial: whether facts may name objects that are deliberately not among the entities (a filter left them out);
            such facts are left out and counted, not reported as bad records.
        total: the work that all three streams make together, in bytes of input.
        done: how much of ``total`` has been read so far.
    """

    @property
    def name(self) -> str:
        """What the user would call it."""
        ...

    @property
    def fingerprint(self) -> str:
        """Changes when the input or an option that filters it changes."""
        ...

    @property
    def partial(self) -> bool:
        """Whether facts may name objects that are deliberately not among the entities."""
        ...

    @property
    def total(self) -> int:
        """The work that all three streams make together, in bytes of input."""
        ...

    @property
    def done(self) -> int:
        """How much of ``total`` has been read so far."""
        ...

    def relations(self) -> Iterator[Placed]:
        """The relations, if the format has any."""
        ...

    def entities(self) -> Iterator[Placed]:
        """The entities."""
        ...

    def facts(self) -> Iterator[Placed]:
        """The facts; their subjects and objects are among the entities of this or an earlier load."""
        ...


@dataclass(frozen=True, slots=True)
class Loader:
    """What an entry point of the group ``kgprobe.loaders`` names.

    Attributes:
        summary: the help text of ``kgprobe load NAME``.
        parameters: click arguments and options; their values are passed to ``open`` by name.
        open: makes the source; raises :class:`~kgprobe.errors.KgprobeError` for an input that cannot be read at all.
    """

    summary: str
    parameters: Sequence[click.Parameter]
    open: Callable[..., Source]


def loader_names() -> list[str]:
    """The names of all installed loaders, sorted; nothing is imported."""
    return sorted(point.name for point in entry_points(group=GROUP))


def get_loader(name: str) -> Loader:
    """The installed loader of that name.

    Raises:
        UnknownNameError: there is none.
    """
    for point in entry_points(group=GROUP):
        if point.name == name:
            loader: Loader = point.load()
            return loader
    raise UnknownNameError(f"There is no loader {name!r}; installed: {', '.join(loader_names())}.")
