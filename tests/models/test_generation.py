"""Answers that a model draws, against the distribution they are drawn from."""

from collections import Counter

import pytest
import torch

from kgprobe.models.generation import TEMPERATURE, TOP_P, draw_answers
from kgprobe.models.scorer import Scorer
from kgprobe.models.tokens import TextError
from tests.models.tiny import byte_level, random_model

CHAT = (
    "{% for message in messages %}<s>{{ message.content }}!{% endfor %}{% if add_generation_prompt %} York{% endif %}"
)


def make_scorer(name: str = "llama", *, chat: bool = False) -> Scorer:
    tokenizer = byte_level(bos=True)
    tokenizer.chat_template = CHAT if chat else None
    return Scorer(random_model(name, len(tokenizer)), tokenizer, name=name)


@pytest.mark.parametrize("chat", [False, True])
def test_answers_are_drawn_from_the_models_own_distribution(chat: bool) -> None:
    scorer = make_scorer(chat=chat)
    tokenizer = scorer.tokenizer
    text = "<s>The capital of Japan is! York" if chat else "<s>The capital of Japan is"
    tokens = tokenizer(text, add_special_tokens=False).input_ids
    assert tokens[0] == 0
    with torch.no_grad():
        logits = scorer.model(torch.tensor([tokens])).logits[0, -1].float()
    order = (logits / TEMPERATURE).softmax(-1).sort(descending=True)
    # The most probable tokens that make up TOP_P together.
    kept = order.values * (order.values.cumsum(0) - order.values < TOP_P)
    expected: Counter[str] = Counter()
    for share, token in zip((kept / kept.sum()).tolist(), order.indices.tolist(), strict=True):
        decoded = tokenizer.decode([token], skip_special_tokens=True)
        expected[decoded if chat else (decoded.lstrip().splitlines() or [""])[0]] += share
    drawn = Counter(draw_answers(scorer, "The capital of Japan is", 3000, seed=1, new_tokens=1))
    assert set(drawn) <= {text for text, share in expected.items() if share}
    for text, share in expected.items():
        assert abs(drawn[text] - 3000 * share) < 5 * (3000 * share * (1 - share)) ** 0.5 + 1, text


def test_answers_follow_from_the_seed_alone() -> None:
    scorer = make_scorer()
    state, settings = torch.random.get_rng_state(), scorer.model.generation_config
    first = draw_answers(scorer, "Łódź is", 5, seed=3, new_tokens=8)
    assert torch.equal(state, torch.random.get_rng_state())
    assert scorer.model.generation_config is settings
    torch.rand(1)
    assert draw_answers(scorer, "Łódź is", 5, seed=3, new_tokens=8) == first
    assert draw_answers(scorer, "Łódź is", 5, seed=4, new_tokens=8) != first
    assert len(set(first)) > 1


def test_without_a_chat_an_answer_is_one_line() -> None:
    scorer = make_scorer()
    assert all("\n" not in answer for answer in draw_answers(scorer, "York", 60, seed=0, new_tokens=30))
    # The model writes a line break often enough for that to be seen.
    chats = draw_answers(make_scorer(chat=True), "York", 60, seed=0, new_tokens=30)
    assert any("\n" in answer.strip() for answer in chats)


@pytest.mark.parametrize("chat", [False, True])
def test_a_prompt_that_leaves_no_room_is_refused(chat: bool) -> None:
    with pytest.raises(TextError, match="longer than the 256"):
        draw_answers(make_scorer(chat=chat), "York " * 250, 1, seed=0, new_tokens=20)
