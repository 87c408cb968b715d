"""Templates for the most frequent properties of Wikidata, which come with kgprobe: ``wikidata_relations.jsonl``.

Each line is a relation in the format of :mod:`kgprobe.verbalize.templates.file`, with three cloze sentences, a
statement, a yes/no question and a wh-question. Properties whose facts can end have cloze sentences in the past tense,
too. Facts can have a day, a month or a year as their date, so sentences about dates suit all three.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from kgprobe.base.records import Placed, Relation
from kgprobe.sources.lines import open_input
from kgprobe.verbalize.templates.file import read_relations

SHIPPED_FILE = Path(__file__).with_name("wikidata_relations.jsonl")

# Shared option of the loaders of Wikidata.
SHIPPED_OPTION: Mapping[str, Any] = {
    "default": True,
    "help": "Use kgprobe's templates for Wikidata's properties.",
}


@cache
def shipped_relations() -> Mapping[str, Relation]:
    """Return the relations of the shipped file with their templates, by id.

    >>> shipped_relations()["P36"].wh_questions
    ('What is the capital of [X]?',)
    """
    placed = read_relations(open_input(SHIPPED_FILE))
    return {record.id: record for _, record, *_ in placed if isinstance(record, Relation)}


def shipped_digest(is_used: bool) -> str:
    """Return a digest of the shipped file for a source's fingerprint; empty if the file is not used."""
    return hashlib.blake2b(SHIPPED_FILE.read_bytes(), digest_size=16).hexdigest() if is_used else ""


def with_shipped_templates(properties: Iterable[Placed]) -> Iterator[Placed]:
    """Yield a source's relations with the shipped templates of those that have some.

    The source's own label, aliases and description are kept, and an inactive relation stays inactive. Relations that
    the source does not have are not added.

    Args:
        properties: relations of the source, without templates.
    """
    shipped = shipped_relations()
    for placed in properties:
        property_ = placed.record
        if isinstance(property_, Relation) and property_.id in shipped:
            templates = shipped[property_.id]
            relation = replace(
                templates,
                label=property_.label or templates.label,
                aliases=property_.aliases,
                description=property_.description or templates.description,
                active=property_.active,
            )
            yield placed._replace(record=relation)
        else:
            yield placed
