"""Convert a source to files for ``neo4j-admin database import``; the imported graph equals a loaded one."""

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from kgprobe.base.errors import KgprobeError
from kgprobe.base.files import appearing
from kgprobe.graph.bulk.bulk_files import ARRAY_DELIMITER, EXTRA_RELATIONS, BulkFiles
from kgprobe.graph.bulk.reading import reading_facts, source_batches
from kgprobe.graph.bulk.staging import Staging, staging_database, write_rows
from kgprobe.graph.ingest import IMPORTED, LoadCounts, collecting_rarely
from kgprobe.graph.record_batches import Problem, RecordBatch, entity_rows, problem_message, relation_rows
from kgprobe.sources.contract import Source, folded_by, languages_of

# Bytes of facts whose ends are looked up together: about half a million.
_BYTES_AT_ONCE = 64 * 2**20


@dataclass(slots=True)
class _Conversion:
    """The state of a conversion."""

    source: Source
    strict: bool
    report_problem: Callable[[str], None]
    report_progress: Callable[[str, int], None]
    counts: LoadCounts = field(default_factory=LoadCounts)
    batches: int = 0
    position: int = 0

    def count(self, stage: str, batch: RecordBatch) -> None:
        """Count a batch, and report its problems."""
        self.reject(batch.problems)
        self.batches += 1
        self.position = batch.position
        self.counts.records[stage] += batch.records
        self.counts.folded += batch.folded
        self.report_progress(stage, batch.records)

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

    Cost: one reading of each stream; the facts of files of some megabytes are read in a second process meanwhile.
    Temporary disk space: 150 bytes per fact, twice the entities. Memory: 1 GB, 16 bytes per entity, 300 MB for each
    process.

    Args:
        strict: raise at the first rejected record, without a folder.
        report_problem: called with a message for each rejected record.
        report_progress: called after each batch with its stage and number of records.
    """
    conversion = _Conversion(source, strict, report_problem, report_progress)
    counts = conversion.counts
    with (
        appearing(folder) as unfinished,
        staging_database(unfinished) as database,
        reading_facts(source, unfinished) as fact_batches,
    ):
        relations: dict[str, dict[str, Any]] = {}
        for batch in source_batches(source, "relations"):
            conversion.count("relations", batch)
            rows = relation_rows(batch.places, source.name)
            for row in rows:
                # A relation given again keeps what the later record has no value for.
                unless_given = row["empty"] | {"active": True}
                relations[row["id"]] = unless_given | relations.get(row["id"], {}) | row["properties"]
            counts.written["relations"] += len(rows)

        staging = Staging(database, source)
        for batch in source_batches(source, "entities"):
            conversion.count("entities", batch)
            staging.add_entities(entity_rows(batch.places, source.name, source.fingerprint, languages_of(source)))
        problems = staging.resolve_entities()
        conversion.reject(problems)
        counts.written["entities"] = staging.read - len(problems)

        waiting: list[pa.Table] = []
        for facts, batch, not_loaded in fact_batches():
            conversion.count("facts", batch)
            counts.not_loaded = not_loaded
            waiting.append(facts)
            if batch.last or sum(each.nbytes for each in waiting) > _BYTES_AT_ONCE:
                conversion.reject(staging.add_facts(pa.concat_tables(waiting)))
                waiting.clear()
        conversion.reject(staging.resolve_facts({id_: properties["label"] for id_, properties in relations.items()}))
        counts.written["facts"], counts.outside = staging.written, staging.outside
        counts.problems["missing"] = staging.missing
        counts.created = counts.written
        counts.folded += folded_by(source)

        with (unfinished / EXTRA_RELATIONS).open("wb") as file:
            for id_, properties in relations.items():
                file.write(msgspec.json.encode({"id": id_, "properties": properties}) + b"\n")
        written = staging.write(unfinished)
        load = {
            ":ID(Load)": 0,
            "id": source.fingerprint,
            "source": source.name,
            "stage": IMPORTED,
            "position:long": conversion.position,
            "finished:boolean": False,
            "languages:string[]": ARRAY_DELIMITER.join(languages_of(source)) or None,
            ":LABEL": "KgprobeLoad",
        }
        counter = {
            ":ID(Counter)": 0,
            "id": "entities",
            "uid": secrets.token_hex(8),
            "next:long": staging.next_number,
            "batches:long": conversion.batches,
            "placed:boolean": True,
            ":LABEL": "KgprobeCounter",
        }
        nodes = [*written["Entity"][0], *written["Relation"][0]]
        for name, properties in (("loads", load), ("counters", counter)):
            nodes += write_rows(database, unfinished, name, "FROM waiting", pa.Table.from_pylist([properties]))[0]
        files = BulkFiles(
            source=source.name,
            fingerprint=source.fingerprint,
            node_files=nodes,
            relationship_files={type_: written[type_][0] for type_ in ("FACT", "INSTANCE_OF", "OBJECT_OF")},
            next_number=staging.next_number or 0,
            counts={kind: count for kind, (_, count) in written.items()},
            records=counts,
        )
        files.save(unfinished)
    return files
