"""Clozes written and scored by a language model, for a relation without clozes.

The model answers several times (:mod:`kgprobe.models.generating.local`). Proposals in its answers are checked
(:mod:`.proposals`) and ranked by the mean log-probability of the objects of real facts. A sentence without any word of
the relation must also distinguish the relation's facts from swapped ones. Review the results: plausible errors are not
detected, such as a reversed sentence in other words (*[X] was the writer of [Y]*, where [X] is the book).
"""

import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, product
from operator import attrgetter
from typing import Any

import numpy as np

from kgprobe.graph.client import Graph
from kgprobe.models.generating.generator import Request, Unanswered
from kgprobe.models.generating.local import LocalGenerator
from kgprobe.models.scoring.scorer import Scorer
from kgprobe.models.scoring.tokens import TextError
from kgprobe.records import Relation
from kgprobe.verbalize.sentences import Cloze
from kgprobe.verbalize.templates.examples import Example, examples_of
from kgprobe.verbalize.templates.generic import cloze_of_label, completed, label_of
from kgprobe.verbalize.templates.proposals import (
    Shot,
    objections,
    proposed,
    shares_word,
    shot_of,
    shots_of,
    writing_prompt,
)
from kgprobe.verbalize.tense import has_ended, in_the_past

# Facts used to score a cloze.
WEIGHED_FACTS = 16
# Minimum share of pairs of facts that are more probable than the same pairs with swapped objects.
PAIRED = 2 / 3
# Sampling temperature.
TEMPERATURE = 0.8
_NEW_TOKENS = 40


@dataclass(frozen=True, slots=True)
class Weighed:
    """A cloze with its scores.

    Attributes:
        log_probability: mean log-probability (natural) of the object's label after the sentence.
        paired: share of pairs of facts that are more probable than the same pairs with swapped objects; chance level
            0.5. None without pairs.
    """

    cloze: str
    log_probability: float
    paired: float | None


@dataclass(frozen=True, slots=True)
class WrittenClozes:
    """Clozes that a model wrote for a relation.

    Attributes:
        clozes: usable clozes, the most probable first.
        rejected: objections to the others, by cloze.
        silent: number of answers without any sentence.
    """

    clozes: Sequence[Weighed]
    rejected: Mapping[str, Sequence[str]]
    silent: int


def write_clozes(
    scorer: Scorer,
    relation: Relation,
    examples: Sequence[Example],
    shots: Sequence[Shot],
    others: Sequence[Relation],
    *,
    answers: int,
    keep: int,
    seed: int,
    as_of: int,
) -> WrittenClozes:
    """Write clozes for a relation with a model.

    Args:
        scorer: the model that writes and scores.
        examples: facts of the relation, at least one.
        shots: other relations with a cloze each, as few-shot examples.
        others: other relations of the graph, which a cloze must not express.
        answers: number of answers of the model.
        keep: maximum number of clozes.
        seed: seed of the answers, together with the relation's id.
        as_of: facts that ended before it (``yyyymmdd``) are not used, if there are others.

    Raises:
        TextError: The prompt is too long for the model or for memory, or the model cannot encode a name.

    Cost: ``answers`` continuations of some tokens, and ``WEIGHED_FACTS`` prompts with as many names for each proposal.
    """
    current = [example for example in examples if not has_ended(example.end, as_of)] or list(examples)
    shown = shot_of(relation, current)
    drawn = _draw(scorer, writing_prompt(shots, shown), answers, [seed, zlib.crc32(relation.id.encode())])
    proposals = [proposed(answer, shown) for answer in drawn]
    distinct = list(dict.fromkeys(chain.from_iterable(proposals)))
    kept, rejected = choose(scorer, relation, distinct, current, others)
    return WrittenClozes(kept[:keep], rejected, proposals.count([]))


def _draw(scorer: Scorer, prompt: str, count: int, seed: Sequence[int]) -> list[str]:
    """Draw independent answers to one prompt.

    Raises:
        TextError: The model cannot process the prompt.
    """
    seeds = np.random.default_rng(seed).integers(2**31, size=count).tolist()
    requests = [Request(prompt, _NEW_TOKENS, TEMPERATURE, answer_seed) for answer_seed in seeds]
    texts = []
    for answer in LocalGenerator(scorer).answer(requests):
        if isinstance(answer, Unanswered):
            raise TextError(answer.reason)
        texts.append(answer.text)
    return texts


def choose(
    scorer: Scorer,
    relation: Relation,
    proposals: Sequence[str],
    examples: Sequence[Example],
    others: Sequence[Relation],
) -> tuple[list[Weighed], dict[str, Sequence[str]]]:
    """Return the usable clozes, the most probable first, and the objections to the others.

    Arguments and errors as in :func:`write_clozes`.
    """
    rejected: dict[str, Sequence[str]] = {}
    passed = []
    for cloze in proposals:
        if problems := objections(cloze, relation, examples, others):
            rejected[cloze] = problems
        else:
            passed.append(cloze)
    kept = []
    for weighed in weigh(scorer, passed, examples):
        if shares_word(weighed.cloze, relation) or (weighed.paired is not None and weighed.paired >= PAIRED):
            kept.append(weighed)
        else:
            share = "" if weighed.paired is None else f" ({weighed.paired:.0%} of pairs)"
            problem = f"has no word of the relation, and does not distinguish its facts from swapped ones{share}"
            rejected[weighed.cloze] = [problem]
    return sorted(kept, key=lambda weighed: (-weighed.log_probability, weighed.cloze)), rejected


def weigh(scorer: Scorer, clozes: Sequence[str], examples: Sequence[Example]) -> list[Weighed]:
    """Score clozes by the log-probabilities of the objects of facts, in the order of the clozes.

    Args:
        clozes: valid templates.
        examples: facts of one relation, at least one; one per subject is used, for the first ``WEIGHED_FACTS``.

    Raises:
        TextError: The model cannot encode a name.
    """
    objects: dict[str, str] = {}
    for example in examples:
        objects.setdefault(example.subject, example.object)
    facts = list(objects.items())[:WEIGHED_FACTS]
    labels = [label for _, label in facts]
    filled = [Cloze(template, subject) for template, (subject, _) in product(clozes, facts)]
    names = []
    for cloze in filled:
        continuations = [cloze.continuations([label])[0] for label in labels]
        names.append(continuations)
    scores = scorer.score([cloze.prompt for cloze in filled], names)
    for scored in scores:
        for reason in scored.reasons.values():
            raise TextError(reason)
    rows, columns = np.triu_indices(len(facts), 1)
    different = np.array(labels, dtype=object)[rows] != np.array(labels, dtype=object)[columns]
    rows, columns = rows[different], columns[different]
    weighed = []
    for number, template in enumerate(clozes):
        # Subjects in rows, objects in columns.
        matrix = np.stack([scored.values for scored in scores[number * len(facts) : (number + 1) * len(facts)]])
        own = matrix.diagonal()
        # A swap cancels the general probability of a label.
        gains = (own[:, None] + own - matrix - matrix.T)[rows, columns]
        weighed.append(Weighed(template, float(own.mean()), float((gains > 0).mean()) if len(gains) else None))
    return weighed


def reason_for_none(written: WrittenClozes, answers: int) -> str:
    """Return the reason why no cloze is usable, with the most frequent objections."""
    if not written.rejected:
        return f"none of {answers} answers holds a sentence with [X] and [Y]"
    counts = Counter(chain.from_iterable(written.rejected.values()))
    most = "; ".join(f"{count} × {problem}" for problem, count in counts.most_common(3))
    return f"none of {len(written.rejected)} proposals can be asked: {most}"


LABEL = "label"


@dataclass(frozen=True, slots=True)
class WrittenRelation:
    """Result of writing clozes for a relation.

    Attributes:
        relation: the relation with the new clozes, or unchanged if there are none.
        written_by: the model, or ``LABEL``.
        weighed: the clozes with their scores; empty for clozes made from labels.
        reason: reason for the lack of clozes, a clause; None if there are some.
    """

    relation: Relation
    written_by: str
    weighed: Sequence[Weighed] = ()
    reason: str | None = None

    def remarks(self) -> dict[str, Any]:
        """Return notes on the clozes for a file."""
        remarks: dict[str, Any] = {"written_by": self.written_by}
        if self.weighed:
            remarks["log_probabilities"] = [round(cloze.log_probability, 3) for cloze in self.weighed]
            remarks["told_apart"] = [None if cloze.paired is None else round(cloze.paired, 3) for cloze in self.weighed]
        return remarks


def write_from_labels(graph: Graph, relations: Sequence[Relation], as_of: int) -> Iterator[WrittenRelation]:
    """Write generic templates for each relation from its label, or from an id in words, if the cloze passes the checks.

    Templates that a relation has are kept.

    Args:
        as_of: reference date (``yyyymmdd``) of the facts used in the checks.
    """
    for relation in relations:
        examples = examples_of(graph, relation.id, as_of)
        cloze = cloze_of_label(label_of(relation))
        if not label_of(relation):
            yield WrittenRelation(relation, LABEL, reason="it has no label")
        elif cloze is None:
            source = "label" if relation.label else "id, used as its label,"
            yield WrittenRelation(relation, LABEL, reason=f"its {source} is not a phrase that can form a sentence")
        elif problems := objections(cloze, relation, examples, ()):
            yield WrittenRelation(relation, LABEL, reason=f"{cloze!r} {', '.join(problems)}")
        else:
            generic = _with_clozes(completed(relation), [cloze], examples)
            yield WrittenRelation(generic, LABEL)


def write_by_model(
    graph: Graph,
    scorer: Scorer,
    name: str,
    relations: Sequence[Relation],
    known: Sequence[Relation],
    *,
    proposals: int,
    keep: int,
    seed: int,
    as_of: int,
) -> Iterator[WrittenRelation]:
    """Write clozes for each relation with a model, and keep those that pass the checks.

    Other arguments and cost per relation as in :func:`.writing.write_clozes`.

    Args:
        name: name of the model.
        known: all relations of the graph: few-shot examples, and meanings that a cloze must not express.
        proposals: number of answers per relation.
    """
    shots = shots_of(known, lambda relation: examples_of(graph, relation.id, as_of), seed)
    for relation in relations:
        examples = examples_of(graph, relation.id, as_of)
        if not examples:
            reason = "it has no fact with a name at both ends, as required for the prompt"
            yield WrittenRelation(relation, name, reason=reason)
            continue
        try:
            written = write_clozes(
                scorer, relation, examples, shots, known, answers=proposals, keep=keep, seed=seed, as_of=as_of
            )
        except TextError as error:
            yield WrittenRelation(relation, name, reason=str(error).rstrip("."))
            continue
        if not written.clozes:
            yield WrittenRelation(relation, name, reason=reason_for_none(written, proposals))
            continue
        clozes = [weighed.cloze for weighed in written.clozes]
        yield WrittenRelation(_with_clozes(relation, clozes, examples), name, written.clozes)


def _with_clozes(relation: Relation, clozes: Sequence[str], examples: Sequence[Example]) -> Relation:
    """Return the relation with these clozes, and with past clozes if any of its facts has ended."""
    past_clozes = relation.past_clozes
    if any(map(attrgetter("end"), examples)):
        converted = map(in_the_past, clozes)
        past_clozes = tuple(past for past in converted if past is not None and past not in clozes) or past_clozes
    return replace(relation, clozes=tuple(clozes), past_clozes=past_clozes)
