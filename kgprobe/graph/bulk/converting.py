"""A source as a folder of files for ``neo4j-admin database import``, which make the same graph as a load of it."""

import secrets
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from kgprobe.errors import KgprobeError
from kgprobe.files import appearing
from kgprobe.graph.bulk.bulk_files import UNSAID_ENTITIES, UNSAID_RELATIONS, BulkFiles, Told
from kgprobe.graph.bulk.csv_text import quoted
from kgprobe.graph.bulk.entity_files import EntityFiles, Nodes
from kgprobe.graph.bulk.fact_files import FactFiles, Relations
from kgprobe.graph.bulk.row_files import RowFiles
from kgprobe.graph.ingest import IMPORTED, LoadReport, collecting_rarely
from kgprobe.graph.record_batches import Batch, problem_message, read_batches
from kgprobe.graph.record_rows import Problem, entity_rows, relation_rows
from kgprobe.sources.contract import Source


@dataclass(slots=True)
class _Conversion:
    """What is known while a source is read."""

    source: Source
    strict: bool
    report_problem: Callable[[str], None]
    report_progress: Callable[[str, int], None]
    report: LoadReport
    batches: int = 0
    position: int = 0

    def read(self, stage: str) -> Iterable[Batch]:
        """The batches of a stage, whose own problems are told."""
        # Nothing is waited for meanwhile: to read ahead in a thread costs what threads take from each other.
        for batch in self._read(stage):
            self.leave_out(batch.problems)
            yield batch
            self.batches += 1
            self.position = batch.position
            self.report.records[stage] += batch.records
            self.report_progress(stage, batch.records)

    def _read(self, stage: str) -> Iterator[Batch]:
        try:
            yield from read_batches(self.source, stage)
        except OSError as error:
            # Not to be taken for one of the folder that is written to.
            raise KgprobeError(f"{self.source.name} cannot be read: {error.strerror or error}.") from error

    def leave_out(self, problems: list[Problem]) -> None:
        """Count and tell them; under ``strict``, end at the first."""
        if self.strict and problems:
            raise KgprobeError(problem_message(problems[0], self.source))
        self.report.leave_out(problems, self.source, self.report_problem)


def convert(
    source: Source,
    folder: Path,
    *,
    strict: bool = False,
    report_problem: Callable[[str], None] = lambda message: None,
    report_progress: Callable[[str, int], None] = lambda stage, records: None,
) -> BulkFiles:
    """Write a source as import files into a folder, which appears when it is whole.

    What they make of an empty graph is what a load makes of it, to the last property, once it is finished
    (:func:`~kgprobe.graph.bulk.finishing.finish`): the batches are cut in the same places, and the same records are
    left out, for the same reasons. Those that repeat an earlier batch's are told after the others.

    Cost: one reading of each stream; on the disk, twice what entities have and 40 bytes a fact beside the files while
    it lasts. Memory: about 35 bytes an entity, 70 while they are sorted, and some 500 MB.

    Args:
        strict: the first record that would be left out is an error instead, and there is no folder.
        report_problem: called with a message for each record that is left out.
        report_progress: called after each batch with its stage and its number of records.

    Raises:
        KgprobeError: under ``strict``; or the folder cannot be written.
    """
    conversion = _Conversion(source, strict, report_problem, report_progress, LoadReport())
    with collecting_rarely(), appearing(folder) as unfinished:
        files = _convert(conversion, unfinished)
        files.save(unfinished)
    return files


def _convert(conversion: _Conversion, folder: Path) -> BulkFiles:
    source, report = conversion.source, conversion.report
    properties: dict[str, dict[str, Any]] = {}
    for batch in conversion.read("relations"):
        rows = relation_rows(batch.places, source.name).rows
        properties |= {row["id"]: row["properties"] for row in rows}
        report.written["relations"] += len(rows)

    entities = EntityFiles(folder, source.name, source.fingerprint)
    for batch in conversion.read("entities"):
        entities.add(entity_rows(batch.places, source.name, source.fingerprint))
    nodes, problems = entities.resolve()
    conversion.leave_out(problems)
    report.written["entities"] = nodes.written

    facts = FactFiles(folder, source, nodes, {id_: its["label"] for id_, its in properties.items()})
    for batch in conversion.read("facts"):
        problems, outside = facts.add(batch.places)
        conversion.leave_out(problems)
        report.outside += outside
    problems, outside = facts.take_out_repeats()
    conversion.leave_out(problems)
    if source.partial:
        report.outside -= outside
    else:
        report.problems["missing"] -= outside
    report.written["facts"] = facts.written
    return _finish(conversion, folder, entities, nodes, facts, properties)


def _finish(
    conversion: _Conversion,
    folder: Path,
    entities: EntityFiles,
    nodes: Nodes,
    facts: FactFiles,
    properties: dict[str, dict[str, Any]],
) -> BulkFiles:
    """Write what can be said only now that everything has been read."""
    source, report = conversion.source, conversion.report
    objects, objects_count = facts.write_objects()
    instances, instances_count = entities.write_links(nodes)
    entities.write_unsaid(nodes, folder / UNSAID_ENTITIES)
    with (folder / UNSAID_RELATIONS).open("wb") as file:
        for id_, its in properties.items():
            file.write(msgspec.json.encode({"id": id_, "properties": its}) + b"\n")
    relations, relations_count = _write_relations(folder, facts.relations)
    node_files = [*entities.write(nodes), *relations, *_write_own(conversion, folder, nodes)]
    relationship_files = {"FACT": facts.close(), "INSTANCE_OF": instances, "OBJECT_OF": objects}
    names = [*node_files, *(name for names in relationship_files.values() for name in names)]
    return BulkFiles(
        source=source.name,
        fingerprint=source.fingerprint,
        node_files=node_files,
        relationship_files=relationship_files,
        line_files=[name for name in names if name.endswith("-lines.csv")],
        next_number=nodes.next_number or 0,
        counts={
            "Entity": nodes.count,
            "Relation": relations_count,
            "FACT": facts.written_rows,
            "INSTANCE_OF": instances_count,
            "OBJECT_OF": objects_count,
        },
        told=Told(dict(report.written), dict(report.problems), report.broken, report.outside),
    )


def _write_relations(folder: Path, relations: Relations) -> tuple[list[str], int]:
    """Relations with what no record says; the rest is written once they are imported, as there are few."""
    out = RowFiles(folder, "relations", ":ID(Relation),id,size:long,active:boolean,:LABEL")
    rows = [
        f"{number},{quoted(id_)},{relations.sizes[number]},true,Relation".encode()
        for id_, number in relations.numbers.items()
        if relations.facts[number]
    ]
    out.add(rows)
    return out.close(), len(rows)


def _write_own(conversion: _Conversion, folder: Path, nodes: Nodes) -> list[str]:
    """What kgprobe keeps of loads: this one, not finished yet, and the counter."""
    source = conversion.source
    loads = RowFiles(folder, "loads", ":ID(Load),id,source,stage,position:long,finished:boolean,:LABEL")
    load = f"0,{quoted(source.fingerprint)},{quoted(source.name)},{IMPORTED},{conversion.position},false,Load"
    loads.add([load.encode()])
    counters = RowFiles(folder, "counters", ":ID(Counter),id,uid,next:long,batches:long,:LABEL")
    next_number = "" if nodes.next_number is None else nodes.next_number
    counters.add([f'0,entities,"{secrets.token_hex(8)}",{next_number},{conversion.batches},Counter'.encode()])
    return [*loads.close(), *counters.close()]
