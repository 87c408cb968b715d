"""One fact with its choices, as a row of a data set."""

import msgspec

from kgprobe.probes.examples.items import ChoiceItem
from kgprobe.sampling.facts import AskedFact
from kgprobe.sampling.keys import FactKey
from kgprobe.sampling.question_negatives import Negative

# What stands before other facts of a relation, and what is asked.
TRAIN, TEST = SPLITS = ("train", "test")


class ChoiceRow(msgspec.Struct, frozen=True):
    """A fact with its choices.

    Attributes:
        fact_id, relation, subject_id, object_id: ids.
        relation_label, subject, object: what people call them; a relation without a label goes by its id.
        choices: labels, the object's among them, no two alike, in random order.
        choice_ids: whose they are, in the same order.
        answer: the object's place among the choices.
    """

    fact_id: str
    relation: str
    relation_label: str
    subject: str
    subject_id: str
    object: str
    object_id: str
    choices: tuple[str, ...]
    choice_ids: tuple[str, ...]
    answer: int

    def problem(self) -> str | None:
        """What is wrong with it, as a clause; None if nothing is."""
        if len(self.choices) < 2:
            return f"`choices` has {len(self.choices)} of the 2 that a choice needs at least"
        if len(self.choice_ids) != len(self.choices):
            return f"`choice_ids` has {len(self.choice_ids)} for {len(self.choices)} of `choices`"
        if twice := _twice(self.choices):
            return f"{twice!r} stands twice in `choices`"
        if twice := _twice(self.choice_ids):
            return f"{twice!r} stands twice in `choice_ids`"
        if not 0 <= self.answer < len(self.choices):
            return f"`answer` is {self.answer}, and the {len(self.choices)} choices are counted from 0"
        if self.choices[self.answer] != self.object or self.choice_ids[self.answer] != self.object_id:
            called = f"{self.choices[self.answer]!r} ({self.choice_ids[self.answer]})"
            return f"`answer` is {self.answer}, which is {called}, and the object is {self.object!r} ({self.object_id})"
        blank = next((text for text in (self.subject, *self.choices) if not text.strip()), None)
        return None if blank is None else f"a name is white space: {blank!r}"

    def item(self) -> ChoiceItem:
        """What the estimator takes: the object first, then the other choices in their order."""
        fact = AskedFact(
            key=FactKey(self.subject_id, self.fact_id),
            relation=self.relation,
            subject_label=self.subject,
            subject_aliases=(),
            object=self.object_id,
            object_label=self.object,
            object_aliases=(),
            start=None,
            end=None,
        )
        others = [
            Negative(id_, label, (), former=False)
            for place, (id_, label) in enumerate(zip(self.choice_ids, self.choices, strict=True))
            if place != self.answer
        ]
        return ChoiceItem(fact, others)


# The names of the columns, in order.
COLUMNS = ChoiceRow.__struct_fields__


def row_of(item: ChoiceItem, relation_label: str, order: list[int]) -> ChoiceRow:
    """A fact with its choices in an order.

    Args:
        order: places of :attr:`ChoiceItem.labels`, each once.
    """
    fact = item.fact
    ids = [fact.object, *(other.id for other in item.others)]
    return ChoiceRow(
        fact_id=fact.key.fact,
        relation=fact.relation,
        relation_label=relation_label,
        subject=fact.subject_label,
        subject_id=fact.key.subject,
        object=fact.object_label,
        object_id=fact.object,
        choices=tuple(item.labels[place] for place in order),
        choice_ids=tuple(ids[place] for place in order),
        answer=order.index(0),
    )


def _twice(texts: tuple[str, ...]) -> str | None:
    seen: set[str] = set()
    return next((text for text in texts if text in seen or seen.add(text)), None)  # type: ignore[func-returns-value]
