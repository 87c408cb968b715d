"""A graph with all that kgprobe keeps in it, into another one, of whatever engine; resumable, and verified."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice

from kgprobe.errors import ArgumentError, KgprobeError
from kgprobe.graph.client import Graph, Row, Transaction
from kgprobe.graph.digest import Digest, digest_of
from kgprobe.graph.messages import MESSAGE_BYTES, encoded_bytes
from kgprobe.graph.schema import apply_schema
from kgprobe.graph.state import graph_state

_STAGES = ("nodes", "relationships")
# Labels of a node, and what writes such nodes.
_NODES: dict[tuple[str, ...], str] = {
    **{(label,): f"copy/{label.lower()}" for label in ("Entity", "Relation", "Run", "Belief")},
    **{(label,): f"copy/{label.lower()}" for label in ("Effect", "Load", "Sweep", "Counter")},
    ("Entity", "Type"): "copy/type",
    ("Entity", "Literal"): "copy/literal",
    ("Entity", "Literal", "Type"): "copy/literal_type",
}
_RELATIONSHIPS = ("FACT", "INSTANCE_OF", "OBJECT_OF", "JUDGED", "KNOWN", "UNSURE", "UNKNOWN", "LEARNED", "FORGOT")

# A transaction ends at whichever comes first.
_AT_ONCE = 5_000
_BYTES_AT_ONCE = MESSAGE_BYTES // 2


@dataclass(frozen=True, slots=True)
class Copied:
    """What a copy came to.

    Attributes:
        digest: of both graphs, which is the same; it counts what was left out.
        resumed: whether an interrupted copy went on.
        was_there: whether the target was a copy already, so that nothing was written.
    """

    digest: Digest
    resumed: bool
    was_there: bool


def copy_graph(
    graph: Graph, target: Graph, on_progress: Callable[[str, int, int], None] = lambda stage, done, total: None
) -> Copied:
    """Write all that a graph holds into an empty one, and see that both hold the same.

    >>> with kgprobe.open_graph("copy", engine="neo4j") as target:
    ...     kgprobe.copy_graph(graph, target).was_there
    False

    Entities, relations, facts, types, runs, beliefs, effects, judged graphs, what is painted, and what loads remember.
    Anything else, such as relationships that an older version of kgprobe wrote, is left out and counted. The copy goes
    on where it was interrupted, and is refused where the target holds anything else.

    Cost: five walks through the graph: one to copy, two of each graph to compare. Memory: some thousand records.

    Args:
        on_progress: called with the stage, how much of all the work is done, and how much that is.

    Raises:
        ArgumentError: the target holds another graph.
        KgprobeError: the graphs differ in the end: one of them was written to meanwhile.
    """
    of = graph_state(graph)
    counts = graph.read("copy/counts")[0]
    size = counts["nodes"] + counts["relationships"]
    done = 0

    def tell(stage: str, more: int) -> None:
        nonlocal done
        done += more
        on_progress(stage, done, 3 * size)

    begun = target.read("copy/begun")
    resumed, was_there = bool(begun), False
    if begun and begun[0]["of"] != of:
        raise ArgumentError("to", "holds a copy of another graph, or of this one before it changed; begin in another.")
    there = target.read("copy/counts")[0]
    if not begun and there["nodes"]:
        was_there = True
    if not was_there:
        if not begun:
            apply_schema(target)
        stage, position = (begun[0]["stage"], begun[0]["position"]) if begun else ("nodes", 0)
        for each in _STAGES[_STAGES.index(stage) :]:
            _copy(graph, target, each, position if each == stage else 0, of, partial(tell, each))
    seen = digest_of(graph, partial(tell, "verifying"), _is_known)
    differences = seen.differences(digest_of(target, partial(tell, "verifying")))
    if differences and was_there:
        raise ArgumentError("to", "holds another graph already; begin in an empty one. " + _first(differences))
    if differences:
        raise KgprobeError("The copy is not what the graph is; was it written to meanwhile? " + _first(differences))
    target.write("copy/finish")
    return Copied(seen, resumed, was_there)


def _first(differences: list[str]) -> str:
    return "; ".join(differences[:5]) + "."


def _copy(graph: Graph, target: Graph, stage: str, position: int, of: str, tell: Callable[[int], None]) -> None:
    write = _write_nodes if stage == "nodes" else _write_relationships
    rows = graph.stream(f"copy/{stage}")
    # The order in which an engine reads what nobody writes is the same each time; that it was is verified in the end.
    skipped = sum(1 for _ in islice(rows, position))
    tell(skipped)
    for batch in _batches(rows):
        position += len(batch)

        known = [row for row in batch if _is_known(row)]

        def work(transaction: Transaction, rows: list[Row] = known, position: int = position) -> None:
            transaction.run("copy/advance", of=of, stage=stage, position=position)
            write(transaction, rows)

        target.transaction(work)
        tell(len(batch))
    if stage == "nodes":
        target.write("copy/advance", of=of, stage="relationships", position=0)


def _is_known(row: Row) -> bool:
    """Return whether kgprobe writes such nodes, or such relationships between such nodes."""
    if "type" not in row:
        return _labels(row["labels"]) in _NODES
    ends = (_labels(row["from_labels"]), _labels(row["to_labels"]))
    return row["type"] in _RELATIONSHIPS and all(end in _NODES for end in ends)


def _labels(labels: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(labels))


def _batches(rows: Iterable[Row]) -> Iterator[list[Row]]:
    batch: list[Row] = []
    size = 0
    for row in rows:
        batch.append(row)
        size += encoded_bytes(row["properties"]) + 200
        if len(batch) >= _AT_ONCE or size >= _BYTES_AT_ONCE:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _write_nodes(transaction: Transaction, batch: list[Row]) -> None:
    nodes: dict[str, list[Row]] = defaultdict(list)
    for row in batch:
        nodes[_NODES[_labels(row["labels"])]].append({"id": row["properties"]["id"], "properties": row["properties"]})
    for query, rows in nodes.items():
        transaction.run(query, rows=rows)


def _write_relationships(transaction: Transaction, batch: list[Row]) -> None:
    types: dict[str, list[Row]] = defaultdict(list)
    for row in batch:
        types[row["type"]].append({"from": row["from"], "to": row["to"], "properties": row["properties"]})
    for type_, rows in types.items():
        written = transaction.run(f"copy/{type_.lower()}", rows=rows)[0]["written"]
        if written != len(rows):
            raise KgprobeError(f"{len(rows) - written} relationships {type_} have ends that are not in the copy.")
