"""Read-only interface of a graph, for look-ups of names and runs (:class:`~kgprobe.graph.client.Graph` has it)."""

from typing import Any, Protocol


class Reader(Protocol):
    """A graph that is only read."""

    @property
    def is_embedded(self) -> bool:
        """True if the server is the embedded engine."""

    def read(self, query: str, **parameters: Any) -> list[dict[str, Any]]:
        """Return all rows of a query file by name."""
