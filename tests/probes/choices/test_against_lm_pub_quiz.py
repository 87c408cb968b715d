"""The same data, model and settings give what lm-pub-quiz gives: every score, and what wins in every instance."""

from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kgprobe.graph.client import Graph
from kgprobe.models.scoring.scorer import Scorer
from kgprobe.probes.choices import ChoiceOptions
from kgprobe.probes.choices.evidence import ChoiceEvidence
from kgprobe.probes.choices.probe import ChoiceProbe
from kgprobe.probes.outcome import Verdict
from kgprobe.sampling.keys import FactKey
from tests.models.tiny import byte_level, random_model, unigram
from tests.probes.choices.closed import Closed, as_folder, hand_made, into_graph, public

quiz = pytest.importorskip("lm_pub_quiz", reason="lm-pub-quiz is not installed; it is with the extra `test`")

KINDS = {"gpt2": byte_level, "llama": unigram, "gemma3, narrow window": lambda: byte_level(bos=True)}
AS_OF = 20200101


def tiny_scorer(name: str) -> Scorer:
    tokenizer = KINDS[name]()
    return Scorer(random_model(name, len(tokenizer)), tokenizer, name=name)


def quiz_scores(scorer: Scorer, folder: Path, reduction: str, conditional: bool) -> dict[tuple[str, int], list[float]]:
    """By fact and template, counted from 1, the score of each answer."""
    evaluator = quiz.CausalLMEvaluator.from_model(
        scorer.model,
        # It leaves settings of its own in it.
        tokenizer=deepcopy(scorer.tokenizer),
        model_type="CLM",
        model_name="tiny",
        conditional_score=conditional,
        device=scorer.model.device,
    )
    results = evaluator.evaluate_dataset(quiz.Dataset.from_path(folder), reduction=reduction, batch_size=32)
    found = {}
    for result in results:
        for row in result.instance_table.to_dict("records"):
            key = (f"{row['sub_id']}-{result.relation_code}", row["template_index"] + 1)
            found[key] = (row["pll_scores"], row["answer_idx"])
    return found


def assert_the_same(
    graph: Graph, scorer: Scorer, keys: list[FactKey], folder: Path, reduction: str, conditional: bool
) -> None:
    options = ChoiceOptions(template=None, reduction=reduction, conditional=conditional)
    outcomes = ChoiceProbe(graph, scorer, options, as_of=AS_OF).ask(keys, [1])
    theirs: dict[Any, Any] = quiz_scores(scorer, folder, reduction, conditional)
    compared = 0
    for outcome in outcomes:
        evidence = outcome.evidence
        assert isinstance(evidence, ChoiceEvidence), outcome.reason
        for place, sentence in enumerate(evidence.sentences):
            scores, right = theirs[outcome.fact.fact, sentence.template]
            assert np.abs(sentence.scores - scores).max() <= 1e-3
            assert int(np.argmax(sentence.scores)) == int(np.argmax(scores))
            assert evidence.right == right
            if not evidence.apart:
                assert evidence.best(place) == int(np.argmax(scores))
            compared += 1
        if not evidence.apart:
            scores, right = theirs[outcome.fact.fact, 1]
            assert (outcome.verdict is Verdict.RIGHT) == (int(np.argmax(scores)) == right)
    assert compared == len(theirs)


@pytest.mark.parametrize("name", KINDS)
def test_every_score_and_winner_is_that_of_lm_pub_quiz(name: str, graph: Graph, tmp_path: Path) -> None:
    relations = hand_made()
    keys = into_graph(graph, relations)
    folder = as_folder(relations, tmp_path / "closed")
    scorer = tiny_scorer(name)
    for conditional in (False, True):
        for reduction in ("sum", "mean"):
            assert_the_same(graph, scorer, keys, folder, reduction, conditional)


@pytest.fixture
def real(graph: Graph, shared_data: Path, tmp_path: Path) -> tuple[list[FactKey], Path]:
    """Facts of BEAR's relations, in the graph and as a folder."""
    relations: dict[str, Closed] = public(shared_data, ("P30", "P36", "P37", "P103", "P141", "P412"), facts=2)
    return into_graph(graph, relations), as_folder(relations, tmp_path / "public")


@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_real_facts_get_the_scores_of_lm_pub_quiz(name: str, graph: Graph, real: tuple[list[FactKey], Path]) -> None:
    scorer = tiny_scorer(name)
    for conditional in (False, True):
        assert_the_same(graph, scorer, *real, "sum", conditional)


@pytest.mark.slow
def test_the_demo_model_gets_the_scores_of_lm_pub_quiz(
    graph: Graph, real: tuple[list[FactKey], Path], demo_scorer: Scorer
) -> None:
    for reduction, conditional in (("sum", False), ("mean", True)):
        assert_the_same(graph, demo_scorer, *real, reduction, conditional)
