"""What many calls take: each refuses what cannot be, by the argument's name, before anything is asked."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import kgprobe
from kgprobe.base.errors import ArgumentError
from kgprobe.graph.client import Graph
from kgprobe.models.model import Model

FACT = "France | capital | Paris"
Call = Callable[..., Any]

CALLS: dict[str, Call] = {
    "measure": lambda graph, model, **given: kgprobe.measure(graph, model, **given),
    "run_rounds": lambda graph, model, **given: kgprobe.run_rounds(graph, model, **given),
    "sample_facts": lambda graph, model, **given: kgprobe.sample_facts(graph, **given),
    "sample_distractors": lambda graph, model, **given: kgprobe.sample_distractors(graph, **{"facts": FACT, **given}),
    "sample_negatives": lambda graph, model, **given: kgprobe.sample_negatives(graph, FACT, **given),
    "sample_questions": lambda graph, model, **given: kgprobe.sample_questions(graph, FACT, **given),
    "sample_statements": lambda graph, model, **given: kgprobe.sample_statements(graph, FACT, **given),
    "study_strategies": lambda graph, model, **given: kgprobe.study_strategies(graph, model, **given),
    "study_sampling": lambda graph, model, **given: kgprobe.study_sampling(**given),
    "write_templates": lambda graph, model, **given: kgprobe.write_templates(graph, from_label=True, **given),
    "neighbourhood": lambda graph, model, **given: kgprobe.neighbourhood(graph, "Q142", **given),
}
TAKES = {
    "seed": [name for name in CALLS if name != "neighbourhood"],
    "relations": ["measure", "run_rounds", "sample_facts", "study_strategies", "write_templates", "neighbourhood"],
    "batch_size": ["measure"],
    "facts_per_round": ["run_rounds", "study_sampling"],
    "name": ["measure", "run_rounds"],
    "strategies": ["study_strategies"],
    "facts": ["measure", "sample_distractors", "study_strategies"],
    "steps": ["neighbourhood"],
    "limit": ["measure", "study_strategies", "sample_facts", "sample_negatives", "sample_statements", "neighbourhood"],
    "keep": ["write_templates"],
}
WRONG: dict[str, list[Any]] = {
    "relations": ["P36", [3]],
    "seed": [-1, "a", 0.5, None],
    "name": ["../../x", "", "a/b", "x" * 101, 3],
    "strategies": ["random", [3]],
    "facts": [3, [3], ["France | capital | Paris", 2.5]],
}
COUNTS: list[Any] = [0, -1, 2.5, "3", True]


@pytest.mark.parametrize(("argument", "call"), [(argument, call) for argument in TAKES for call in TAKES[argument]])
def test_what_cannot_be_is_refused_by_its_name(argument: str, call: str, example_graph: Graph, tiny: Model) -> None:
    for value in WRONG.get(argument, COUNTS):
        with pytest.raises(ArgumentError) as raised:
            CALLS[call](example_graph, tiny, **{argument: value})
        assert raised.value.argument == argument
        assert repr(value[-1] if isinstance(value, list) else value) in str(raised.value)
        assert "expected" in str(raised.value)


def test_numbers_of_numpy_are_numbers(example_graph: Graph, tiny: Model) -> None:
    plain = kgprobe.measure(example_graph, tiny, limit=3, seed=2, distractors=3, relations=["P36"])
    again = kgprobe.measure(
        example_graph,
        tiny,
        limit=np.int64(3),  # type: ignore[arg-type]
        seed=np.int32(2),  # type: ignore[arg-type]
        distractors=np.uint8(3),
        relations=np.array(["P36"]),  # type: ignore[arg-type]
    )
    assert again.folder == plain.folder
    assert again.progress.facts == 3


@pytest.mark.parametrize("model", [3, None, ["demo"]])
def test_what_is_no_model_is_refused(model: Any, example_graph: Graph) -> None:
    with pytest.raises(ArgumentError, match="expected a model or its spec, such as 'demo'"):
        kgprobe.measure(example_graph, model)
