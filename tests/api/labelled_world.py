"""A model that answers questions from a list of facts; its scores are real. A module, for killed processes."""

import zlib
from collections.abc import Iterable, Sequence
from typing import Any

import kgprobe
from kgprobe.base.records import Entity, Fact
from kgprobe.graph.client import Graph
from kgprobe.labelling.labels import Labels
from kgprobe.models.generating.generator import Answer, Request
from kgprobe.models.generating.thinking import Thinking
from kgprobe.models.model import Model
from tests.models.tiny import tiny_scorer

AS_OF = "2024"


class WellRead:
    """Generator that knows the objects of some subjects: by name, of every second question; of all when it thinks."""

    name = "tiny"

    def __init__(self, entities: Iterable[Entity], facts: Iterable[Fact]) -> None:
        labels = {entity.id: entity.label for entity in entities}
        self._objects: dict[str, list[str]] = {}
        for fact in facts:
            self._objects.setdefault(labels[fact.subject], []).append(labels[fact.object])

    def describe(self) -> dict[str, object]:
        return {"model": self.name}

    def check_thinking(self, thinking: Thinking) -> dict[str, object]:
        return {"switch": str(thinking)}

    def answer(self, requests: Sequence[Request], progress: Any = None) -> list[Answer]:
        if progress is not None:
            progress(len(requests))
        return [Answer(self._answer(request)) for request in requests]

    def _answer(self, request: Request) -> str:
        thinks = request.thinking is not None and request.thinking.is_on
        if zlib.crc32(request.prompt.encode()) % (4 if thinks else 2) == 0:
            return "I do not know."
        question = request.prompt
        subjects = [name for name in self._objects if name in question]
        return ", ".join(self._objects[max(subjects, key=len)]) if subjects else "Nobody."


def well_read(entities: Iterable[Entity] = (), facts: Iterable[Fact] = ()) -> Model:
    """Return a model with random weights for scores, and answers to questions about some facts."""
    return Model("tiny", scorer=tiny_scorer(n_positions=1024), generator=WellRead(entities, facts))


def label_all(graph: Graph) -> Labels:
    """Label twelve facts in two ways, three times each, in batches of five."""
    ways = "distractors,questions"
    return kgprobe.label_facts(graph, well_read(), ways=ways, limit=12, batch_size=5, as_of=AS_OF, name="mine")
