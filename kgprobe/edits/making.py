"""Questions about edits, made from a graph: of the edited statement, its consequences, and facts that must not change.

docs/methods/edits.md. The criteria follow RippleEdits (arXiv 2307.12976): the statement, its paraphrases, aliases of
the subject, the inverse relation, negation, two hops, and facts of the same subject or of the same relation.
"""

import heapq
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

import msgspec

from kgprobe.edits import CONDITION, EFFICACY, FORGETTING, GENERALITY, LOCALITY, PORTABILITY, EditOptions
from kgprobe.edits.edit_lines import MOST_FACTS, Edit
from kgprobe.edits.published import ALIAS, INVERSE, PARAPHRASE, SAME_RELATION, SAME_SUBJECT, TWO_HOPS
from kgprobe.edits.questions import DISTRACTOR, NEW, OLD, EditQuestion, NamedAnswer
from kgprobe.errors import KgprobeError
from kgprobe.graph.client import Graph, Row
from kgprobe.probes.asking import read_answers
from kgprobe.records import Relation
from kgprobe.sampling.distractors import Distractor, RandomDistractors, other_subjects
from kgprobe.sampling.facts import AskedFact, describe_facts, names_of
from kgprobe.sampling.keys import FactKey, seeded_number
from kgprobe.verbalize.answers import normalized
from kgprobe.verbalize.articles import mention
from kgprobe.verbalize.askable_relations import askable_relations
from kgprobe.verbalize.sentences import Cloze, fill, wh_question
from kgprobe.verbalize.templates.generic import completed
from kgprobe.verbalize.templates.kinds import SUBJECT, backwards

NEGATION = "negation"
# Further subjects of an object up to which the inverse question has a definite answer.
_OTHER_SUBJECTS = 1
# Facts of a relation from which those of other subjects are drawn; objects in place of those of a missing old fact.
_POOL, _OBJECTS = 50, 200
# Sentences that name their object by a noun phrase: The capital of [X] is [Y]; [X]'s capital is [Y].
_NOUN = re.compile(r"[Tt](he .*\[X\].*?) (?:is|are) (?:a/an |an? |the )?\[Y\]")
_POSSESSIVE = re.compile(r"(\[X\]['’]s .+?) (?:is|are) (?:a/an |an? |the )?\[Y\]")
_INDEFINITE = re.compile(r"(?i)\b(?:a/an|an?) \[Y\]$")


@dataclass(slots=True)
class _Facts:
    """Data of the graph for the questions of all edits.

    Attributes:
        relations: rows of the relations with templates, by id.
        of_subjects: current facts by subject, of the subjects and the objects of edits.
        to_objects: current facts by relation and object, of the objects of edits.
        pools: some facts of each relation, in random order.
        described: facts with names, by key.
        truths: right objects by fact.
        distractors: wrong objects by fact.
        edited: subjects and relations of all edits, with the normalized names of their new objects.
        unmade: kinds of questions that could not be made, with the reason.
    """

    relations: Mapping[str, Row]
    of_subjects: Mapping[str, Sequence[Row]]
    to_objects: Mapping[tuple[str, str], Sequence[Row]]
    pools: Mapping[str, Sequence[FactKey]]
    edited: Mapping[tuple[str, str], Set[str]]
    described: dict[FactKey, AskedFact] = field(default_factory=dict)
    truths: dict[str, list[NamedAnswer]] = field(default_factory=dict)
    distractors: dict[str, list[NamedAnswer]] = field(default_factory=dict)
    unmade: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class _Plan:
    """The facts of the graph that are asked for one edit."""

    edit: Edit
    same_subject: Sequence[FactKey]
    same_relation: Sequence[FactKey]
    hops: Sequence[FactKey]

    @property
    def keys(self) -> list[FactKey]:
        """All facts, with the replaced or unlearned one."""
        own = [] if self.edit.fact is None else [self.edit.fact]
        return [*own, *self.same_subject, *self.same_relation, *self.hops]


def make_questions(
    graph: Graph, edits: Sequence[Edit], options: EditOptions, *, as_of: int, seed: int
) -> tuple[list[EditQuestion], Counter[str]]:
    """Return the questions about edits, and the kinds of questions that could not be made, with the reason.

    Cost: a walk from each subject and object of an edit, one scan of the graph's facts for those of other subjects, and
    the drawing of distractors.

    Args:
        as_of: facts are current at this date (``yyyymmdd``).

    Raises:
        KgprobeError: no relation of the edits has a template.
    """
    facts = _read_facts(graph, edits, options, as_of, seed)
    plans = [_planned(edit, facts, options, seed) for edit in edits if edit.relation in facts.relations]
    for edit in edits:
        if edit.relation not in facts.relations:
            facts.unmade[f"all of an edit: its relation {edit.relation} is inactive, or has no template"] += 1
    if not plans:
        used = ", ".join(sorted({edit.relation for edit in edits}))
        raise KgprobeError(
            f"No edit can be asked: the relations {used} are inactive, or have no label and no template."
        )
    _describe(graph, plans, facts, options, as_of, seed)
    questions: list[EditQuestion] = []
    for plan in plans:
        questions += _Author(plan, facts, options).write(graph, seed)
    return questions, facts.unmade


def _read_facts(graph: Graph, edits: Sequence[Edit], options: EditOptions, as_of: int, seed: int) -> _Facts:
    relations = askable_relations(graph, ["clozes"])
    ids, targets = set(), set()
    for edit in edits:
        objects = [entity.id for entity in (edit.object, edit.old) if entity is not None]
        ids |= {edit.subject.id, *objects}
        targets |= {(edit.relation, object_) for object_ in objects}
    of_subjects: defaultdict[str, list[Row]] = defaultdict(list)
    for row in graph.read("edits/facts_of_subjects", ids=sorted(ids), as_of=as_of, limit=MOST_FACTS):
        of_subjects[row["subject"]].append(row)
    to_objects: defaultdict[tuple[str, str], list[Row]] = defaultdict(list)
    rows = [{"relation": relation, "object": object_} for relation, object_ in sorted(targets)]
    for row in graph.read("edits/facts_to_objects", rows=rows, as_of=as_of, limit=_POOL):
        to_objects[row["relation"], row["object"]].append(row)
    edited: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for edit in edits:
        edited[edit.subject.id, edit.relation].update(map(normalized, edit.object.names))
    own = sorted({edit.relation for edit in edits} & relations.keys())
    pools = _pools(graph, own, as_of, seed) if options.neighbours else {}
    return _Facts(relations, of_subjects, to_objects, pools, edited)


def _pools(graph: Graph, relations: Sequence[str], as_of: int, seed: int) -> dict[str, list[FactKey]]:
    """Return some facts of each relation: those with the lowest hashes of seed and id."""
    heaps: defaultdict[str, list[tuple[int, FactKey]]] = defaultdict(list)
    for row in graph.stream("sample/demonstrations", relations=list(relations), as_of=as_of):
        ranked = (-seeded_number(seed, "edits", row["fact"]), FactKey(row["subject"], row["fact"]))
        heap = heaps[row["relation"]]
        if len(heap) < _POOL:
            heapq.heappush(heap, ranked)
        else:
            heapq.heappushpop(heap, ranked)
    return {relation: [key for _, key in sorted(heap, reverse=True)] for relation, heap in heaps.items()}


def _planned(edit: Edit, facts: _Facts, options: EditOptions, seed: int) -> _Plan:
    """Return the facts that are asked for an edit, none of them edited."""

    def shuffled(rows: Iterable[Row], count: int) -> list[FactKey]:
        usable = [row for row in rows if (row["subject"], row["relation"]) not in facts.edited]
        usable = [row for row in usable if row["relation"] in facts.relations and row["subject"] != row["object"]]
        usable.sort(key=lambda row: (seeded_number(seed, f"edits {edit.id}", row["fact"]), row["fact"]))
        # One fact of each relation.
        firsts: dict[str, Row] = {}
        for row in usable:
            firsts.setdefault(row["relation"], row)
        return [FactKey(row["subject"], row["fact"]) for row in firsts.values()][:count]

    same_subject = shuffled(facts.of_subjects[edit.subject.id], options.neighbours)
    hops = shuffled(facts.of_subjects[edit.object.id], 0 if edit.forgets else options.hops)
    return _Plan(edit, same_subject, _of_same_relation(edit, facts, options.neighbours), hops)


def _of_same_relation(edit: Edit, facts: _Facts, count: int) -> list[FactKey]:
    """Return facts of other subjects: up to half of them with the old object, the rest at random."""
    near = facts.to_objects[edit.relation, edit.former.id] if edit.former is not None else []
    neighbours = [FactKey(row["subject"], row["fact"]) for row in near]
    chosen: dict[str, FactKey] = {}
    for keys, most in ((neighbours, (count + 1) // 2), (facts.pools.get(edit.relation, ()), count)):
        for key in keys:
            is_edited = (key.subject, edit.relation) in facts.edited
            if len(chosen) < most and not is_edited and key.subject not in chosen:
                chosen[key.subject] = key
    return list(chosen.values())


def _describe(graph: Graph, plans: Sequence[_Plan], facts: _Facts, options: EditOptions, as_of: int, seed: int) -> None:
    """Read names, right objects and distractors of all facts of the plans."""
    keys = list(dict.fromkeys(key for plan in plans for key in plan.keys))
    if not keys:
        return
    facts.described = {fact.key: fact for fact in describe_facts(graph, keys)}
    for fact, rows in read_answers(graph, keys, as_of).items():
        current = [row for row in rows if row["current"] and row["label"].strip()]
        facts.truths[fact] = [
            NamedAnswer(tuple(names_of(row["label"], row["aliases"])), id=row["id"]) for row in current
        ]
    drawn = RandomDistractors(graph).retrieve(keys, options.distractors, [seed]) if options.distractors else ()
    for key, distractors in zip(keys, drawn, strict=False):
        facts.distractors[key.fact] = list(map(_wrong_answer, distractors))


def _wrong_answer(distractor: Distractor) -> NamedAnswer:
    return NamedAnswer(tuple(names_of(distractor.label, distractor.aliases)), DISTRACTOR, distractor.id)


def noun_phrase(clozes: Iterable[str]) -> str | None:
    """Return a phrase for the object of a relation, with ``[X]`` for the subject; None if no sentence gives one.

    >>> noun_phrase(["[X] lies in [Y]", "The capital of [X] is [Y]"])
    'the capital of [X]'
    """
    for cloze in clozes:
        noun, possessive = _NOUN.fullmatch(cloze), _POSSESSIVE.fullmatch(cloze)
        if noun:
            return f"t{noun[1]}"
        if possessive:
            return possessive[1]
    return None


class _Author:
    """Writer of the questions about one edit."""

    def __init__(self, plan: _Plan, facts: _Facts, options: EditOptions) -> None:
        self._plan, self._facts, self._options = plan, facts, options
        self._edit = plan.edit
        self._row = facts.relations[plan.edit.relation]
        self._questions: list[EditQuestion] = []
        self._counts: Counter[str] = Counter()
        edit = plan.edit
        was = "" if edit.old is None else f" (was {edit.old.names[0]})"
        labels = (edit.subject.names[0], self._row["label"] or edit.relation, edit.object.names[0])
        self._about = " · ".join(labels) + was

    def write(self, graph: Graph, seed: int) -> list[EditQuestion]:
        """Return the questions."""
        forgets = self._edit.forgets
        wrong = self._wrong_objects(graph, seed)
        self._statement(FORGETTING if forgets else EFFICACY, wrong)
        self._paraphrases(FORGETTING if forgets else GENERALITY, wrong)
        self._aliases(FORGETTING if forgets else GENERALITY, wrong)
        self._inverse(FORGETTING if forgets else PORTABILITY, graph, seed)
        if not forgets:
            self._negation()
            self._two_hops()
        for key in self._plan.same_subject:
            self._unchanged(SAME_SUBJECT, key)
        for key in self._plan.same_relation:
            self._unchanged(SAME_RELATION, key)
        return self._questions

    def _add(self, group: str, kind: str, prompt: str, expected: Sequence[NamedAnswer], **others: Any) -> str:
        self._counts[kind] += 1
        identifier = f"{self._edit.id}/{kind.replace(' ', '-')}/{self._counts[kind]}"
        question = EditQuestion(
            id=identifier,
            edit=self._edit.id,
            about=self._about,
            group=group,
            kind=kind,
            prompt=prompt,
            expected=tuple(expected),
            **others,
        )
        self._questions.append(question)
        return identifier

    def _add_cloze(
        self, group: str, kind: str, template: str, subject: str, expected: Sequence[NamedAnswer], **others: Any
    ) -> str:
        article = _INDEFINITE.search(template) is not None
        return self._add(group, kind, Cloze(template, subject).prompt, expected, article=article, **others)

    def _wrong_objects(self, graph: Graph, seed: int) -> tuple[NamedAnswer, ...]:
        """Return the old object and the distractors of the edited statement.

        New objects of other edits of the same subject and relation are right, too.
        """
        edit, count = self._edit, self._options.distractors
        excluded = set(self._facts.edited[edit.subject.id, edit.relation])
        wrong: list[NamedAnswer] = []
        if edit.old is not None:
            wrong.append(NamedAnswer(edit.old.names, OLD, edit.old.id))
            excluded |= set(map(normalized, edit.old.names))
        if edit.fact is not None:
            candidates: Sequence[NamedAnswer] = self._facts.distractors.get(edit.fact.fact, ())
        else:
            rows = graph.read("sample/object_labels", id=edit.relation, limit=_OBJECTS)
            rows.sort(key=lambda row: seeded_number(seed, f"edits {edit.id}", row["id"]))
            candidates = [NamedAnswer((row["label"],), DISTRACTOR, row["id"]) for row in rows]
        free = [answer for answer in candidates if excluded.isdisjoint(map(normalized, answer.names))]
        return (*wrong, *free[:count])

    @property
    def _expected(self) -> tuple[NamedAnswer]:
        return (NamedAnswer(self._edit.object.names, id=self._edit.object.id),)

    def _statement(self, group: str, wrong: tuple[NamedAnswer, ...]) -> None:
        self._add_cloze(
            group, EFFICACY, self._row["clozes"][0], self._edit.subject.names[0], self._expected, wrong=wrong
        )

    def _paraphrases(self, group: str, wrong: tuple[NamedAnswer, ...]) -> None:
        subject, most = self._edit.subject.names[0], self._options.paraphrases
        clozes = self._row["clozes"][1:]
        if not clozes and not self._row["wh_questions"] and most:
            self._facts.unmade["paraphrases: the relation has one sentence and no question"] += 1
        for template in clozes[:most]:
            self._add_cloze(group, PARAPHRASE, template, subject, self._expected, wrong=wrong)
        for template in self._row["wh_questions"][: max(0, most - len(clozes))]:
            question = wh_question(template, subject)
            self._add(group, PARAPHRASE, question, self._expected, form="question", wrong=wrong)

    def _aliases(self, group: str, wrong: tuple[NamedAnswer, ...]) -> None:
        label, *aliases = self._edit.subject.names
        others = [alias for alias in aliases if normalized(alias) != normalized(label)]
        if not others and self._options.aliases:
            self._facts.unmade["subject alias: the subject has no alias"] += 1
        for alias in others[: self._options.aliases]:
            self._add_cloze(group, ALIAS, self._row["clozes"][0], alias, self._expected, wrong=wrong)

    def _inverse(self, group: str, graph: Graph, seed: int) -> None:
        """Ask for the subject, if the object has at most one other subject."""
        edit = self._edit
        clozes = backwards(completed(msgspec.convert(self._row, Relation))).clozes
        subjects = self._facts.to_objects[edit.relation, edit.object.id]
        others = [row["label"] for row in subjects if row["subject"] != edit.subject.id]
        if not clozes:
            self._facts.unmade["inverse: no sentence of the relation ends in its subject"] += 1
            return
        if len(others) > _OTHER_SUBJECTS:
            self._facts.unmade["inverse: the object has several other subjects"] += 1
            return
        right = {normalized(name) for name in (*edit.subject.names, *others)}
        drawn: list[str] = []
        if edit.fact is not None and self._options.distractors:
            (drawn,) = other_subjects(graph, [edit.fact], self._options.distractors, [seed])
        wrong = tuple(NamedAnswer((label,), DISTRACTOR) for label in drawn if normalized(label) not in right)
        expected = (NamedAnswer(edit.subject.names, id=edit.subject.id),)
        self._add_cloze(group, INVERSE, clozes[0], edit.object.names[0], expected, wrong=wrong)

    def _negation(self) -> None:
        """Ask if the new object is right (yes), and if the old one is (no)."""
        templates, edit = self._row["yes_no_questions"], self._edit
        if not templates:
            self._facts.unmade["negation: the relation has no yes/no question"] += 1
            return
        for entity, verdict in ((edit.object, "yes"), (edit.old, "no")):
            if entity is not None:
                text = fill(templates[0], edit.subject.names[0], entity.names[0])
                self._add(PORTABILITY, NEGATION, text, (NamedAnswer((verdict,)),), form="yes/no")

    def _two_hops(self) -> None:
        """Ask for facts of the new object, named by the edited statement; each is a condition, too."""
        phrase = noun_phrase(self._row["clozes"])
        if phrase is None:
            self._facts.unmade["two hops: no sentence of the relation has the form 'The … of [X] is [Y]'"] += 1
            return
        described = phrase.replace(SUBJECT, mention(self._edit.subject.names[0]))
        for key in self._plan.hops:
            fact = self._facts.described[key]
            template = self._facts.relations[fact.relation]["clozes"][0]
            expected, wrong = self._answers_of(fact, self._former_hop(fact.relation))
            condition = self._add_cloze(CONDITION, CONDITION, template, fact.subject_label, expected, wrong=wrong)
            self._add_cloze(PORTABILITY, TWO_HOPS, template, described, expected, wrong=wrong, needs=(condition,))

    def _former_hop(self, relation: str) -> list[NamedAnswer]:
        """Return the objects of the old object in a relation: the answers before the edit, if they were read."""
        old = self._edit.old
        rows = [] if old is None else self._facts.of_subjects.get(old.id, ())
        return [NamedAnswer((row["label"],), OLD, row["object"]) for row in rows if row["relation"] == relation]

    def _unchanged(self, kind: str, key: FactKey) -> None:
        """Ask for a fact that must not change."""
        fact, edit = self._facts.described[key], self._edit
        further = []
        if kind == SAME_RELATION:
            further = [NamedAnswer(edit.object.names, OLD if edit.forgets else NEW, edit.object.id)]
            if edit.old is not None:
                further.append(NamedAnswer(edit.old.names, OLD, edit.old.id))
        expected, wrong = self._answers_of(fact, further)
        template = self._facts.relations[fact.relation]["clozes"][0]
        self._add_cloze(LOCALITY, kind, template, fact.subject_label, expected, wrong=wrong)

    def _answers_of(
        self, fact: AskedFact, further: Sequence[NamedAnswer]
    ) -> tuple[list[NamedAnswer], tuple[NamedAnswer, ...]]:
        """Return the right answers to the question of a fact, its own object first, and wrong ones.

        Args:
            further: wrong answers, where they are not right.
        """
        expected = sorted(self._facts.truths[fact.key.fact], key=lambda answer: answer.id != fact.object)
        excluded = {normalized(name) for answer in expected for name in answer.names}
        wrong = []
        for answer in (*further, *self._facts.distractors.get(fact.key.fact, ())):
            names = set(map(normalized, answer.names))
            if excluded.isdisjoint(names):
                wrong.append(answer)
                excluded |= names
        return expected, tuple(wrong)
