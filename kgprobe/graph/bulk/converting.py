"""Convert a source to files for ``neo4j-admin database import``; the imported graph equals a loaded one."""

import secrets
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec

from kgprobe.base.errors import KgprobeError
from kgprobe.base.files import appearing
from kgprobe.graph.bulk.bulk_files import (
    EXTRA_ENTITIES,
    EXTRA_RELATIONS,
    BulkCounts,
    BulkFiles,
    RowFiles,
    array,
    quoted,
)
from kgprobe.graph.bulk.entity_files import EntityFiles, NodeTable
from kgprobe.graph.bulk.fact_files import FactFiles
from kgprobe.graph.ingest import IMPORTED, LoadCounts, collecting_rarely
from kgprobe.graph.record_batches import Problem, RecordBatch, entity_rows, problem_message, read_batches, relation_rows
from kgprobe.sources.contract import Source, folded_by, languages_of, not_loaded_of


@dataclass(slots=True)
class _Conversion:
    """The state of a conversion."""

    source: Source
    strict: bool
    report_problem: Callable[[str], None]
    report_progress: Callable[[str, int], None]
    counts: LoadCounts
    batches: int = 0
    position: int = 0

    def read(self, stage: str) -> Iterable[RecordBatch]:
        """Yield the batches of a stage, and report their problems."""
        # Not in a thread: the conversion never waits, so that reading ahead would only slow it down.
        for batch in self._read(stage):
            self.reject(batch.problems)
            yield batch
            self.batches += 1
            self.position = batch.position
            self.counts.records[stage] += batch.records
            self.counts.folded += batch.folded
            self.report_progress(stage, batch.records)

    def _read(self, stage: str) -> Iterator[RecordBatch]:
        try:
            yield from read_batches(self.source, stage)
        except OSError as error:
            # Not to be confused with an error of the written folder.
            raise KgprobeError(f"{self.source.name} cannot be read: {error.strerror or error}.") from error

    def reject(self, problems: list[Problem]) -> None:
        """Count and report rejected records; raise at the first if ``strict``."""
        if self.strict and problems:
            raise KgprobeError(problem_message(problems[0], self.source))
        self.counts.reject(problems, self.source, self.report_problem)


@collecting_rarely()
def convert(
    source: Source,
    folder: Path,
    *,
    strict: bool = False,
    report_problem: Callable[[str], None] = lambda message: None,
    report_progress: Callable[[str, int], None] = lambda stage, records: None,
) -> BulkFiles:
    """Write a source as import files to a new folder, which is created when it is complete.

    After the import into an empty graph and :func:`~kgprobe.graph.bulk.bulk_files.finish`, the graph equals a loaded
    one in all properties: the batches are the same, and the same records are rejected for the same reasons. Duplicates
    of an earlier batch are reported after the other problems.

    Cost: one reading of each stream. Temporary disk space: twice the entities, and 40 bytes per fact. Memory: about 35
    bytes per entity, 70 during sorting, plus some 500 MB.

    Args:
        strict: raise at the first rejected record, without a folder.
        report_problem: called with a message for each rejected record.
        report_progress: called after each batch with its stage and number of records.
    """
    conversion = _Conversion(source, strict, report_problem, report_progress, LoadCounts())
    counts = conversion.counts
    with appearing(folder) as unfinished:
        properties: dict[str, dict[str, Any]] = {}
        for batch in conversion.read("relations"):
            rows = relation_rows(batch.places, source.name)
            for row in rows:
                # A relation given again keeps what the later record has no value for.
                unless_given = row["empty"] | {"active": True}
                properties[row["id"]] = unless_given | properties.get(row["id"], {}) | row["properties"]
            counts.written["relations"] += len(rows)

        languages = languages_of(source)
        entities = EntityFiles(unfinished, source.name, source.fingerprint, languages)
        for batch in conversion.read("entities"):
            entities.add(entity_rows(batch.places, source.name, source.fingerprint, languages))
        nodes, problems = entities.resolve()
        conversion.reject(problems)
        counts.written["entities"] = nodes.written

        facts = FactFiles(unfinished, source, nodes, {id_: values["label"] for id_, values in properties.items()})
        for batch in conversion.read("facts"):
            problems, outside = facts.add(batch.places)
            conversion.reject(problems)
            counts.outside += outside
        problems, outside = facts.remove_duplicates()
        conversion.reject(problems)
        if source.partial:
            counts.outside -= outside
        else:
            counts.problems["missing"] -= outside
        counts.written["facts"] = facts.written

        # Files that depend on the whole source.
        objects, objects_count = facts.write_objects()
        instances, instances_count = entities.write_links(nodes)
        entities.write_extra(nodes, unfinished / EXTRA_ENTITIES)
        with (unfinished / EXTRA_RELATIONS).open("wb") as file:
            for id_, values in properties.items():
                file.write(msgspec.json.encode({"id": id_, "properties": values}) + b"\n")
        out = RowFiles(unfinished, "relations", ":ID(Relation),id,size:long,active:boolean,:LABEL")
        lines = []
        for id_, number in facts.relations.numbers.items():
            if facts.relations.facts[number]:
                lines.append(f"{number},{quoted(id_)},{facts.relations.sizes[number]},true,Relation".encode())
        out.add(lines)
        relations, relations_count = out.close(), len(lines)
        node_files = [*entities.write(nodes), *relations, *_write_state(conversion, unfinished, nodes)]
        relationship_files = {"FACT": facts.close(), "INSTANCE_OF": instances, "OBJECT_OF": objects}
        names = [*node_files, *chain.from_iterable(relationship_files.values())]
        files = BulkFiles(
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
            records=BulkCounts(
                dict(counts.written),
                dict(counts.problems),
                counts.broken,
                counts.outside,
                not_loaded_of(source),
                counts.folded + folded_by(source),
            ),
        )
        files.save(unfinished)
    return files


def _write_state(conversion: _Conversion, folder: Path, nodes: NodeTable) -> list[str]:
    """Write the unfinished load and the counter of entities."""
    source = conversion.source
    loads = RowFiles(
        folder, "loads", ":ID(Load),id,source,stage,position:long,finished:boolean,languages:string[],:LABEL"
    )
    load = f"0,{quoted(source.fingerprint)},{quoted(source.name)},{IMPORTED},{conversion.position},false"
    load += f",{array(languages_of(source))},KgprobeLoad"
    loads.add([load.encode()])
    counters = RowFiles(folder, "counters", ":ID(Counter),id,uid,next:long,batches:long,placed:boolean,:LABEL")
    next_number = "" if nodes.next_number is None else nodes.next_number
    counters.add(
        [f'0,entities,"{secrets.token_hex(8)}",{next_number},{conversion.batches},true,KgprobeCounter'.encode()]
    )
    return [*loads.close(), *counters.close()]
