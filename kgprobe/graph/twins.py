"""Twins of facts: parallel relationships that have the type of a relation, see :mod:`kgprobe.graph.types`.

Who writes facts, or beliefs onto them, updates their twins in the same transaction, so that both are always equal. In
a graph without twins, this is one look-up.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from kgprobe.graph.client import Row, Transaction


class TwinTypes(NamedTuple):
    """Types of twins.

    Attributes:
        of: type by id of the relation; empty while twins are being removed.
    """

    of: Mapping[str, str]
    all: Sequence[str]


def twin_types(read: Callable[[str], list["Row"]]) -> TwinTypes | None:
    """Return the types of twins; None for a graph without twins."""
    rows = read("twins/types")
    if not rows:
        return None
    relations, types = rows[0]["relations"], rows[0]["types"]
    return TwinTypes(dict(zip(relations, types, strict=False)), types)


def write_twins(transaction: "Transaction", rows: Sequence["Row"]) -> None:
    """Write the twins of facts again that were written in this transaction, if the graph has twins.

    Types are read after the facts are written: either these are there when another process adds twins to all facts,
    or this transaction adds their twins.

    Args:
        rows: ``{subject, facts: {id: any value}}``, each subject once.
    """
    types = twin_types(transaction.run)
    if types is not None:
        transaction.run(
            "twins/write",
            types=types.of,
            rows=[{"subject": row["subject"], "facts": dict.fromkeys(row["facts"], True)} for row in rows],
        )


def drop_twins(transaction: "Transaction", rows: Sequence["Row"]) -> None:
    """Delete the twins of facts that get another object or relation, if the graph has twins."""
    types = twin_types(transaction.run) if rows else None
    if types is not None:
        transaction.run("twins/drop", types=types.all, rows=rows)


def clear_twins(transaction: "Transaction", start: int, end: int) -> None:
    """Remove the beliefs from the twins of facts whose subjects have some numbers, if the graph has twins."""
    types = twin_types(transaction.run)
    if types is not None:
        transaction.run("twins/clear_view", types=types.all, **{"from": start, "to": end})
