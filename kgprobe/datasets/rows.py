"""Rows of a data set: facts with their choices."""

from collections import Counter

import msgspec

from kgprobe.probes.examples.items import ChoiceItem
from kgprobe.sampling.facts import AskedFact
from kgprobe.sampling.keys import FactKey
from kgprobe.sampling.question_negatives import Negative

# Splits: few-shot examples, and facts to ask.
TRAIN, TEST = SPLITS = ("train", "test")


class ChoiceRow(msgspec.Struct, frozen=True):
    """A fact with its choices.

    Attributes:
        fact_id, relation, subject_id, object_id: ids.
        relation_label, subject, object: labels; a relation without a label has its id.
        choices: distinct labels, including the object's, in random order.
        choice_ids: ids of the choices, in the same order.
        answer: place of the object among the choices.
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
        """Return a clause that says why the row is invalid; None if it is valid."""
        if len(self.choices) < 2:
            return f"`choices` has {len(self.choices)}; at least 2 are expected"
        if len(self.choice_ids) != len(self.choices):
            return f"`choice_ids` has {len(self.choice_ids)} for {len(self.choices)} of `choices`"
        for name in ("choices", "choice_ids"):
            duplicate = _duplicate(getattr(self, name))
            if duplicate:
                return f"{duplicate!r} is twice in `{name}`"
        if not 0 <= self.answer < len(self.choices):
            return f"`answer` is {self.answer}, and the {len(self.choices)} choices are counted from 0"
        if self.choices[self.answer] != self.object or self.choice_ids[self.answer] != self.object_id:
            choice = f"{self.choices[self.answer]!r} ({self.choice_ids[self.answer]})"
            return f"`answer` is {self.answer}, which is {choice}, and the object is {self.object!r} ({self.object_id})"
        blank = next((text for text in (self.subject, *self.choices) if not text.strip()), None)
        return None if blank is None else f"a name is white space: {blank!r}"

    def item(self) -> ChoiceItem:
        """Return the fact with its choices: the object first, then the others in their order."""
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
        choices = list(zip(self.choice_ids, self.choices, strict=True))
        del choices[self.answer]
        return ChoiceItem(fact, [Negative(id_, label, (), former=False) for id_, label in choices])


# Names of the columns, in order.
COLUMNS = ChoiceRow.__struct_fields__


def row_of(item: ChoiceItem, relation_label: str, order: list[int]) -> ChoiceRow:
    """Return a fact with its choices in an order.

    Args:
        order: permutation of the places of :attr:`ChoiceItem.labels`.
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


def _duplicate(texts: tuple[str, ...]) -> str | None:
    """Return a text that is there twice; None if all are distinct."""
    return next((text for text, count in Counter(texts).items() if count > 1), None)
