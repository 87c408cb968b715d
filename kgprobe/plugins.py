"""Registers of what can be added by name: loaders, probes, strategies, baselines; each an entry point.

A register is the only place that knows the names: the library, the command line and the tests read it. Ours and other
people's stand in it alike; listing the names imports nothing.
"""

import difflib
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Generic, TypeVar, cast

from kgprobe.errors import UnknownNameError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Register(Generic[T]):
    """What is installed of one kind.

    Attributes:
        group: of the entry points, such as ``kgprobe.loaders``.
        kind: what messages call one of them.
    """

    group: str
    kind: str

    def names(self) -> list[str]:
        """The names of all that are installed, sorted."""
        return sorted({point.name for point in entry_points(group=self.group)})

    def get(self, name: str) -> T:
        """The one of that name, imported now.

        Raises:
            UnknownNameError: there is none; the message lists those that there are.
        """
        return cast("T", self._point(name).load())

    def __contains__(self, name: str) -> bool:
        return name in self.names()

    def _point(self, name: str) -> EntryPoint:
        for point in entry_points(group=self.group):
            if point.name == name:
                return point
        close = difflib.get_close_matches(name, self.names(), 1)
        meant = f" Did you mean {close[0]}?" if close else ""
        raise UnknownNameError(f"There is no {self.kind} {name!r}; there are: {', '.join(self.names())}.{meant}")
