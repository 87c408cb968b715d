"""What holds of every strategy that is registered, ours and other people's."""

import json
from dataclasses import fields
from typing import Any

import pytest

from kgprobe.base.errors import ArgumentError, UnknownNameError
from kgprobe.base.options import make_options, options_of
from kgprobe.base.records import Fact
from kgprobe.graph.client import Graph
from kgprobe.graph.ingest import load
from kgprobe.models.scoring.scorer import Scorer
from kgprobe.probes.distractors import DistractorOptions
from kgprobe.probes.search.rivals import Rivals, Sentences
from kgprobe.probes.search.strategies import STRATEGIES, Strategy, StrategyContext, make_strategy
from kgprobe.sampling.facts import describe_facts
from kgprobe.sampling.keys import FactKey
from kgprobe.verbalize.sentences import Cloze
from tests.models.tiny import tiny_scorer
from tests.sampling import enumerable
from tests.written_source import WrittenSource

pytestmark = pytest.mark.usefixtures("home")

PEOPLE, EDGES = enumerable.enumerable(5, entities=24, facts=40)
LABELS = {entity.id: entity.label for entity in PEOPLE}
FACTS = [fact for fact in EDGES if LABELS[fact.subject] and LABELS[fact.object]]
TEMPLATES = ("[X] has to do with [Y]", "About [X] one says [Y]")
strategies = pytest.mark.parametrize("name", STRATEGIES.names())


@pytest.fixture(scope="module")
def tiny() -> Scorer:
    return tiny_scorer()


@pytest.fixture
def asked(graph: Graph) -> list[Sentences]:
    """Every fact that has names, in one sentence, two or none."""
    load(graph, WrittenSource(PEOPLE, EDGES))
    described = describe_facts(graph, [FactKey(fact.subject, fact.id) for fact in FACTS])
    return [
        (fact, [Cloze(template, fact.subject_label) for template in TEMPLATES[: number % 3]])
        for number, fact in enumerate(described)
    ]


def made(name: str, graph: Graph, scorer: Scorer) -> Strategy:
    """Return a strategy by its name, without a model if it asks none."""
    model = scorer if STRATEGIES.get(name).asks_model else None
    return make_strategy(name, StrategyContext(graph, model, enumerable.AS_OF))


def by_id(found: list[list[Rivals]]) -> list[list[list[str]]]:
    return [[[rival.id for rival in rivals.distractors] for rivals in lists] for lists in found]


def omega(fact: Fact) -> set[str]:
    return enumerable.distractors(PEOPLE, EDGES, fact)


def test_graph_says_something() -> None:
    sizes = [len(omega(fact)) for fact in FACTS]
    assert min(sizes) == 0
    assert max(sizes) > 5
    assert len(set(sizes)) > 5
    assert {fact.end for fact in FACTS} >= {None, "2010"}


@strategies
def test_strategy_tells_what_it_is(name: str, graph: Graph, tiny: Scorer) -> None:
    load(graph, WrittenSource(PEOPLE, EDGES))
    kind = STRATEGIES.get(name)
    assert kind.name == name
    assert kind.summary
    described = made(name, graph, tiny).describe()
    assert described["strategy"] == name
    assert json.loads(json.dumps(described)) == described
    if kind.asks_model:
        with pytest.raises(ArgumentError, match=f"`model` is missing: {name} needs one"):
            make_strategy(name, StrategyContext(graph, None, enumerable.AS_OF))


@strategies
def test_options_have_help_and_reach_probe_and_strategy(name: str, graph: Graph, tiny: Scorer) -> None:
    load(graph, WrittenSource(PEOPLE, EDGES))
    kind = STRATEGIES.get(name)
    of_probe = {option.name: option for option in options_of(DistractorOptions)}
    others: dict[str, Any] = {}
    for option in options_of(kind.options):
        assert option.about.help.endswith(".")
        assert not option.required
        # Strategies share an option of the same name.
        assert of_probe[option.name] == option
        choices = option.choices()
        others[option.name] = choices[-1] if choices else option.default + 1
        assert others[option.name] != option.default
    assert len(others) == len(fields(kind.options))
    model = tiny if kind.asks_model else None
    given = make_options(DistractorOptions, {"strategy": name, **others}, "the test")
    described = make_strategy(name, StrategyContext(graph, model, enumerable.AS_OF), given).describe()
    assert {option: described[option] for option in others} == others


@strategies
@pytest.mark.parametrize("count", [3, len(PEOPLE)])
@pytest.mark.representatives(3)
def test_sentences_have_at_most_n_distractors_of_their_fact(
    name: str, count: int, graph: Graph, tiny: Scorer, asked: list[Sentences]
) -> None:
    found = made(name, graph, tiny).rivals(asked, count, [1])
    assert [len(lists) for lists in found] == [len(clozes) for _, clozes in asked]
    for fact, lists in zip(FACTS, found, strict=True):
        for rivals in lists:
            ids = [rival.id for rival in rivals.distractors]
            assert len(set(ids)) == len(ids) == min(count, len(omega(fact))), fact
            assert set(ids) <= omega(fact)
            assert all(rival.label == LABELS[rival.id] and rival.reason for rival in rivals.distractors)
            if rivals.log_plausibilities is not None:
                assert len(rivals.log_plausibilities) == len(ids)
                assert list(rivals.log_plausibilities) == sorted(rivals.log_plausibilities, reverse=True)
            assert rivals.certified is None or 0 <= rivals.certified <= len(ids)


@strategies
@pytest.mark.representatives(2)
def test_same_seed_chooses_the_same_in_any_batch(name: str, graph: Graph, tiny: Scorer, asked: list[Sentences]) -> None:
    asked = asked[:8]
    strategy = made(name, graph, tiny)
    found = by_id(strategy.rivals(asked, 3, [1, 2]))
    assert by_id(made(name, graph, tiny).rivals(asked, 3, [1, 2])) == found
    alone = [lists for one in reversed(asked) for lists in by_id(strategy.rivals([one], 3, [1, 2]))]
    assert alone[::-1] == found
    assert strategy.rivals([], 3, [1]) == []


def test_another_name_is_told_with_those_that_there_are(graph: Graph) -> None:
    with pytest.raises(UnknownNameError, match=r"Unknown strategy 'randm'; .*semantic.* \(did you mean random\?\)"):
        make_strategy("randm", StrategyContext(graph, None, enumerable.AS_OF))
