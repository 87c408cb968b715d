"""BERTScore against its definition, token by token, on encoders with random weights."""

import numpy as np
import pytest
import torch

from kgprobe.models.encoder import Encoder
from kgprobe.papers.baselines import bertscore as module
from kgprobe.papers.baselines.bertscore import bert_score
from kgprobe.papers.baselines.items import BaselineItem, Continued
from kgprobe.verbalize.sentences import Cloze
from tests.models.encoders import random_encoder

CLOZE = Cloze("[X] is in [Y]", "It")
ASKED = [
    BaselineItem(CLOZE, ("Tokyo", "東京", " ")),
    BaselineItem(CLOZE, ("New York City", "York")),
    BaselineItem(CLOZE, ("Netherlands",)),
]
LINES = [["Tokyo", "", "Kyoto, not Tokyo"], ["the city of York", "Zürich"], ["the Netherlands"]]


def naive(encoder: Encoder, name: str, line: str) -> float:
    vectors = []
    for text in (name, line):
        ids = encoder._tokenizer(" " + text, add_special_tokens=False).input_ids if text else []
        with torch.no_grad():
            states = encoder._model(torch.tensor([[0, *ids, 1]]), output_hidden_states=True).hidden_states[4][0, 1:-1]
        vectors.append([state.numpy() / np.linalg.norm(state) for state in states])
    if not vectors[1]:
        return 0.0
    recall = np.mean([max(float(one @ other) for other in vectors[1]) for one in vectors[0]])
    precision = np.mean([max(float(one @ other) for other in vectors[0]) for one in vectors[1]])
    return 2 * precision * recall / (precision + recall) if min(precision, recall) > 0 else 0.0


@pytest.mark.parametrize("at_once", [4096, 1])
@pytest.mark.parametrize("kind", ["bert", "roberta"])
def test_it_is_the_best_of_all_pairs(kind: str, at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_TEXTS_AT_ONCE", at_once)
    encoder = Encoder(*random_encoder(kind), name=kind)
    found = bert_score(encoder, ASKED, Continued(LINES))
    assert not found.reasons
    for one, lines, value in zip(ASKED, LINES, found.values, strict=True):
        names = [*(name for name in one.names if name.strip()), *one.continuations]
        wanted = max(naive(encoder, name, line) for name in names for line in lines)
        assert value == pytest.approx(wanted, abs=1e-4)
    assert found.values[0] == pytest.approx(1)
    assert found.values[2] == pytest.approx(1)
    assert found.values[1] < 0.999


def test_opposite_directions_have_nothing_in_common() -> None:
    names, line = [np.array([[1, 0]], dtype=np.float32)], [np.array([[-1, 0], [0.6, 0.8]], dtype=np.float32)]
    assert module._f1(names, line).tolist() == [[0.0]]


def test_reasons() -> None:
    model, tokenizer = random_encoder("bert")
    from tokenizers import normalizers

    tokenizer.backend_tokenizer.normalizer = normalizers.Replace(" 東京", "")
    asked = [
        BaselineItem(CLOZE, ("",)),
        BaselineItem(CLOZE, ("York",)),
        BaselineItem(CLOZE, ("York",)),
        BaselineItem(CLOZE, ("東京",)),
    ]
    continued = Continued([["York"], ["", ""], [], ["York"]], {2: "too long"})
    found = bert_score(Encoder(model, tokenizer, name="bert"), asked, continued)
    assert found.values[1] == 0
    assert np.isnan(found.values).tolist() == [True, False, True, True]
    assert found.reasons == {
        0: "all names of its object are white space",
        2: "too long",
        3: "the encoder has no token for any name of its object",
    }
