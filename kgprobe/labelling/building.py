"""Rows of a label table: counts, classes and probability of each fact, in the order of the graph's columns.

docs/methods/labels.md. Rows are made in parts, so that memory does not depend on their number.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgprobe.base.progress import OnProgress, StepProgress, no_progress
from kgprobe.labelling.answers import WayAnswers
from kgprobe.labelling.classes import NO_ANSWERS, Counts, profile_class, slick_class
from kgprobe.labelling.prediction import Predictions
from kgprobe.labelling.table import ASKED, PREDICTED, LabelledFact
from kgprobe.labelling.ways import PROFILED, RECALL, SAMPLED
from kgprobe.sampling.columns.graph_columns import AskableFacts

# Facts that are Python objects at a time.
_AT_ONCE = 50_000


class AnswersByFact:
    """The answers of all ways, in the order of asking, by fact."""

    def __init__(self, answers: Sequence[WayAnswers]) -> None:
        self.answers = answers
        self._columns = {column: facts for of_way in answers for column, facts in of_way.facts.items()}

    def counts(self, fact: str) -> dict[str, tuple[int, int]]:
        """Return right answers and all answers to a fact, by column; columns without answers are left out."""
        return {column: facts[fact][:2] for column, facts in self._columns.items() if fact in facts}

    def of(self, fact: str, *columns: str) -> Counts:
        """Return the answers to a fact in the first column in which they decide; else those in the last."""
        counts = NO_ANSWERS
        for column in columns:
            counts = self._columns.get(column, {}).get(fact, NO_ANSWERS)
            if counts.decides:
                break
        return counts


def labelled_rows(
    facts: AskableFacts,
    predictions: Predictions,
    answers: AnswersByFact,
    relation_names: Mapping[str, str],
    on_progress: OnProgress = no_progress,
) -> Iterator[LabelledFact]:
    """Yield the row of each fact, in order.

    Cost: some microseconds for each fact. Memory: 50,000 facts.
    """
    for start in range(0, len(facts), _AT_ONCE):
        positions = np.arange(start, min(start + _AT_ONCE, len(facts)))
        names = _names(facts, positions, relation_names)
        predicted = predictions.of(positions)
        numbers = zip(predicted.known.tolist(), predicted.low.tolist(), predicted.high.tolist(), strict=True)
        bases = [ASKED if has_answers else PREDICTED for has_answers in predicted.has_answers.tolist()]
        for ids, basis, (known, low, high), word in zip(names, bases, numbers, predicted.words, strict=True):
            counts = answers.counts(ids[0])
            slick, profile = None, None
            if counts:
                slick = slick_class(answers.of(ids[0], RECALL), answers.of(ids[0], SAMPLED))
                profile = profile_class(*(answers.of(ids[0], *columns) for columns in PROFILED))
            yield LabelledFact(*ids, basis, known, low, high, word.value, slick, profile, counts)
        on_progress(StepProgress("Writing labels", int(positions[-1]) + 1, len(facts), "facts"))


def _names(
    facts: AskableFacts, positions: NDArray[np.int64], relation_names: Mapping[str, str]
) -> Iterator[tuple[str, str, str, str, str, str, str]]:
    """Yield the ids and names of facts, in the order of a row: fact, subject, relation, object."""
    columns, places = facts.columns, facts.places[positions]
    subjects, objects = columns.subjects[places], columns.objects[places]
    relations = [columns.relation_ids[number] for number in columns.relations[places].tolist()]
    return zip(
        columns.fact_ids.take(pa.array(places)).to_pylist(),
        columns.entity_ids.take(pa.array(subjects)).to_pylist(),
        columns.labels_of(subjects),
        relations,
        [relation_names.get(relation) or relation for relation in relations],
        columns.entity_ids.take(pa.array(objects)).to_pylist(),
        columns.labels_of(objects),
        strict=True,
    )
