"""``kgprobe.sample_facts`` and other calls that draw facts, distractors, negatives and questions."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from typing import TypeAlias

from kgprobe.arguments import several, whole_number
from kgprobe.dates import as_of_day
from kgprobe.errors import KgprobeError
from kgprobe.graph.client import Graph
from kgprobe.graph.names import relation_ids
from kgprobe.models.model import Model, Models
from kgprobe.options import make_options
from kgprobe.probes.clozes import ClozeItems
from kgprobe.probes.distractors import DistractorOptions
from kgprobe.probes.questions.items import QuestionItems
from kgprobe.results.samples import (
    DistractorSample,
    FactDistractors,
    FactNegatives,
    FactSample,
    NamedFact,
    NamedQuestion,
    NegativeSample,
    QuestionSample,
    SampledNegative,
)
from kgprobe.sampling.facts import AskedFact, askable_facts, askable_relations, describe_facts
from kgprobe.sampling.keys import FactKey
from kgprobe.sampling.lookup import describe_pool, find_facts
from kgprobe.sampling.question_negatives import Negative, Negatives
from kgprobe.sampling.selection import sample_facts as draw_facts
from kgprobe.search.strategies import STRATEGIES, Rivals, Sentences, StrategyOptions, make_strategy
from kgprobe.verbalize.sentences import Cloze
from kgprobe.verbalize.templates.kinds import OBJECT

# Keys, ids or names of one fact or several; see :func:`kgprobe.sampling.lookup.find_fact`.
Facts: TypeAlias = FactKey | str | Iterable[FactKey | str]


def sample_facts(
    graph: Graph,
    limit: int = 10,
    *,
    relations: Sequence[str] = (),
    seed: int = 0,
    as_of: int | str | date | None = None,
) -> FactSample:
    """Draw facts that can be asked: of active relations, current, with names of subject and object.

    >>> sample = kgprobe.sample_facts(graph, 3, relations=["P36"], as_of="2025-12")
    >>> len(sample), sorted(set(sample.to_frame()["relation"]))
    (3, ['P36'])

    Cost: one scan of the graph's facts, streamed.

    Args:
        limit: maximum number of facts, at least 1.
        relations: ids or names of relations; empty means all active ones.
        seed: random seed.
        as_of: facts count as current at this date; None is today.

    Raises:
        UnknownNameError: a relation is not in the graph, or not active.
        ArgumentError: an argument is out of range.
    """
    limit, seed = whole_number("limit", limit), whole_number("seed", seed, 0)
    relations = relation_ids(graph, several("relations", relations))
    day = as_of_day(as_of)
    askable = askable_facts(graph, list(askable_relations(graph, ids=relations)), day)
    drawn = draw_facts(askable, limit, seed)
    facts = describe_facts(graph, [drawn[position] for position in range(len(drawn))])
    return FactSample(
        named_facts(graph, facts), len(askable), notes=(f"{len(askable):,} facts can be asked at {day}.",)
    )


def sample_distractors(
    graph: Graph,
    facts: Facts,
    strategy: str = "random",
    *,
    model: Model | str | None = None,
    distractors: int = 10,
    sentences: int | None = 1,
    weighting: str = "tf-idf",
    max_prefixes: int = 2_000,
    seed: int = 0,
    as_of: int | str | date | None = None,
) -> DistractorSample:
    """Choose distractors: wrong objects to compare with the right one, best first, each with its reason.

    >>> sample = kgprobe.sample_distractors(graph, "France | capital | Paris", "semantic", distractors=3)
    >>> [row["object"] for row in sample.rows()]
    ['Q90', 'Q90', 'Q90']

    Distractors of a strategy that asks a model depend on the model and on the sentence:

    >>> sample = kgprobe.sample_distractors(graph, "Q142 P36 Q90", "exact-optimal", model="demo", distractors=2)
    >>> [(row["rank"], row["certified"]) for row in sample.rows()]
    [(1, True), (2, True)]

    Cost: see the strategies (:mod:`kgprobe.sampling`, :mod:`kgprobe.search`).

    Args:
        facts: names, ids or keys of facts: ``"France | capital | Paris"``, ``"Q142 P36 Q90"``.
        strategy: strategy of selection; ``kgprobe sample distractors --help`` lists all.
        model: model or spec; required by strategies that ask a model.
        distractors: maximum number for each fact, at least 1.
        sentences: number of the relation's cloze sentences, drawn at random, if a model is asked; None is all.
        weighting: weighting of features in the semantic strategies: ``tf-idf`` or ``bm25``.
        max_prefixes: maximum number of name prefixes that exact search scores for one sentence.
        seed: random seed.
        as_of: date at which true objects are excluded; None is today.

    Raises:
        UnknownNameError: no such fact, strategy or model.
        ArgumentError: an argument is out of range, or the strategy needs a model.
        KgprobeError: no fact has a cloze sentence, or the model returns no probabilities.
    """
    options = make_options(
        DistractorOptions,
        {
            "distractors": distractors,
            "sentences": sentences,
            "strategy": strategy,
            "weighting": weighting,
            "max_prefixes": max_prefixes,
        },
        "sample_distractors",
    )
    day, seed = as_of_day(as_of), whole_number("seed", seed, 0)
    keys = find_facts(graph, facts, day)
    kind = STRATEGIES.get(options.strategy)
    opened = None if model is None else Models().open(model)
    chooser = make_strategy(
        options.strategy,
        graph,
        opened.scorer() if kind.asks_model and opened is not None else None,
        StrategyOptions(day, options.weighting, options.max_prefixes),
    )
    notes: list[str] = []
    if kind.asks_model:
        pairs = _with_sentences(graph, keys, ClozeItems(graph, day, sentences=options.sentences), seed, notes)
    else:
        # Strategies without a model ignore the sentence; one placeholder is enough.
        pairs = [(fact, [Cloze(f"It is {OBJECT}", fact.subject_label)]) for fact in describe_facts(graph, keys)]
    rivals = chooser.rivals(pairs, options.distractors, [seed])
    facts_of_pairs = named_facts(graph, [fact for fact, _ in pairs])
    chosen = list(_chosen(facts_of_pairs, pairs, rivals, kind.asks_model))
    for each in chosen:
        notes += _unusual(graph, each, options.distractors)
    described = chooser.describe() | ({"model": opened.name} if kind.asks_model and opened is not None else {})
    return DistractorSample(described, chosen, notes=list(dict.fromkeys(notes)))


def _chosen(
    facts: Sequence[NamedFact], pairs: Sequence[Sentences], rivals: Sequence[Sequence[Rivals]], with_sentence: bool
) -> Iterator[FactDistractors]:
    """Yield the distractors of each fact and sentence.

    Args:
        with_sentence: True if distractors belong to their sentence.
    """
    for fact, (_, clozes), lists in zip(facts, pairs, rivals, strict=True):
        for cloze, rival in zip(clozes, lists, strict=True):
            sentence = cloze.prompt if with_sentence else None
            yield FactDistractors(fact, rival.distractors, sentence, rival.certified, rival.reason)


def _with_sentences(
    graph: Graph, keys: Sequence[FactKey], items: ClozeItems, seed: int, notes: list[str]
) -> list[Sentences]:
    """Return facts with their cloze sentences; add a note on each fact without one.

    Raises:
        KgprobeError: no fact has a cloze sentence.
    """
    described = items.of(keys, [seed])
    silent = [item for item in described if item.reason]
    for fact, item in zip(named_facts(graph, [item.fact for item in silent]), silent, strict=True):
        notes.append(f"{fact.title} has no cloze sentence: {item.reason}.")
    if len(silent) == len(described):
        raise KgprobeError("None of the facts has a cloze sentence for the model. " + " ".join(notes[:1]))
    return [(item.fact, item.clozes) for item in described]


def _unusual(graph: Graph, chosen: FactDistractors, requested: int) -> Iterator[str]:
    """Yield notes on a fact's distractors: an object without a type, or fewer of them than requested."""
    fact = chosen.fact.fact
    if chosen.reason:
        yield f"{chosen.fact.title}: {chosen.reason}."
    if len(chosen.distractors) < requested:
        pool = describe_pool(graph, fact.key)
        untyped = (
            "" if pool.typed else f" {fact.object_label} has no type, so the relation's objects count as its kind."
        )
        yield (
            f"{chosen.fact.title}: {len(chosen.distractors):,} distractors, not {requested:,}. There are {pool.size:,}"
            f" entities {pool.kind}; left out: {', '.join(pool.left_out)}.{untyped}"
        )


def sample_negatives(
    graph: Graph,
    facts: Facts,
    limit: int = 10,
    *,
    seed: int = 0,
    as_of: int | str | date | None = None,
) -> NegativeSample:
    """Draw negatives: wrong objects for yes/no questions.

    Each is an object of the same relation in another fact, so that its type does not reveal it.

    >>> sample = kgprobe.sample_negatives(graph, "France | capital | Paris", 3)
    >>> [row["former"] for row in sample.rows()]
    [False, False, False]

    Cost: see :mod:`kgprobe.sampling.pool_draws`, and a walk from each drawn object.

    Args:
        facts: names, ids or keys of facts: ``"France | capital | Paris"``, ``"Q142 P36 Q90"``.
        limit: maximum number for each fact, at least 1.
        seed: random seed.
        as_of: date at which true objects are excluded; None is today.

    Raises:
        UnknownNameError: there is no such fact.
        ArgumentError: an argument cannot be what it is.
    """
    limit, seed = whole_number("limit", limit), whole_number("seed", seed, 0)
    day = as_of_day(as_of)
    keys = find_facts(graph, facts, day)
    drawn = Negatives(graph, day).draw(keys, limit, [seed])
    against = [
        FactNegatives(fact, _elsewhere(graph, fact.fact, negatives))
        for fact, negatives in zip(named_facts(graph, describe_facts(graph, keys)), drawn, strict=True)
    ]
    notes = [
        f"{each.fact.title}: {len(each.negatives):,} hard negatives, not {limit:,}: no more exist."
        for each in against
        if len(each.negatives) < limit
    ]
    return NegativeSample(against, notes=list(dict.fromkeys(notes)))


def _elsewhere(graph: Graph, fact: AskedFact, negatives: Sequence[Negative]) -> list[SampledNegative]:
    ids = [negative.id for negative in negatives]
    answers = graph.read("sample/elsewhere", relation=fact.relation, subject=fact.key.subject, ids=ids)
    rows = {row["id"]: row for row in answers}
    return [
        SampledNegative(negative, row["subjects"], row["example"], row["until"])
        for negative in negatives
        for row in (rows[negative.id],)
    ]


def sample_questions(
    graph: Graph,
    facts: Facts,
    *,
    difficulty: str = "hard",
    with_alias: bool = False,
    seed: int = 0,
    as_of: int | str | date | None = None,
) -> QuestionSample:
    """Write the questions about facts that a seed selects, with prompts and right answers.

    >>> sample = kgprobe.sample_questions(graph, "France | capital | Paris", difficulty="easy", seed=3)
    >>> sample.to_frame()["kind"].tolist()
    ['yes/no']

    Cost: a walk from each subject, and the drawing of negatives.

    Args:
        facts: names, ids or keys of facts: ``"France | capital | Paris"``, ``"Q142 P36 Q90"``.
        difficulty: ``easy``: yes/no questions only; ``hard``: also who, which and what.
        with_alias: True to mention the subject's first alias.
        seed: random seed of kind, side and template.
        as_of: date of the right answer; None is today.

    Raises:
        UnknownNameError: there is no such fact.
        ArgumentError: an argument cannot be what it is.
        KgprobeError: no relation of the graph has a question.
    """
    day, seed = as_of_day(as_of), whole_number("seed", seed, 0)
    items = QuestionItems(graph, day, difficulty=difficulty, with_alias=with_alias)
    questions = items.of(find_facts(graph, facts, day), [seed])
    labelled = named_facts(graph, [question.fact for question in questions])
    return QuestionSample([NamedQuestion(fact, question) for fact, question in zip(labelled, questions, strict=True)])


def named_facts(graph: Graph, facts: Sequence[AskedFact]) -> list[NamedFact]:
    """Return facts with the labels of their relations."""
    labels: dict[str, str] = {row["id"]: row["label"] or row["id"] for row in graph.read("sample/relations")}
    return [NamedFact(fact, labels[fact.relation]) for fact in facts]
