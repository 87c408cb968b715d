"""Labels of a data set's facts, which a finding reads in place of a graph."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from kgprobe.probes.examples.evidence import PromptEvidence
from kgprobe.probes.outcome import Outcome


@dataclass(frozen=True, slots=True)
class DatasetFacts:
    """The asked facts of a data set, with their labels.

    Attributes:
        rows: by fact, with the columns of the query ``sample/about``; types, popularity and year are unknown.
        relations: labels of the relations by id.
    """

    rows: Mapping[str, Mapping[str, Any]]
    relations: Mapping[str, str]


def dataset_facts(outcomes: Iterable[Outcome], relations: Mapping[str, str]) -> DatasetFacts:
    """Return the facts of a measurement of a data set, from the evidence of its outcomes."""
    rows: dict[str, Mapping[str, Any]] = {}
    for outcome in outcomes:
        evidence = outcome.evidence
        if isinstance(evidence, PromptEvidence):
            rows[outcome.fact.fact] = {
                "fact": outcome.fact.fact,
                "relation": outcome.relation,
                "subject": outcome.fact.subject,
                "subject_label": evidence.subject,
                "object": evidence.object.id,
                "object_label": evidence.object.label,
                "types": [],
                "popularity": None,
                "year": None,
            }
    return DatasetFacts(rows, relations)
