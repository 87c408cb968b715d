"""Examples: groups of facts as wh-questions with answers, and as cloze sentences with ends.

A question has one example for the group, whose answer names all right objects: with one of several right answers as
the target, the model would learn that the others are wrong. A statement has one example for each fact, and states one
object. Templates are the relation's own, or generic ones.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from kgprobe.graph.client import Graph, Row
from kgprobe.labelling.exports.sft import QUESTION, STATEMENT
from kgprobe.labelling.exports.sft.groups import KNOWN, REFUSED, ClassedFact, FactGroup
from kgprobe.probes.asking import nameless, not_begun
from kgprobe.probes.questions.items import WH_OBJECTS
from kgprobe.sampling.facts import AskedFact, facts_present, read_answers
from kgprobe.sampling.keys import FactKey, seeded_number
from kgprobe.verbalize.answers import named_in
from kgprobe.verbalize.askable_relations import askable_relations
from kgprobe.verbalize.sentences import Cloze, wh_question
from kgprobe.verbalize.tense import has_ended, templates_of

# Kind of templates of each form.
_TEMPLATES = {QUESTION: "wh_questions", STATEMENT: "clozes"}


@dataclass(frozen=True, slots=True)
class WordedExample:
    """One wording of a fact, or of the facts of a group.

    Attributes:
        form: ``question`` or ``statement``.
        answer: labels of the right objects, with commas between them; or the object in the form that ends the sentence.
    """

    form: str
    prompt: str
    answer: str
    facts: tuple[ClassedFact, ...]

    @property
    def known(self) -> float:
        """Mean probability that the model knows its facts."""
        return fmean(fact.known for fact in self.facts)


@dataclass(frozen=True, slots=True)
class WordedGroup:
    """A group with its examples, at least one; the ids of all objects that its examples name, and of its facts."""

    group: FactGroup
    objects: frozenset[str]
    examples: tuple[WordedExample, ...]

    @property
    def facts(self) -> list[ClassedFact]:
        """The facts that have an example, by id."""
        stated = {fact.key: fact for example in self.examples for fact in example.facts}
        return [stated[key] for key in sorted(stated)]

    @property
    def entities(self) -> frozenset[str]:
        """Ids of the subject and the objects."""
        return self.objects | {self.group.subject}

    @property
    def prompts(self) -> frozenset[str]:
        """Prompts of the examples, case-folded."""
        return frozenset(example.prompt.casefold() for example in self.examples)


@dataclass(slots=True)
class Wordings:
    """Words of groups.

    Attributes:
        limit: maximum number of wordings of each fact and form.
        skipped: number of facts without an example, by reason; without known facts, of which only some are needed.
        generic: ids of relations with generic templates that some example uses.
    """

    graph: Graph
    forms: Collection[str]
    limit: int
    seed: int
    as_of: int
    skipped: Counter[str] = field(default_factory=Counter)
    generic: set[str] = field(default_factory=set)
    _relations: Mapping[str, Mapping[str, Row]] = field(init=False)

    def __post_init__(self) -> None:
        """Read the templates."""
        self._relations = {form: askable_relations(self.graph, [_TEMPLATES[form]]) for form in self.forms}

    def of(self, groups: Sequence[FactGroup]) -> list[WordedGroup]:
        """Return the groups that have an example, in order. Cost: two walks from each subject."""
        keys = [fact.key for group in groups for fact in group.facts]
        described = facts_present(self.graph, keys)
        answers = read_answers(self.graph, list(described), self.as_of)
        worded: list[WordedGroup] = []
        for group in groups:
            # Reasons of the facts that have no example yet.
            reasons = dict.fromkeys((fact.key for fact in group.facts), "not in the graph")
            facts = [fact for fact in group.facts if fact.key in described]
            if facts:
                right = [row for row in answers[facts[0].key.fact] if row["current"]]
                worded += self._worded(group, facts, described, right, reasons)
            if group.purpose != KNOWN:
                self.skipped.update(reasons.values())
        return worded

    def _worded(
        self,
        group: FactGroup,
        facts: Sequence[ClassedFact],
        described: Mapping[FactKey, AskedFact],
        right: Sequence[Row],
        reasons: dict[FactKey, str],
    ) -> Iterator[WordedGroup]:
        """Yield a group if it has examples; keep in ``reasons`` only the facts without one."""
        examples: list[WordedExample] = []
        objects = {fact.object for fact in group.facts}
        if QUESTION in self.forms:
            examples += self._questions(group, facts, described, right, reasons)
            objects |= {row["id"] for row in right}
        # A sentence has no end that refuses.
        if STATEMENT in self.forms and group.purpose != REFUSED:
            examples += self._statements(group, facts, described, reasons)
        for example in examples:
            for fact in example.facts:
                reasons.pop(fact.key, None)
        if examples:
            yield WordedGroup(group, frozenset(objects), tuple(examples))

    def _questions(
        self,
        group: FactGroup,
        facts: Sequence[ClassedFact],
        described: Mapping[FactKey, AskedFact],
        right: Sequence[Row],
        reasons: dict[FactKey, str],
    ) -> list[WordedExample]:
        """Return the question of a group in its wordings; update the reasons of facts without one."""
        current = {row["id"] for row in right}
        stated = self._stated(facts, described, current, reasons)
        if not stated:
            return []
        texts, reason = self._question_texts(group, described[stated[0].key].subject_label, right)
        if group.purpose == KNOWN and current != {fact.object for fact in stated}:
            reason = "its question has other right answers, which are not known"
        if reason is not None:
            reasons |= dict.fromkeys((fact.key for fact in stated), reason)
            return []
        answer = _listed(row["label"] for row in right)
        return [WordedExample(QUESTION, text, answer, tuple(stated)) for text in self._drawn(group, QUESTION, texts)]

    def _stated(
        self,
        facts: Sequence[ClassedFact],
        described: Mapping[FactKey, AskedFact],
        current: Collection[str],
        reasons: dict[FactKey, str],
    ) -> list[ClassedFact]:
        """Return the facts with names and a current object; update the reasons of the others."""
        stated = []
        for fact in facts:
            reason = nameless(described[fact.key])
            if reason is None and fact.object in current:
                stated.append(fact)
            reasons[fact.key] = reason or f"does not hold at {self.as_of}"
        return stated

    def _question_texts(self, group: FactGroup, subject: str, right: Sequence[Row]) -> tuple[list[str], str | None]:
        """Return the questions that do not contain an answer; or none, and the reason."""
        relation = self._relations[QUESTION].get(group.relation)
        if relation is None:
            return [], "its relation is inactive or has no question"
        if len(right) >= WH_OBJECTS:
            return [], f"its question has {WH_OBJECTS} right answers or more"
        if not all(row["label"].strip() for row in right):
            return [], "its question has a right answer without a label"
        names = [name for row in right for name in (row["label"], *row["aliases"])]
        texts = [wh_question(template, subject) for template in relation["wh_questions"]]
        texts = [text for text in dict.fromkeys(texts) if not named_in(text, names)]
        return texts, None if texts else "its question contains the answer"

    def _statements(
        self,
        group: FactGroup,
        facts: Sequence[ClassedFact],
        described: Mapping[FactKey, AskedFact],
        reasons: dict[FactKey, str],
    ) -> Iterator[WordedExample]:
        """Yield the statements of each fact in its wordings; update the reasons of facts without one."""
        relation = self._relations[STATEMENT].get(group.relation)
        for fact in facts:
            words = described[fact.key]
            reason = nameless(words) or not_begun(words, self.as_of)
            templates: Sequence[str] = ()
            if relation is None:
                reason = "its relation is inactive or has no cloze sentence"
            elif reason is None:
                ended = has_ended(words.end, self.as_of)
                templates = templates_of(list(relation["clozes"]), list(relation["past_clozes"]), ended)
                reason = None if templates else "it has ended, and its relation has no sentence in the past tense"
            if reason is not None:
                reasons[fact.key] = reason
            for template in self._drawn(group, STATEMENT, templates):
                cloze = Cloze(template, words.subject_label)
                (end,) = cloze.continuations([words.object_label])
                yield WordedExample(STATEMENT, cloze.prompt, end, (fact,))

    def _drawn(self, group: FactGroup, form: str, texts: Sequence[str]) -> list[str]:
        """Return at most :attr:`limit` of some wordings, drawn for this group; count a relation with generic ones."""
        if texts and self._relations[form][group.relation]["generic"]:
            self.generic.add(group.relation)
        return sorted(texts, key=lambda text: seeded_number(self.seed, form, f"{group.subject} {text}"))[: self.limit]


def _listed(labels: Iterable[str]) -> str:
    return ", ".join(sorted(set(labels), key=lambda label: (label.casefold(), label)))
