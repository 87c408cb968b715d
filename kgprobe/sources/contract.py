"""The contract between a loader and the graph, and the register of loaders.

A loader is a plug-in: an entry point of the group ``kgprobe.loaders`` that names a :class:`Loader`. It reads an
outside format and knows nothing of the graph, nor of the command line, which makes its options from those of the
loader, as the library does.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

from kgprobe.options import make_options
from kgprobe.plugins import Register
from kgprobe.records import Placed

T = TypeVar("T")


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


@runtime_checkable
class ReadsGraph(Protocol):
    """A source that is itself a graph on a server: it must not be loaded into itself."""

    def reads(self, address: str, database: str | None) -> bool:
        """Whether the graph at this address, in this database of the server, is the one that is read."""
        ...


@dataclass(frozen=True, slots=True)
class Proposal(Generic[T]):
    """A file that a loader can write a first version of, for a user to look through before anything is loaded.

    Attributes:
        help: what it is, for people, a sentence.
        option: which of the loader's options names the file.
        make: gives its text; raises :class:`~kgprobe.errors.KgprobeError` for an input that cannot be read at all.
    """

    help: str
    option: str
    make: Callable[[T], str]


@dataclass(frozen=True, slots=True)
class ShownText:
    """A text that a loader shows in place of loading anything.

    Attributes:
        help: what it is, for people, a sentence.
        read: gives the text, with the line break at its end.
    """

    help: str
    read: Callable[[], str]


@dataclass(frozen=True, slots=True)
class Loader(Generic[T]):
    """What an entry point of the group ``kgprobe.loaders`` names.

    Attributes:
        summary: what it loads, with examples: the help text of ``kgprobe load NAME``.
        options: a frozen dataclass whose fields are made by :func:`kgprobe.options.option`. Their names are the
            arguments of :func:`kgprobe.api.loading.load`, so none may be one that this has of its own.
        open: makes the source; raises :class:`~kgprobe.errors.KgprobeError` for an input that cannot be read at all.
        shows: texts to look at, by name: ``kgprobe load NAME --show-TEXT`` prints one.
        proposes: a file to begin with: ``kgprobe load NAME --propose`` writes it.
    """

    summary: str
    options: type[T]
    open: Callable[[T], Source]
    shows: Mapping[str, ShownText] = field(default_factory=dict)
    proposes: Proposal[T] | None = None


LOADERS: Register[Loader[Any]] = Register("kgprobe.loaders", "loader")


def open_source(loader: str, **options: Any) -> Source:
    """An input, opened by the loader of that name.

    >>> source = open_source("table", facts="facts.tsv")
    >>> records = [placed.record for placed in source.facts()]

    Args:
        options: of the loader, by their names.

    Raises:
        UnknownNameError: there is no such loader.
        ArgumentError: the loader has no such option, needs one that is missing, or cannot take a value.
        KgprobeError: the input cannot be read at all.
    """
    chosen = LOADERS.get(loader)
    return chosen.open(make_options(chosen.options, options, f"the loader {loader}"))
