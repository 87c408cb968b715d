"""All stored results read together: which were made from which, their models and graphs, and what a deletion takes."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from kgprobe.api.kind_names import MEASUREMENT, RUN
from kgprobe.api.kinds import KINDS, Description, Found, Kind, run_name
from kgprobe.base.errors import KgprobeError
from kgprobe.base.files import folder_size
from kgprobe.base.sanitize import counted
from kgprobe.graph.state import graph_name
from kgprobe.models.spec_forms import model_names
from kgprobe.results.listing import size_text

# Characters of a graph's id.
_UID = 4


class Shelf:
    """All stored results with what their files say, read once.

    Attributes:
        entries: readable results, by kind and name.
        faults: kind and message of each unreadable one.
        parts: folders of the measurements that belong to a label table or a study.
    """

    def __init__(self) -> None:
        self.faults: list[tuple[Kind, str]] = []
        self._entries: dict[Path, Found] = {}
        self._described: dict[Path, Description] = {}
        for entry in chain.from_iterable(map(stored_folders, KINDS.values())):
            self._add(entry)
        self.entries = list(self._entries.values())
        parts = chain.from_iterable(self.parts_of(entry.folder) for entry in self.entries)
        self.parts = frozenset(part.folder for part in parts)
        specs = list(dict.fromkeys(chain.from_iterable(described.models for described in self._described.values())))
        self._models = dict(zip(specs, model_names(specs), strict=True))
        self._names: dict[str, str] = {}
        for described in self._described.values():
            self._names |= map(graph_name, described.graphs)
        self._common = Counter(self._names.values())

    def _add(self, entry: Found) -> None:
        try:
            if entry.kind.has(entry.folder):
                self._described[entry.folder.resolve()] = entry.kind.describe(entry.folder)
                self._entries[entry.folder.resolve()] = entry
        except (KgprobeError, OSError) as error:
            self.faults.append((entry.kind, f"{entry.folder} cannot be read: {error}"))

    def of(self, folder: Path) -> Description:
        """Return what the files of a result say."""
        return self._described.get(folder.resolve(), Description(""))

    def parts_of(self, folder: Path) -> list[Found]:
        """Return the stored measurements that are a part of a result."""
        entry = self._entries.get(folder.resolve())
        if entry is None or not entry.kind.has_parts:
            return []
        used = [self._entries.get(path) for path in self._used_by(folder)]
        return [part for part in used if part is not None and part.kind.name == MEASUREMENT]

    def users_of(self, folder: Path) -> list[Found]:
        """Return the results that were made from one."""
        return [entry for entry in self.entries if folder.resolve() in self._used_by(entry.folder)]

    def user_folders(self, folder: Path) -> set[Path]:
        """Return the folders of the results that were made from one."""
        return {entry.folder.resolve() for entry in self.users_of(folder)}

    def models_of(self, folder: Path) -> list[str]:
        """Return the short names of a result's models, or of those that it was made from."""
        return self._own_or_used(folder, lambda described: [self._models[spec] for spec in described.models])

    def graphs_of(self, folder: Path) -> list[str]:
        """Return the names of a result's graphs, or of those that it was made from."""
        return self._own_or_used(folder, lambda described: list(map(self.called, described.graphs)))

    def called(self, state: str) -> str:
        """Return the sources of a graph, with the beginning of its id where several graphs have them."""
        uid, name = graph_name(state)
        return f"{name} ({uid[:_UID]})" if name and self._common[name] > 1 else name

    def _used_by(self, folder: Path) -> dict[Path, None]:
        return dict.fromkeys(path.resolve() for path in self.of(folder).uses)

    def _own_or_used(self, folder: Path, values: Callable[[Description], list[str]]) -> list[str]:
        """Return values of a result; without any, those of the results that it was made from."""
        own = values(self.of(folder)) or chain.from_iterable(values(self.of(used)) for used in self._used_by(folder))
        return list(dict.fromkeys(filter(None, own)))


def stored_folders(kind: Kind) -> Iterator[Found]:
    """Yield the folders of a kind below kgprobe's own, by name."""
    for folder in sorted(kind.place.glob("*")):
        if folder.is_dir() and not folder.name.endswith(".part"):
            yield Found(kind, name_of(kind, folder), folder)


def name_of(kind: Kind, folder: Path) -> str:
    """Return the name of a result from its folder."""
    return run_name(folder) if kind.name == RUN else folder.name


@dataclass(frozen=True, slots=True)
class Deletion:
    """A result to delete.

    Attributes:
        parts: its measurements, which no other result uses.
        users: results that were made from it, and stay.
    """

    entry: Found
    parts: Sequence[Found]
    users: Sequence[Found]

    @property
    def with_parts(self) -> str:
        """The number of its measurements, as the end of a phrase; empty without any."""
        return f" with its {counted(len(self.parts), 'measurement')}" if self.parts else ""

    def lines(self) -> Iterator[str]:
        """Yield the folder with its size, and the results that were made from it."""
        size = sum(folder_size(entry.folder) for entry in (self.entry, *self.parts))
        yield f"{self.entry}{self.with_parts}: {self.entry.folder.resolve()}, {size_text(size)}"
        if self.users:
            yield f"  Made from it: {', '.join(map(str, self.users))}. They stay, and need it to be made again."


def plan_deletions(entries: Sequence[Found]) -> list[Deletion]:
    """Return what is deleted with results, and which results were made from them.

    Cost: reading the summary files of all stored results.
    """
    shelf, deleted = Shelf(), {entry.folder.resolve() for entry in entries}
    deletions = []
    for entry in entries:
        parts = [part for part in shelf.parts_of(entry.folder) if deleted.issuperset(shelf.user_folders(part.folder))]
        users = [user for user in shelf.users_of(entry.folder) if user.folder.resolve() not in deleted]
        deletions.append(Deletion(entry, parts, users))
    return deletions
