"""Peers: log-probabilities of a case, by each library's fastest method."""

from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from benchmarks.scoring.cases import Case

if TYPE_CHECKING:
    from kgprobe.models.scoring.scorer import Scorer

Floats = NDArray[np.float64]
# Default number of questions for the peers, and of continuations of each.
PARTS = {"options": (6, 60), "examples": (1, 20), "distractors": (1, 256)}
# Batch sizes in continuations.
BATCHES = {
    "lm-evaluation-harness": {"options": 16, "examples": 4, "distractors": 16},
    "lm-pub-quiz": {"options": 60, "examples": 4, "distractors": 64},
}
WITHOUT_EOS = {"lm-pub-quiz"}


def harness_scores(scorer: "Scorer", case: Case) -> Floats:
    """Score a case by lm-evaluation-harness."""
    from lm_eval.api.instance import Instance
    from lm_eval.models.huggingface import HFLM

    peer = HFLM(
        pretrained=scorer.model,
        tokenizer=deepcopy(scorer.tokenizer),
        batch_size=BATCHES["lm-evaluation-harness"][case.name],
    )
    end = scorer.tokenizer.eos_token if case.eos else ""
    requests = [
        Instance("loglikelihood", {}, (prompt, f" {text}{end}"), number)
        for prompt, texts in zip(case.prompts, case.continuations, strict=True)
        for number, text in enumerate(texts)
    ]
    return np.array([score for score, _ in peer.loglikelihood(requests, disable_tqdm=True)])


def quiz_scores(scorer: "Scorer", case: Case) -> Floats:
    """Score a case by lm-pub-quiz, without EOS."""
    from lm_pub_quiz import CausalLMEvaluator

    # It changes the tokenizer's settings; with left padding, it would miss the BOS token and add another.
    tokenizer = deepcopy(scorer.tokenizer)
    tokenizer.padding_side = "right"
    peer = CausalLMEvaluator.from_model(
        scorer.model,
        tokenizer=tokenizer,
        model_type="CLM",
        conditional_score=True,
        model_name="model",
        capitalize=False,
        device=scorer.model.device,
    )
    scores: list[float] = []
    for prompt, texts in zip(case.prompts, case.continuations, strict=True):
        scores += peer.score_answers(
            template=f"{prompt} [Y]",
            answers=list(texts),
            reduction="sum",
            batch_size=BATCHES["lm-pub-quiz"][case.name],
        )
    return np.array(scores)


PEERS: Mapping[str, Callable[["Scorer", Case], Floats]] = {
    "lm-evaluation-harness": harness_scores,
    "lm-pub-quiz": quiz_scores,
}
