"""In-context estimation on the facts and choices of a data set, without a graph.

Section 2, appendix F and appendix H.7 of the latent-knowledge paper; docs/methods/data-sets.md. Prompts and verdicts
are those of the probes ``examples`` and ``generation``; the examples are facts of ``train``.
"""

import hashlib
import heapq
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import msgspec

from kgprobe.base.errors import KgprobeError, UnknownNameError, expected_one_of
from kgprobe.base.progress import share_counter
from kgprobe.datasets.folder import RELATIONS_FILE, TEST, TRAIN, ChoiceRow, DatasetFolder, cloze_templates
from kgprobe.models.generating.generator import Generator, Request
from kgprobe.models.model import Model
from kgprobe.models.scoring.contract import TextScorer
from kgprobe.probes.asking import in_order
from kgprobe.probes.clozes import SENTENCES, lacking_sentence
from kgprobe.probes.examples import ExampleOptions, PromptOptions, checked_options
from kgprobe.probes.examples.evidence import ExampleEvidence
from kgprobe.probes.examples.items import ChoiceItem, ask_after_examples, ask_in_sentences
from kgprobe.probes.examples.packing import ask_packed
from kgprobe.probes.examples.prompts import (
    NO_EXAMPLE,
    ExamplePrompts,
    Layout,
    Prompt,
    Room,
    numbered_templates,
    sentence_prompt,
    unescaped,
)
from kgprobe.probes.generation import GenerationOptions
from kgprobe.probes.generation.probe import (
    ObjectNames,
    continuation_request,
    outcome_of_text,
    permission,
    reason_unfindable,
)
from kgprobe.probes.known_names import related_names
from kgprobe.probes.outcome import Outcome
from kgprobe.sampling.demonstrations import Demonstration
from kgprobe.sampling.facts import AskedFact
from kgprobe.sampling.keys import FactKey, seeded_number
from kgprobe.sampling.pool_draws import generator_of
from kgprobe.verbalize.sentences import Cloze

# Share of a batch's progress that generation takes; the rest is reading the texts.
_WRITING = 0.95
# Bytes read at a time for a file's hash.
_DIGEST_BYTES = 1 << 20


def dataset_demonstrations(folder: DatasetFolder, seed: int) -> dict[str, list[Demonstration]]:
    """Return the facts of ``train`` by relation, ordered by a hash of the seed and their ids.

    Memory: the names of the facts of ``train``.
    """
    by_relation: dict[str, list[Demonstration]] = {}
    for _, row in folder.rows(TRAIN):
        example = Demonstration(row.fact_id, row.subject_id, row.subject, row.object_id, row.object)
        by_relation.setdefault(row.relation, []).append(example)
    for examples in by_relation.values():
        examples.sort(key=lambda example: (seeded_number(seed, "example", example.fact), example.fact))
    return by_relation


@dataclass(frozen=True, slots=True)
class DatasetQuestions:
    """The facts to ask of a data set.

    Attributes:
        rows: by the fact's id, in the order of the file.
        labels: label of each relation by id.
    """

    folder: DatasetFolder
    rows: Mapping[str, ChoiceRow]
    labels: Mapping[str, str]

    @property
    def keys(self) -> list[FactKey]:
        """The keys of the facts."""
        return [FactKey(row.subject_id, row.fact_id) for row in self.rows.values()]

    def items(self, facts: Sequence[FactKey]) -> list[ChoiceItem]:
        """Return facts with their choices."""
        return [self.rows[key.fact].item() for key in facts]


def dataset_relations(folder: DatasetFolder, names: Sequence[str] = ()) -> dict[str, str]:
    """Return the labels of the relations of ``test`` by id: of all, or of those with one of these ids or labels.

    Raises:
        UnknownNameError: no relation has such a name.
    """
    labels = {row.relation: row.relation_label for _, row in folder.rows(TEST)}
    chosen: dict[str, str] = {}
    for name in names:
        own = [id_ for id_, label in labels.items() if name.lower() in (id_.lower(), label.lower())]
        if not own:
            known = expected_one_of(name, [*labels.values(), *labels])
            raise UnknownNameError(f"There is no relation {name!r} in {folder.path}; {known}.")
        chosen |= {id_: labels[id_] for id_ in own}
    return chosen if names else labels


def dataset_questions(
    folder: DatasetFolder,
    per_relation: int | None,
    limit: int | None,
    seed: int,
    relations: Collection[str] = (),
) -> DatasetQuestions:
    """Return facts of ``test``: the first of each relation, or a draw of them: the lowest hashes of seed and fact.

    Cost: one or two passes over the file, which check every row. Memory: the facts, and each name once.

    Args:
        per_relation: only the first facts of each relation; None is all.
        limit: maximum number of facts; None is all.
        relations: ids of the relations; empty for all.
    """
    places: Collection[int] | None = None
    if limit is not None:
        ranked = enumerate(limited_rows(folder, per_relation, relations))
        ranks = ((seeded_number(seed, "asked", row.fact_id), place) for place, row in ranked)
        places = {place for _, place in heapq.nsmallest(limit, ranks)}
    names: dict[str, str] = {}
    rows: dict[str, ChoiceRow] = {}
    labels: dict[str, str] = {}
    for place, row in enumerate(limited_rows(folder, per_relation, relations)):
        if places is None or place in places:
            if row.fact_id in rows:
                raise KgprobeError(f"{folder.path}: {TEST} has the fact {row.fact_id} twice; remove one of its rows.")
            rows[row.fact_id] = _interned(row, names)
            labels[row.relation] = row.relation_label
    return DatasetQuestions(folder, rows, labels)


def _interned(row: ChoiceRow, names: dict[str, str]) -> ChoiceRow:
    """Return a row whose names are shared with other rows: an object is a choice of many facts."""
    choices, ids = (tuple(names.setdefault(name, name) for name in texts) for texts in (row.choices, row.choice_ids))
    return msgspec.structs.replace(row, choices=choices, choice_ids=ids)


def limited_rows(folder: DatasetFolder, limit: int | None, relations: Collection[str] = ()) -> Iterator[ChoiceRow]:
    """Yield the facts of ``test``, at most ``limit`` per relation; of these relations, or of all without any."""
    counts: Counter[str] = Counter()
    for _, row in folder.rows(TEST):
        counts[row.relation] += 1
        is_chosen = not relations or row.relation in relations
        if is_chosen and (limit is None or counts[row.relation] <= limit):
            yield row


def digest_of_dataset(folder: DatasetFolder) -> str:
    """Return a hash of a data set's files: the facts of both splits, and the sentences of the relations."""
    digest = hashlib.sha256()
    for path in (*folder.files.values(), folder.path / RELATIONS_FILE):
        if path.is_file():
            with path.open("rb") as file:
                while part := file.read(_DIGEST_BYTES):
                    digest.update(part)
    return digest.hexdigest()[:16]


class _DatasetPrompts:
    """Prompts about the facts of a data set."""

    def __init__(self, questions: DatasetQuestions, options: PromptOptions, room: Room) -> None:
        self._options = options
        self._questions = questions
        self._clozes: dict[str, list[str]] = {}
        self._generic: list[str] = []
        if options.prompt != "examples":
            path, labels = questions.folder.path, questions.labels
            self._clozes, self._generic = cloze_templates(path, labels, options.templates)
        numbered = numbered_templates(self._clozes, options.template) if options.prompt == "both" else {}
        layout = Layout(unescaped(options.separator), unescaped(options.between))
        self.examples = ExamplePrompts(layout, options.examples, room, numbered)
        self._demonstrations: dict[int, dict[str, list[Demonstration]]] = {}

    def describe(self) -> dict[str, Any]:
        """Return the settings that the prompts depend on, without facts and seed; JSON-compatible."""
        options = self._options
        described: dict[str, Any] = {"prompt": options.prompt}
        if options.prompt != "sentences":
            names = ("examples", "separator", "between", "examples_seed")
            described |= {name: getattr(options, name) for name in names}
        if options.prompt != "examples":
            described |= {"clozes": self._clozes, "template": options.template}
        return described | ({"generic": self._generic} if self._generic else {})

    def cloze(self, fact: AskedFact, seed: Sequence[int]) -> Cloze | str:
        """Return the cloze sentence of a fact, one at random or that of the options, or the reason for none."""
        sentences = self._clozes.get(fact.relation, [])
        number = self._options.template
        if not sentences or (number or 1) > len(sentences):
            return lacking_sentence(number)
        if number is None:
            number = 1 + int(generator_of(fact.key, [*seed, SENTENCES]).integers(len(sentences)))
        return Cloze(sentences[number - 1], fact.subject_label)

    def reason_unaskable(self, fact: AskedFact) -> str | None:
        """Return why a fact cannot be asked after examples; None if it can."""
        if self._options.prompt == "both" and fact.relation not in self.examples.templates:
            return lacking_sentence(self._options.template)
        return None

    def demonstrations(self, seed: Sequence[int]) -> Mapping[str, Sequence[Demonstration]]:
        """Return the formatted examples of each relation, in the order of use; all have an entry."""
        first = seed[0] if self._options.examples_seed is None else self._options.examples_seed
        if first not in self._demonstrations:
            drawn = dataset_demonstrations(self._questions.folder, first)
            worded = {}
            for relation in self._questions.labels:
                worded[relation] = self.examples.worded(relation, drawn.get(relation, []))
            self._demonstrations = {first: worded}
        return self._demonstrations[first]


class DatasetExamples:
    """The probe ``examples`` on a data set; see :class:`~kgprobe.probes.outcome.Probe`."""

    def __init__(self, questions: DatasetQuestions, scorer: TextScorer, options: ExampleOptions) -> None:
        self.relations: Sequence[str] = sorted(questions.labels)
        self._options = checked_options(options)
        self._questions = questions
        self._scorer = scorer
        self._prompts = _DatasetPrompts(questions, self._options, Room(scorer))

    def describe(self) -> dict[str, Any]:
        """Return model and prompts."""
        options = self._options
        return {
            "model": self._scorer.name,
            "scorer": self._scorer.describe(),
            "packed": options.packed,
            **({"separate_tokens": True} if options.separate_tokens else {}),
            **self._prompts.describe(),
        }

    def ask(self, facts: Sequence[FactKey], seed: Sequence[int]) -> list[Outcome]:
        """Return an outcome for each fact. Cost: one scoring of all choices."""
        items, options = self._questions.items(facts), self._options
        described = [item.fact for item in items]
        if options.prompt == "sentences":
            clozes = [self._prompts.cloze(fact, seed) for fact in described]
            reasons = [cloze if isinstance(cloze, str) else None for cloze in clozes]
            usable = [cloze for cloze in clozes if isinstance(cloze, Cloze)]
            return in_order(described, reasons, ask_in_sentences(self._scorer, _possible(items, reasons), usable))
        reasons = list(map(self._prompts.reason_unaskable, described))
        chosen, demonstrations = _possible(items, reasons), self._prompts.demonstrations(seed)
        if options.packed:
            separate = options.separate_tokens
            answered = ask_packed(
                self._scorer, self._prompts.examples, chosen, demonstrations, seed, separate_tokens=separate
            )
        else:
            answered = ask_after_examples(self._scorer, self._prompts.examples, chosen, demonstrations)
        return in_order(described, reasons, answered)


def _possible(items: Sequence[ChoiceItem], reasons: Sequence[str | None]) -> list[ChoiceItem]:
    return [item for item, reason in zip(items, reasons, strict=True) if reason is None]


class DatasetGeneration:
    """The probe ``generation`` on a data set; wrong names are those of the fact's choices."""

    def __init__(
        self, questions: DatasetQuestions, generator: Generator, room: Room, options: GenerationOptions
    ) -> None:
        """Make a probe; ``room`` reserves the new tokens."""
        self.relations: Sequence[str] = sorted(questions.labels)
        self._questions = questions
        self._generator = generator
        self._options = options
        self._prompts = _DatasetPrompts(questions, options, room)

    def describe(self) -> dict[str, Any]:
        """Return model, prompts and length of the text."""
        options = self._options
        generator = {name: value for name, value in self._generator.describe().items() if name != "prompt"}
        return {
            "model": self._generator.name,
            "generator": generator,
            "new_tokens": options.new_tokens,
            "until": options.until,
            "permission": permission(options),
            **self._prompts.describe(),
        }

    def ask(self, facts: Sequence[FactKey], seed: Sequence[int]) -> list[Outcome]:
        """Return an outcome for each fact. Cost: a pass over each prompt, and one for each new token."""
        items, layout = self._questions.items(facts), self._prompts.examples.layout
        reasons: list[str | None] = []
        possible: list[tuple[ChoiceItem, Prompt]] = []
        requests: list[Request] = []
        for item in items:
            prompt = self._prompt(item, seed)
            if isinstance(prompt, str):
                reasons.append(prompt)
                continue
            reasons.append(None)
            possible.append((item, prompt))
            requests.append(continuation_request(prompt, layout, self._options.new_tokens, permission(self._options)))
        answers = self._generator.answer(requests, share_counter(len(requests), _WRITING))
        outcomes = []
        for (item, prompt), request, answer in zip(possible, requests, answers, strict=True):
            until = self._options.until
            names = ObjectNames([item.fact.object_label], (), (), related_names(item.fact, item.labels, None))
            outcomes.append(outcome_of_text(item.fact, prompt, request.prompt, answer, names, until))
        share_counter(len(outcomes))(len(outcomes))
        return in_order([item.fact for item in items], reasons, outcomes)

    def _prompt(self, item: ChoiceItem, seed: Sequence[int]) -> Prompt | str:
        """Return the prompt of a fact, or the reason why there is none."""
        reason = self._prompts.reason_unaskable(item.fact) or reason_unfindable([item.fact.object_label])
        if reason is not None:
            return reason
        if self._options.prompt == "sentences":
            cloze = self._prompts.cloze(item.fact, seed)
            return cloze if isinstance(cloze, str) else sentence_prompt(cloze)
        demonstrations = self._prompts.demonstrations(seed)[item.fact.relation]
        prompt = self._prompts.examples.prompt(item.fact, demonstrations)
        return prompt if prompt.examples else NO_EXAMPLE


def dataset_probe(
    questions: DatasetQuestions, model: Model, options: ExampleOptions | GenerationOptions
) -> DatasetExamples | DatasetGeneration:
    """Return the probe of a data set with the options of ``examples`` or of ``generation``."""
    if isinstance(options, ExampleOptions):
        return DatasetExamples(questions, model.scorer(), options)
    room = Room(model.scorer() if model.scores else None, options.new_tokens, permission(options))
    return DatasetGeneration(questions, model.generator(), room, options)


def answer_line(row: ChoiceRow, outcome: Outcome) -> dict[str, Any]:
    """Return the line of a fact in the file of answers.

    ``predicted`` is the object if it was more probable than every other choice, else the most probable other choice;
    ``log_probabilities`` are in the order of the row's choices, null for those beyond the model's context. After
    generation, the line has the ``text`` instead.
    """
    line: dict[str, Any] = {
        "fact_id": row.fact_id,
        "relation": row.relation,
        "subject": row.subject,
        "object": row.object,
    }
    evidence = outcome.evidence
    if evidence is None or not outcome.verdict.counts:
        return line | {"right": None, "reason": outcome.reason}
    line |= {"right": outcome.verdict.value == "right", "prompt": outcome.prompt}
    if not isinstance(evidence, ExampleEvidence):
        return line | {"predicted": evidence.prediction, "text": evidence.alternatives.text}
    ids = [evidence.object.id, *map(attrgetter("id"), evidence.others)]
    values = dict(zip(ids, evidence.log_probabilities.tolist(), strict=True))
    predicted = row.object if evidence.prediction is None else evidence.prediction
    return line | {
        "predicted": predicted,
        "predicted_id": row.choice_ids[row.choices.index(predicted)],
        "confidence": evidence.probability,
        "examples": evidence.examples,
        "log_probabilities": list(map(values.get, row.choice_ids)),
    }
