"""The contract between a loader and the graph, and the register of loaders.

A loader is a plug-in: an entry point of the group ``kgprobe.loaders`` that refers to a :class:`Loader`. It reads an
external format and depends neither on the graph nor on the command line. Command line and library derive their options
from the loader's.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

from kgprobe.base.options import make_options
from kgprobe.base.plugins import Register
from kgprobe.base.records import Placed

T = TypeVar("T")


class Source(Protocol):
    """One input, opened by a loader: three streams, each of which can be restarted any number of times.

    Every stream yields records, and :class:`~kgprobe.base.records.Rejected` in place of unreadable records. The same
    input gives the same stream, so that an interrupted load continues by skipping the records that it has loaded.
    """

    @property
    def name(self) -> str:
        """Name of the input, shown in messages and stored as ``source`` in the graph."""
        ...

    @property
    def fingerprint(self) -> str:
        """Text that changes when the input or an option that filters it changes."""
        ...

    @property
    def partial(self) -> bool:
        """True if a filter leaves out entities; their facts are left out and counted, not reported as rejected."""
        ...

    @property
    def total(self) -> int:
        """Size of all three streams together, in bytes of input."""
        ...

    @property
    def done(self) -> int:
        """Part of ``total`` that has been read."""
        ...

    def relations(self) -> Iterator[Placed]:
        """Yield the relations, if the format has any."""
        ...

    def entities(self) -> Iterator[Placed]:
        """Yield the entities."""
        ...

    def facts(self) -> Iterator[Placed]:
        """Yield the facts; their subjects and objects are entities of this or an earlier load."""
        ...


@runtime_checkable
class CountsNotLoaded(Protocol):
    """A source that counts the statements that it does not load."""

    @property
    def not_loaded(self) -> Mapping[str, int]:
        """Numbers of statements that the latest reading of the facts has left out, by kind."""
        ...


@runtime_checkable
class HasLanguages(Protocol):
    """A source whose names are in chosen languages."""

    @property
    def languages(self) -> Sequence[str]:
        """Codes of the languages of the labels; with several, records have texts in each of them."""
        ...


def languages_of(source: Source) -> list[str]:
    """Return the codes of the languages of a source's labels; empty if it has none."""
    return list(source.languages) if isinstance(source, HasLanguages) else []


def not_loaded_of(source: Source) -> Mapping[str, int]:
    """Return the numbers of statements that a source has not loaded, by kind."""
    return dict(source.not_loaded) if isinstance(source, CountsNotLoaded) else {}


@runtime_checkable
class CountsFolded(Protocol):
    """A source that makes ids of names: it makes these plain itself, see :func:`~kgprobe.sources.values.plain_name`."""

    @property
    def folded(self) -> int:
        """Number of different names that it has changed."""
        ...


def folded_by(source: Source) -> int:
    """Return the number of names that a source itself has folded."""
    return source.folded if isinstance(source, CountsFolded) else 0


@runtime_checkable
class ReadsGraph(Protocol):
    """A source that is a graph on a server, which must not be loaded into itself."""

    def reads(self, address: str, database: str | None) -> bool:
        """Return True if the source reads the graph in this database at this address."""
        ...


@dataclass(frozen=True, slots=True)
class Proposal(Generic[T]):
    """A draft of a file that a loader writes for the user to edit before loading.

    Attributes:
        help: help text, a sentence.
        option: the loader's option for the file.
        make: returns the draft; raises :class:`~kgprobe.base.errors.KgprobeError` if the input cannot be read.
    """

    help: str
    option: str
    make: Callable[[T], str]


@dataclass(frozen=True, slots=True)
class ShownText:
    """A text that a loader can show instead of loading.

    Attributes:
        help: help text, a sentence.
        read: returns the text, with a line break at its end.
    """

    help: str
    read: Callable[[], str]


@dataclass(frozen=True, slots=True)
class Loader(Generic[T]):
    """A loader; entry points of the group ``kgprobe.loaders`` refer to one.

    Attributes:
        summary: help text of ``kgprobe load NAME``, with examples.
        options: a frozen dataclass with fields from :func:`kgprobe.base.options.option`. Their names become arguments
            of :func:`kgprobe.api.loading.load`, and must differ from its own arguments.
        open: opens the source; raises :class:`~kgprobe.base.errors.KgprobeError` if the input cannot be read.
        shows: texts by name; ``kgprobe load NAME --show-TEXT`` prints one.
        proposes: draft of a file; ``kgprobe load NAME --propose`` writes it.
    """

    summary: str
    options: type[T]
    open: Callable[[T], Source]
    shows: Mapping[str, ShownText] = field(default_factory=dict)
    proposes: Proposal[T] | None = None


LOADERS: Register[Loader[Any]] = Register("kgprobe.loaders", "loader")


def open_source(loader: str, **options: Any) -> Source:
    """Open an input with a loader.

    >>> source = open_source("table", facts="facts.tsv")
    >>> records = [placed.record for placed in source.facts()]

    Args:
        options: the loader's options, by name.

    Raises:
        UnknownNameError: the loader is unknown.
        ArgumentError: an option is unknown or missing, or a value is not allowed.
        KgprobeError: the input cannot be read.
    """
    kind = LOADERS.get(loader)
    return kind.open(make_options(kind.options, options, f"the loader {loader}"))
