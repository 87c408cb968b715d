"""Whole sentences against their definition: one plain forward pass each, tokenized as a whole."""

from collections.abc import Sequence

import pytest
import torch

from kgprobe.base.errors import KgprobeError
from kgprobe.models.scoring.scorer import Scorer
from kgprobe.models.scoring.sentences import Passage, leading_with_bos, score_passages
from tests.models.exactness import score_tolerance
from tests.models.tiny import byte_level, random_model, tiny_scorer, unigram

QUESTIONS = [
    [("The capital of Japan is {}.", name) for name in ("Tokyo", "Kyoto", "東京", "New York", "New York City", "</s>")],
    [("{} is a city in Poland", name) for name in ("Łódź", "Zürich", "York", "Y", "New Zealand", "York")],
    [("In Brazil{}, there is {} 😀", name) for name in ("São Paulo", "s", " ß")],
    [("{}", name) for name in ("Paris and France", "Tokyo before Kyoto")],
]
PASSAGES = [
    [Passage(text.replace("{}", name), text.index("{}"), text.index("{}") + len(name)) for text, name in question]
    for question in QUESTIONS
]


def naive(scorer: Scorer, passage: Passage, leading: Sequence[int], from_span: bool) -> tuple[float, int]:
    """Return the sum and the number of the log-probabilities that count."""
    encoded = scorer.tokenizer(
        passage.text, add_special_tokens=False, split_special_tokens=True, return_offsets_mapping=True
    )
    ids = [*leading, *encoded["input_ids"]]
    first = 0
    if from_span:
        holding = [
            place
            for place, (start, end) in enumerate(encoded["offset_mapping"])
            if start < passage.end and end > passage.start
        ]
        first = holding[0]
    with torch.no_grad():
        log_probabilities = scorer.model(torch.tensor([ids])).logits[0].float().log_softmax(-1)
    counted = range(max(len(leading) + first, 1), len(ids))
    return sum(float(log_probabilities[place - 1, ids[place]]) for place in counted), len(counted)


@pytest.mark.parametrize("from_span", [False, True])
@pytest.mark.parametrize(
    ("name", "kind", "bos"),
    [("gpt2", byte_level, True), ("llama", unigram, True), ("qwen2", byte_level, False)],
)
@pytest.mark.representatives(2)
def test_scores_are_their_definition(name: str, kind: type, bos: bool, from_span: bool) -> None:
    tokenizer = kind(bos=bos)
    scorer = Scorer(random_model(name, len(tokenizer)), tokenizer, name=name)
    leading = scorer.leading
    allowed = score_tolerance(scorer.model, tokens=24)
    assert leading == ((0,) if bos else ())
    done: list[int] = []
    found = score_passages(scorer, PASSAGES, leading=leading, from_span=from_span, progress=done.append)
    assert sum(done) == sum(map(len, PASSAGES))
    for passages, scored in zip(PASSAGES, found, strict=True):
        for place, passage in enumerate(passages):
            if not bos and len(tokenizer(passage.text)["input_ids"]) == 1:
                assert "no token with another before it" in scored.reasons[place]
                continue
            value, tokens = naive(scorer, passage, leading, from_span)
            assert scored.values[place] == pytest.approx(value, abs=allowed)
            assert scored.tokens[place] == tokens
        assert not scored.reasons


def test_bos_stands_in_front_where_there_is_one() -> None:
    for kind, bos, wanted in ((byte_level, False, (0,)), (unigram, True, (0,))):
        tokenizer = kind(bos=bos)
        assert leading_with_bos(Scorer(random_model("gpt2", len(tokenizer)), tokenizer, name="tiny")) == wanted
    tokenizer.bos_token = None
    tokenizer.backend_tokenizer.post_processor = byte_level().backend_tokenizer.post_processor
    assert leading_with_bos(Scorer(random_model("gpt2", len(tokenizer)), tokenizer, name="tiny", bos=False)) == ()


def test_what_a_model_cannot_take_has_a_reason() -> None:
    scorer = tiny_scorer(n_positions=16)
    texts = ["Tokyo \ud800", "Paris " * 20, "Paris", ""]
    passages = [[Passage(text, 0, len(text)) for text in texts], []]
    scored, none = score_passages(scorer, passages, leading=scorer.leading, from_span=True)
    assert len(none.values) == 0
    assert scored.reasons.keys() == {0, 1, 3}
    for place, said in ((0, "not valid Unicode"), (1, "more than the 16"), (3, "tokenizes to nothing")):
        assert said in scored.reasons[place]
    assert [bool(value == value) for value in scored.values] == [False, False, True, False]
    (whole,) = score_passages(scorer, [[Passage("", 0, 0)]], leading=scorer.leading, from_span=False)
    assert "no token with another before it" in whole.reasons[0]


def test_tokenizer_without_characters_scores_sentences_only() -> None:
    class Slow:
        def __init__(self, fast: object) -> None:
            self._fast = fast

        def __call__(self, *args: object, **others: object) -> object:
            return self._fast(*args, **others)

        def __getattr__(self, name: str) -> object:
            if name == "backend_tokenizer":
                raise AttributeError(name)
            return getattr(self._fast, name)

    fast = byte_level(bos=True)
    model = random_model("gpt2", len(fast))
    scorer, slow = Scorer(model, fast, name="fast"), Scorer(model, Slow(fast), name="slow")
    leading = scorer.leading
    expected, found = (score_passages(one, PASSAGES[:1], leading=leading, from_span=False) for one in (scorer, slow))
    assert found[0].values == pytest.approx(expected[0].values, abs=score_tolerance(model, tokens=24))
    with pytest.raises(KgprobeError, match="has no character offsets"):
        score_passages(slow, PASSAGES[:1], leading=leading, from_span=True)
