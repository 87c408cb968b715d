"""Cloze sentences of a data set's relations: ``relations.jsonl`` in its folder, or generic ones from the labels.

A line of the file is a relation with its templates, as in every file of relations
(:mod:`kgprobe.verbalize.templates.file`).
"""

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from kgprobe.base.records import Rejected, Relation
from kgprobe.sources.lines import open_input
from kgprobe.verbalize.templates.file import read_relations, relation_line
from kgprobe.verbalize.templates.generic import generic_relation
from kgprobe.verbalize.templates.kinds import CLOZES

FILE = "relations.jsonl"


def write_relations(folder: Path, relations: Iterable[Relation]) -> None:
    """Write relations with their templates into a data set's folder; no file if there are none."""
    lines = [relation_line(relation) for relation in relations]
    if lines:
        (folder / FILE).write_text("".join(lines), encoding="utf-8")


def relations_of(path: Path, ids: Collection[str]) -> tuple[list[Relation], list[str]]:
    """Return the relations in a file that have one of these ids, and the reasons for unusable lines and templates."""
    relations, rejected = [], []
    for line, record, *_ in read_relations(open_input(path)):
        if isinstance(record, Rejected):
            rejected.append(f"{path}, line {line:,}: {record.reason}.")
        elif isinstance(record, Relation) and record.id in ids:
            relations.append(record)
    return relations, rejected


def cloze_templates(folder: Path, labels: Mapping[str, str], kind: str) -> tuple[dict[str, list[str]], list[str]]:
    """Return cloze sentences by relation, and the ids of the relations that have generic ones.

    A relation without hand-written sentences gets a generic one from its label; a relation without any is left out.

    Args:
        kind: source of the sentences, one of ``CLOZES``.
    """
    stored: list[Relation] = []
    if (folder / FILE).is_file():
        stored, _ = relations_of(folder / FILE, labels.keys())
    templates = {relation.id: list(getattr(relation, CLOZES[kind])) for relation in stored}
    generic = []
    for relation, label in labels.items():
        if kind == "hand" and not templates.get(relation):
            templates[relation] = list(generic_relation(Relation(relation, label)).clozes)
            generic.append(relation)
    usable = {relation: templates[relation] for relation in labels if templates.get(relation)}
    return usable, [relation for relation in generic if relation in usable]
