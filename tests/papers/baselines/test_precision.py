"""The best rank against a sorted vocabulary."""

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, models, trainers
from transformers import PreTrainedTokenizerFast

from kgprobe.models.scoring.scorer import Scorer
from kgprobe.papers.baselines.items import BaselineItem
from kgprobe.papers.baselines.precision import best_rank, precision_at_n
from kgprobe.verbalize.sentences import Cloze
from tests.models.tiny import random_model
from tests.papers.baselines.examples import NAMELESS, tiny

SENTENCES = [("The capital of [X] is [Y]", "Japan"), ("[X] is a city in [Y]", "Łódź"), ("[X] and [Y]", "York")]
# After a space all of these but one are one token of the tiny tokenizer.
NAMES = [("Tokyo", "York"), ("Japan",), ("New", "Kyoto City of New York", "City")]


@pytest.mark.parametrize("name", ["gpt2", "bloom"])
def test_it_is_the_best_place_of_a_name_of_one_token(name: str) -> None:
    scorer = tiny(name)
    asked = [BaselineItem(Cloze(*one), names) for one, names in zip(SENTENCES, NAMES, strict=True)]
    found = best_rank(scorer, asked)
    naive = []
    for one, names in zip(asked, NAMES, strict=True):
        ids = scorer.tokenizer([" " + text for text in names], add_special_tokens=False).input_ids
        context = [0, *scorer.tokenizer(one.cloze.prompt, add_special_tokens=False).input_ids]
        with torch.no_grad():
            logits = scorer.model(torch.tensor([context])).logits[0, -1]
        order = logits.argsort(descending=True).tolist()
        places = [order.index(its[0]) + 1 for its in ids if len(its) == 1]
        assert places
        naive.append(min(places))
    assert found.values.tolist() == naive
    assert not found.reasons


def test_at_n_for_every_n_at_once() -> None:
    ranks = np.array([1.0, 3.0, np.nan])
    assert precision_at_n(ranks, 1).tolist()[:2] == [1, 0]
    assert precision_at_n(ranks, 2).tolist()[:2] == [1, 0]
    assert precision_at_n(ranks, 3).tolist()[:2] == [1, 1]
    assert np.isnan(precision_at_n(ranks, 100)[2])


def test_fact_without_one_token_name_is_out_of_reach() -> None:
    cloze = Cloze("The capital of [X] is [Y]", "Japan")
    found = best_rank(
        tiny(), [BaselineItem(cloze, ("東京", "Kyoto City")), NAMELESS, BaselineItem(cloze, ("東京", "Tokyo"))]
    )
    assert np.isnan(found.values).tolist() == [True, True, False]
    assert found.reasons == {
        0: "no name of its object is a single token",
        1: "all names of its object are white space",
    }


def test_name_within_last_prompt_token_is_predicted_before() -> None:
    # A tokenizer that does not split at white space: the sentence and its name are one token.
    tokenizer = Tokenizer(models.BPE())
    trainer = trainers.BpeTrainer(vocab_size=60, special_tokens=["<s>", "</s>"], show_progress=False)
    tokenizer.train_from_iterator(["York is York", "York is not", "a York"] * 4, trainer)
    whole = tokenizer.token_to_id("York is York")
    assert whole is not None
    wrapped = PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>")
    scorer = Scorer(random_model("gpt2", len(wrapped)), wrapped, name="tiny", bos=True)
    found = best_rank(scorer, [BaselineItem(Cloze("[X] is [Y]", "York"), ("York", "York York"))])
    with torch.no_grad():
        order = scorer.model(torch.tensor([[0]])).logits[0, -1].argsort(descending=True).tolist()
    assert found.values[0] == order.index(whole) + 1
