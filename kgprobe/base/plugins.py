"""Registers of plug-ins (loaders, probes, strategies, baselines), which are entry points.

A register is the only place that knows the names: the library, the command line and the tests read it. It contains
built-in and third-party plug-ins alike. Listing the names imports nothing.
"""

from dataclasses import dataclass
from importlib.metadata import entry_points
from operator import attrgetter
from typing import Generic, TypeVar, cast

from kgprobe.base.errors import UnknownNameError, expected_one_of

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Register(Generic[T]):
    """The installed plug-ins of one kind.

    Attributes:
        group: group of the entry points, such as ``kgprobe.loaders``.
        kind: noun for one of them in messages.
    """

    group: str
    kind: str

    def names(self) -> list[str]:
        """Return the names of all installed plug-ins, sorted."""
        return sorted(set(map(attrgetter("name"), entry_points(group=self.group))))

    def get(self, name: str) -> T:
        """Import and return a plug-in."""
        points = {point.name: point for point in entry_points(group=self.group)}
        if name in points:
            return cast("T", points[name].load())
        raise UnknownNameError(f"Unknown {self.kind} {name!r}; {expected_one_of(name, sorted(points))}.")

    def __contains__(self, name: str) -> bool:
        return name in self.names()
