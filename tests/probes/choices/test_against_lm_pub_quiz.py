"""The same data, model and settings give what lm-pub-quiz gives: every score, and what wins in every instance."""

from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from kgprobe.graph.client import Graph
from kgprobe.models.scoring.scorer import Scorer
from kgprobe.probes.choices import ChoiceOptions
from kgprobe.probes.choices.evidence import ChoiceEvidence
from kgprobe.probes.choices.probe import ChoiceProbe
from kgprobe.probes.outcome import Verdict
from kgprobe.sampling.keys import FactKey
from tests.cases import slow_except
from tests.models.exactness import score_tolerance
from tests.models.tiny import byte_level, random_model, unigram
from tests.probes.choices.closed import as_folder, hand_made, into_graph, public

quiz = pytest.importorskip("lm_pub_quiz", reason="lm-pub-quiz is not installed; it is with the extra `test`")

KINDS = {"gpt2": byte_level, "llama": unigram, "gemma3, narrow window": lambda: byte_level(bos=True)}
AS_OF = 20200101

pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword")


def tiny_scorer(name: str) -> Scorer:
    tokenizer = KINDS[name]()
    return Scorer(random_model(name, len(tokenizer)), tokenizer, name=name)


def quiz_results(scorer: Scorer, folder: Path, conditional: bool) -> list[Any]:
    """Return what it finds of each relation, token by token: both of its reductions can be had of that."""
    # It leaves settings of its own in it; and padded on the left, it would miss the BOS token and add another.
    tokenizer = deepcopy(scorer.tokenizer)
    tokenizer.padding_side = "right"
    evaluator = quiz.CausalLMEvaluator.from_model(
        scorer.model,
        tokenizer=tokenizer,
        model_type="CLM",
        model_name="tiny",
        conditional_score=conditional,
        device=scorer.model.device,
    )
    return list(evaluator.evaluate_dataset(quiz.Dataset.from_path(folder), reduction=None, batch_size=64))


def assert_the_same(
    graph: Graph, scorer: Scorer, keys: list[FactKey], folder: Path, conditional: bool, allowed: float = 1e-3
) -> None:
    """Check every score, of both reductions, and the choice in every instance."""
    results = quiz_results(scorer, folder, conditional)
    for reduction in ("sum", "mean"):
        rows = {
            (f"{row['sub_id']}-{result.relation_code}", row["template_index"] + 1): row
            for result in results
            for row in result.reduced(reduction).instance_table.to_dict("records")
        }
        options = ChoiceOptions(template=None, reduction=reduction, conditional=conditional)
        outcomes = ChoiceProbe(graph, scorer, options, as_of=AS_OF).ask(keys, [1])
        compared = 0
        for outcome in outcomes:
            evidence = outcome.evidence
            assert isinstance(evidence, ChoiceEvidence), outcome.reason
            for place, sentence in enumerate(evidence.sentences):
                row = rows[outcome.fact.fact, sentence.template]
                assert np.abs(sentence.scores - row["pll_scores"]).max() <= allowed
                assert evidence.best(place) == int(np.argmax(row["pll_scores"]))
                assert evidence.right == row["answer_idx"]
                compared += 1
            assert (outcome.verdict is Verdict.RIGHT) == (evidence.best(0) == evidence.right)
        assert compared == len(rows)


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """One thread: with models so small, threads that wait for each other take ten times as long."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.mark.parametrize("name", slow_except(KINDS, ["gpt2"]))
def test_every_score_and_winner_is_that_of_lm_pub_quiz(name: str, graph: Graph, tmp_path: Path) -> None:
    relations = hand_made()
    keys = into_graph(graph, relations)
    folder = as_folder(relations, tmp_path / "closed")
    scorer = tiny_scorer(name)
    allowed = score_tolerance(scorer.model, tokens=24)
    for conditional in (False, True):
        assert_the_same(graph, scorer, keys, folder, conditional, allowed)


@pytest.fixture
def real(graph: Graph, shared_data: Path, tmp_path: Path) -> tuple[list[FactKey], Path]:
    """Facts of BEAR's relations, in the graph and as a folder."""
    relations = public(shared_data, ("P30", "P36", "P37", "P103", "P141", "P412"), facts=2)
    return into_graph(graph, relations), as_folder(relations, tmp_path / "public")


def test_real_facts_get_the_scores_of_lm_pub_quiz(graph: Graph, real: tuple[list[FactKey], Path]) -> None:
    scorer = tiny_scorer("llama")
    assert_the_same(graph, scorer, *real, conditional=True, allowed=score_tolerance(scorer.model, tokens=24))


@pytest.mark.slow
def test_demo_model_gives_the_scores_of_lm_pub_quiz(graph: Graph, demo_scorer: Scorer, tmp_path: Path) -> None:
    relations = {name: one for name, one in hand_made().items() if name in ("capital", "place")}
    keys = into_graph(graph, relations)
    folder = as_folder(relations, tmp_path / "closed")
    for conditional in (False, True):
        assert_the_same(graph, demo_scorer, keys, folder, conditional)
