"""``kgprobe.sample_facts`` and other calls that draw facts, distractors, negatives, questions and controls."""

from collections.abc import Iterable, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any, TypeAlias

from kgprobe.base.arguments import optional_number, several, whole_number
from kgprobe.base.dates import as_of_day
from kgprobe.base.options import documented, make_options
from kgprobe.graph.client import Graph
from kgprobe.graph.names import relation_ids
from kgprobe.labelling.control_options import ControlOptions
from kgprobe.models.model import Model, Models
from kgprobe.probes.distractors import DistractorOptions, FormerOption
from kgprobe.probes.questions.items import QuestionItems
from kgprobe.probes.statements import NegativeOptions
from kgprobe.probes.statements.items import StatementItems
from kgprobe.results.samples import (
    DistractorSample,
    FactSample,
    NegativeSample,
    QuestionSample,
    SentenceSample,
    StatementSample,
    choose_distractors,
    draw_facts,
    draw_negatives,
    write_questions,
    write_sentences,
    write_statements,
)
from kgprobe.sampling.drawing import Draw, DrawOptions
from kgprobe.sampling.keys import FactKey
from kgprobe.sampling.lookup import find_facts

if TYPE_CHECKING:
    from kgprobe.labelling.controls import ControlSample
    from kgprobe.sampling.selection import Listed


# Keys, ids or names of one fact or several; see :func:`kgprobe.sampling.lookup.find_fact`.
Facts: TypeAlias = FactKey | str | Iterable[FactKey | str]


@documented(parameters=[Draw])
def sample_facts(
    graph: Graph,
    limit: int = 10,
    *,
    relations: Sequence[str] = (),
    balance: str | None = None,
    with_former: bool = False,
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

    Raises:
        UnknownNameError: a relation is not in the graph, or not active.
        ArgumentError: an argument is out of range.
        KgprobeError: no fact can be asked, or none has a former object or a popularity.
    """
    limit, seed = whole_number("limit", limit), whole_number("seed", seed, 0)
    relations = relation_ids(graph, several("relations", relations))
    draw = make_options(DrawOptions, {"balance": balance, "with_former": with_former}, "sample_facts")
    return draw_facts(graph, relations, limit, seed, as_of_day(as_of), draw)


def sample_distractors(
    graph: Graph,
    facts: Facts,
    strategy: str = "random",
    *,
    model: Model | str | None = None,
    distractors: int = 10,
    sentences: int | None = None,
    former: str = "wrong",
    seed: int = 0,
    as_of: int | str | date | None = None,
    models: Models | None = None,
    **strategy_options: Any,
) -> DistractorSample:
    """Choose distractors: wrong objects to compare with the right one, best first, each with its reason.

    >>> sample = kgprobe.sample_distractors(graph, "France | capital | Paris", "semantic", distractors=3)
    >>> [row["object"] for row in sample.rows()]
    ['Q90', 'Q90', 'Q90']

    Distractors of a strategy that asks a model depend on the model and on the sentence:

    >>> options = {"model": "demo", "distractors": 2, "sentences": 1}
    >>> sample = kgprobe.sample_distractors(graph, "Q142 P36 Q90", "exact-optimal", **options)
    >>> [(row["rank"], row["certified"]) for row in sample.rows()]
    [(1, True), (2, True)]

    Cost: see the strategies (:mod:`kgprobe.sampling`, :mod:`kgprobe.probes.search`).

    Args:
        facts: names, ids or keys of facts: ``"France | capital | Paris"``, ``"Q142 P36 Q90"``.
        strategy: strategy of selection; ``kgprobe sample distractors --help`` lists all.
        model: model or spec; required by strategies that ask a model.
        distractors: maximum number for each fact, at least 1.
        sentences: number of the relation's cloze sentences, drawn at random, if a model is asked; None is all.
        seed: random seed.
        former: treatment of objects that were right before ``as_of``: ``wrong`` (distractors of sentences in the
            present tense, which is assumed where no model is asked), ``never`` (excluded), or ``right`` (excluded
            together with entities that share a name with an object of any time).
        as_of: date at which true objects are excluded; None is today.
        models: as in :func:`kgprobe.measure`.
        strategy_options: options of the strategies: ``weighting`` of features for the semantic ones (``tf-idf`` or
            ``bm25``), ``max_prefixes`` that exact search scores for one sentence (2,000).

    Raises:
        UnknownNameError: no such fact, strategy or model.
        ArgumentError: an argument is out of range, or the strategy needs a model.
        KgprobeError: no fact has a cloze sentence, or the model returns no probabilities.
    """
    given = {"distractors": distractors, "sentences": sentences, "strategy": strategy, "former": former}
    given |= strategy_options
    options = make_options(DistractorOptions, given, "sample_distractors")
    day, seed = as_of_day(as_of), whole_number("seed", seed, 0)
    keys = find_facts(graph, facts, day)
    opened = None if model is None else (models or Models()).open_asked(model)
    return choose_distractors(graph, keys, options, opened, seed, day)


def sample_negatives(
    graph: Graph,
    facts: Facts,
    limit: int = 10,
    *,
    former: str = "wrong",
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
        facts, seed, as_of: as in :func:`sample_distractors`.
        limit: maximum number for each fact, at least 1.
        former: as in :func:`sample_distractors`; yes/no questions are in the present tense.

    Raises:
        UnknownNameError: no such fact.
        ArgumentError: an argument is out of range.
    """
    limit, seed = whole_number("limit", limit), whole_number("seed", seed, 0)
    day = as_of_day(as_of)
    former = make_options(FormerOption, {"former": former}, "sample_negatives").former
    return draw_negatives(graph, find_facts(graph, facts, day), limit, seed, day, former)


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
        facts: as in :func:`sample_distractors`.
        difficulty: ``easy``: yes/no questions only; ``hard``: also who, which and what.
        with_alias: True to mention the subject's first alias.
        seed: random seed of kind, side and template.
        as_of: date of the right answer; None is today.

    Raises:
        UnknownNameError: no such fact.
        ArgumentError: an argument is out of range.
        KgprobeError: no relation of the graph has a question.
    """
    day, seed = as_of_day(as_of), whole_number("seed", seed, 0)
    items = QuestionItems(graph, day, difficulty=difficulty, with_alias=with_alias)
    return write_questions(graph, find_facts(graph, facts, day), items, seed)


def sample_statements(
    graph: Graph,
    facts: Facts,
    limit: int = 10,
    *,
    replace: str = "object",
    any_type: bool = False,
    seed: int = 0,
    as_of: int | str | date | None = None,
) -> StatementSample:
    """Draw statements: of facts, and of negatives with another subject, relation or object.

    A negative is not in the graph at any date, nor is a fact with the same text.

    >>> sample = kgprobe.sample_statements(graph, "France | capital | Paris", 2, replace="subject", as_of="2025-12")
    >>> [(row["replaced"], row["false_object"]) for row in sample.rows()]
    [('subject', 'Q90'), ('subject', 'Q90')]

    Cost: see :mod:`kgprobe.sampling.statement_negatives`.

    Args:
        facts, seed: as in :func:`sample_distractors`.
        limit: maximum number of negatives for each fact, at least 1.
        replace: ``subject``, ``relation``, ``object``, or ``any``, which draws one of these for each negative.
        any_type: False to replace an entity only by one that shares a type, and a relation only by one between such
            entities.
        as_of: statements about facts that ended by this date are in the past tense; None is today.

    Raises:
        UnknownNameError: no such fact.
        ArgumentError: an argument is out of range.
        KgprobeError: no relation has a statement or cloze template.
    """
    options = make_options(NegativeOptions, {"replace": replace, "any_type": any_type}, "sample_statements")
    limit, seed, day = whole_number("limit", limit), whole_number("seed", seed, 0), as_of_day(as_of)
    items = StatementItems(graph, day, negatives=limit, replace=options.replace, any_type=options.any_type)
    return write_statements(graph, find_facts(graph, facts, day), items, limit, seed)


@documented(parameters=[Draw])
def sample_sentences(
    graph: Graph,
    limit: int = 77,
    *,
    sentences: int | None = 1,
    relations: Sequence[str] = (),
    balance: str | None = None,
    with_former: bool = False,
    seed: int = 0,
    as_of: int | str | date | None = None,
) -> SentenceSample:
    """Draw facts and write them as sentences, for people to annotate errors (appendix B of the distractor paper).

    >>> sample = kgprobe.sample_sentences(graph, 2, relations=["P36"], as_of="2025-12")
    >>> len(sample), sample.rows()[0]["errors"]
    (2, '')

    ``sample.write("sentences.csv")`` writes a table with the columns ``errors`` and ``correction`` to fill in;
    :func:`kgprobe.study_verbalizations` counts the errors, :func:`kgprobe.study_robustness` uses the corrections.

    Cost: one scan of the graph's facts, streamed.

    Args:
        limit: maximum number of facts, at least 1.
        sentences: number of cloze sentences of each fact, drawn at random; None is all.

    Raises:
        UnknownNameError: a relation is not in the graph, or not active.
        ArgumentError: an argument is out of range.
        KgprobeError: no fact has a sentence.
    """
    limit, seed = whole_number("limit", limit), whole_number("seed", seed, 0)
    sentences = optional_number("sentences", sentences)
    draw = make_options(DrawOptions, {"balance": balance, "with_former": with_former}, "sample_sentences")
    ids = relation_ids(graph, several("relations", relations))
    return write_sentences(graph, ids, limit, sentences, seed, as_of_day(as_of), draw)


@documented(parameters=[ControlOptions, Draw])
def sample_controls(
    graph: Graph,
    near: "Listed",
    *,
    limit: int = 500,
    match: str = "degree",
    max_degree: int = 1000,
    seed: int = 0,
    as_of: int | str | date | None = None,
) -> "ControlSample":
    """Draw control facts of a fine-tune: facts that were not taught, in rings around the taught ones.

    The rings are disjoint, from near to far: same subject, inverse, same relation, neighbour, two hops, far. They are
    matched in popularity, so that their losses are comparable. No answers are read: facts chosen by the answers from
    which a loss is measured seem to lose or to gain where nothing changed.

    >>> sample = kgprobe.sample_controls(graph, ["France | capital | Paris"], limit=20, as_of="2025-12")
    >>> sample.summary()
    '87 control facts around 1 taught.'
    >>> [ring.role for ring in sample.rings][:3]
    ['same subject', 'inverse', 'same relation']

    Cost: the facts of the taught entities, at most ``max_degree`` each, and of entities next to them; one scan of the
    graph's facts, streamed, for the rings same relation and far.

    Args:
        near: the taught facts: path of a file, or keys or names of facts. A file is a list of facts as
            ``kgprobe probe --facts`` takes it, a file of roles, or a data set in JSON Lines: its texts are searched
            for names of entities, and facts between entities of one record count as taught.
        limit: maximum number of facts in each ring.

    Raises:
        ArgumentError: an argument is out of range, the file cannot be read, or it names nothing of the graph.
        UnknownNameError: a name has no fact.
        KgprobeError: no relation of the graph can be asked.
    """
    from kgprobe.labelling.controls import draw_controls

    options = make_options(
        ControlOptions, {"limit": limit, "match": match, "max_degree": max_degree}, "sample_controls"
    )
    day, seed = as_of_day(as_of), whole_number("seed", seed, 0)
    return draw_controls(graph, near, options, seed, day)
