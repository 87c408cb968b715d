"""Copy a graph with all data of kgprobe to another server, of any engine; resumable and verified."""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import islice

from kgprobe.base.errors import ArgumentError, KgprobeError
from kgprobe.base.progress import OnProgress, StepProgress, no_progress
from kgprobe.graph.client import Graph, Row, Transaction, apply_schema
from kgprobe.graph.driver import batches, encoded_bytes
from kgprobe.graph.state import Digest, digest_of, graph_state, stored_nodes, stored_relationships

_STAGES = ("nodes", "relationships")
# Queries that write nodes, by their labels.
_NODES: dict[tuple[str, ...], str] = {
    ("Entity",): "copy/entity",
    ("Relation",): "copy/relation",
    ("Run",): "copy/run",
    ("Belief",): "copy/belief",
    ("KgprobeEffect",): "copy/effect",
    ("KgprobeLoad",): "copy/load",
    ("KgprobeJudgedGraph",): "copy/judged_graph",
    ("KgprobeCounter",): "copy/counter",
    ("Entity", "Type"): "copy/type",
    ("Entity", "Literal"): "copy/literal",
    ("Entity", "Literal", "Type"): "copy/literal_type",
}
_RELATIONSHIPS = ("FACT", "INSTANCE_OF", "OBJECT_OF", "JUDGED", "BELIEVES", "ABOUT")

# Maximum number of rows of a transaction.
_AT_ONCE = 5_000


@dataclass(frozen=True, slots=True)
class Copied:
    """Result of a copy.

    Attributes:
        digest: digest of both graphs, with the counts of skipped nodes and relationships.
        resumed: True if an interrupted copy was continued.
        was_there: True if the target already was a copy, so that nothing was written.
    """

    digest: Digest
    resumed: bool
    was_there: bool


def copy_graph(graph: Graph, target: Graph, on_progress: OnProgress = no_progress) -> Copied:
    """Copy a graph to an empty one, and verify that both are equal.

    >>> with kgprobe.open_graph("copy", engine="neo4j") as target:
    ...     kgprobe.copy_graph(graph, target).was_there
    False

    Copied are entities, relations, facts, types, runs, beliefs, effects, judged graphs and the state of loads. Other
    data, such as relationships of older versions of kgprobe, are skipped and counted. Paint, twins and labels of types
    are not copied. An interrupted copy is continued; a target with other data is refused.

    Cost: three walks through the graph and two through the copy. Memory: a few thousand records.

    Args:
        on_progress: called with each step; a node or a relationship has three.

    Raises:
        ArgumentError: the target contains another graph.
        KgprobeError: the graphs differ at the end, because one of them was changed during the copy.
    """
    origin = graph_state(graph)
    counts = graph.read("copy/counts")[0]
    size = counts["nodes"] + counts["relationships"]
    done = 0

    def report(stage: str, more: int) -> None:
        nonlocal done
        done += more
        on_progress(StepProgress(stage, done, 3 * size, "nodes and relationships", "Copying", done))

    begun = target.read("copy/begun")
    if begun and begun[0]["of"] != origin:
        raise ArgumentError(
            "output", "contains a copy of another graph, or of this one before it changed; name another target."
        )
    was_there = not begun and target.read("copy/counts")[0]["nodes"] > 0
    if not was_there:
        _copy_stages(graph, target, begun, origin, report)
    digest = digest_of(graph, partial(report, "verifying"), _is_known)
    differences = digest.differences(digest_of(target, partial(report, "verifying")))
    if differences:
        details = "; ".join(differences[:5]) + "."
        if was_there:
            raise ArgumentError("output", f"contains another graph; name an empty one. {details}")
        raise KgprobeError(f"The copy differs from the graph, which may have changed during the copy. {details}")
    target.write("copy/finish")
    return Copied(digest, bool(begun), was_there)


def _copy_stages(
    graph: Graph, target: Graph, begun: list[Row], origin: str, report: Callable[[str, int], None]
) -> None:
    first, position = _STAGES[0], 0
    if begun:
        first, position = begun[0]["stage"], begun[0]["position"]
    else:
        apply_schema(target)
    for stage in _STAGES[_STAGES.index(first) :]:
        rows = stored_nodes(graph) if stage == "nodes" else stored_relationships(graph)
        # An engine reads unchanged data always in the same order; the digests verify this at the end.
        report(stage, sum(1 for _ in islice(rows, position)))
        for batch in batches(rows, lambda row: encoded_bytes(row["properties"]) + 200, _AT_ONCE):
            position += len(batch)
            target.transaction(partial(_write, batch, {"of": origin, "stage": stage, "position": position}))
            report(stage, len(batch))
        position = 0
        if stage == "nodes":
            target.write("copy/advance", of=origin, stage="relationships", position=position)


def _is_known(row: Row) -> bool:
    """Return True for nodes that kgprobe writes, and for relationships that it writes between such nodes."""
    if "type" not in row:
        return tuple(row["labels"]) in _NODES
    ends = (tuple(row["from_labels"]), tuple(row["to_labels"]))
    return row["type"] in _RELATIONSHIPS and all(end in _NODES for end in ends)


def _write(batch: list[Row], place: Row, transaction: Transaction) -> None:
    """Write nodes or relationships, and the place up to which the graph is then copied."""
    transaction.run("copy/advance", **place)
    queries: dict[str, list[Row]] = defaultdict(list)
    for row in filter(_is_known, batch):
        properties = row["properties"]
        if "type" in row:
            ends = {"from": row["from"], "to": row["to"]}
            queries[f"copy/{row['type'].lower()}"].append({**ends, "properties": properties})
        else:
            queries[_NODES[tuple(row["labels"])]].append({"id": properties["id"], "properties": properties})
    for query, rows in queries.items():
        result = transaction.run(query, rows=rows)
        if place["stage"] == "relationships" and result[0]["written"] != len(rows):
            lost, type_ = len(rows) - result[0]["written"], query.removeprefix("copy/").upper()
            raise KgprobeError(f"{lost} relationships {type_} have ends that are not in the copy.")
