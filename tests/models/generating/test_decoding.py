"""Beam search against its definition: every step a plain forward pass over every beam."""

import re

import pytest
import torch
from transformers import GenerationConfig

from kgprobe.base.errors import KgprobeError
from kgprobe.models.generating import decoding
from kgprobe.models.generating.decoding import Continuation, beam_search, end_of_answer
from kgprobe.models.generating.generator import Request, Unanswered
from kgprobe.models.generating.local import LocalGenerator
from kgprobe.models.scoring.scorer import Scorer
from tests.models.exactness import score_tolerance
from tests.models.tiny import byte_level, random_model

PROMPTS = ["The capital of Japan is", "York", "Łódź is a city in"]


def make_scorer(name: str, end: int | None = None) -> Scorer:
    tokenizer = byte_level(bos=True, eos=end is not None)
    if end is not None:
        tokenizer.eos_token = tokenizer.convert_ids_to_tokens(end)
    return Scorer(random_model(name, len(tokenizer)), tokenizer, name=name)


def likely_token(name: str) -> int:
    """Return one that comes up in the middle of what the model goes on with."""
    scorer = make_scorer(name)
    return naive_search(scorer, PROMPTS[0], 3, 3)[0][0][1]


def is_over(scorer: Scorer, tokens: tuple[int, ...]) -> bool:
    text = scorer.tokenizer.decode(tokens, skip_special_tokens=True)
    return tokens[-1] == scorer.tokenizer.eos_token_id or end_of_answer(text) is not None


def naive_search(scorer: Scorer, prompt: str, beams: int, new_tokens: int) -> list[tuple[tuple[int, ...], float]]:
    context = [0, *scorer.tokenizer(prompt, add_special_tokens=False).input_ids]
    running: list[tuple[tuple[int, ...], float]] = [((), 0.0)]
    finished: list[tuple[tuple[int, ...], float]] = []
    for step in range(new_tokens):
        candidates = []
        for tokens, score in running:
            with torch.no_grad():
                logits = scorer.model(torch.tensor([[*context, *tokens]])).logits[0, -1]
            for token, value in enumerate(logits.log_softmax(-1).tolist()):
                candidates.append(((*tokens, token), score + value))
        candidates.sort(key=lambda candidate: -candidate[1])
        ends = [is_over(scorer, tokens) or step == new_tokens - 1 for tokens, _ in candidates]
        finished += [candidate for candidate, end in zip(candidates[:beams], ends, strict=False) if end]
        running = [candidate for candidate, end in zip(candidates, ends, strict=True) if not end][:beams]
    return sorted(finished, key=lambda candidate: -candidate[1])[:beams]


# Every architecture with several beams, and one with each number of beams.
BEAMS = [
    pytest.param(name, beams, marks=() if name == "gpt2" or beams == 3 else pytest.mark.slow)
    for name in ("gpt2", "gemma3, narrow window", "bloom", "mamba")
    for beams in (1, 3, 6)
]


@pytest.mark.parametrize(("name", "beams"), BEAMS)
@pytest.mark.representatives(2)
def test_it_finds_what_the_definition_finds(name: str, beams: int) -> None:
    scorer = make_scorer(name, likely_token(name))
    ended = 0
    for prompt, found in zip(PROMPTS, beam_search(scorer, PROMPTS, beams, new_tokens=4), strict=True):
        wanted = naive_search(scorer, prompt, beams, 4)
        assert [one.log_probability for one in found] == pytest.approx([score for _, score in wanted], abs=1e-3)
        texts = [scorer.tokenizer.decode(tokens, skip_special_tokens=True) for tokens, _ in wanted]
        assert [one.text for one in found] == texts
        assert [one.ended for one in found] == [is_over(scorer, tokens) for tokens, _ in wanted]
        ended += sum(one.ended for one in found)
    assert beams == 1 or ended


def test_search_ends_where_a_sentence_does(monkeypatch: pytest.MonkeyPatch) -> None:
    # Random text has no sentences; here every capital ends one.
    monkeypatch.setattr(decoding, "_END", re.compile("[A-Z]"))
    monkeypatch.setattr(decoding, "_SUSPICIOUS", re.compile("[A-Z]"))
    for eos in (None, 7):
        scorer = make_scorer("llama", eos)
        ended = 0
        for beams in (1, 4):
            for prompt, found in zip(PROMPTS, beam_search(scorer, PROMPTS, beams, new_tokens=5), strict=True):
                wanted = naive_search(scorer, prompt, beams, 5)
                texts = [scorer.tokenizer.decode(tokens, skip_special_tokens=True) for tokens, _ in wanted]
                assert [one.text for one in found] == texts
                assert [one.log_probability for one in found] == pytest.approx([it[1] for it in wanted], abs=1e-3)
                assert not any(character.isupper() for one in found for character in one.answer)
                ended += sum(any(map(str.isupper, text)) for text in texts)
        assert ended


def test_model_without_eos_goes_on_to_the_last_token() -> None:
    scorer = make_scorer("llama")
    (found,) = beam_search(scorer, PROMPTS[:1], 3, new_tokens=3)
    assert [one.log_probability for one in found] == pytest.approx(
        [score for _, score in naive_search(scorer, PROMPTS[0], 3, 3)], abs=1e-3
    )
    assert not any(one.ended for one in found)


def test_what_the_models_files_say_of_generation_has_no_say() -> None:
    scorer = make_scorer("gpt2")
    plain = beam_search(scorer, PROMPTS, 2, new_tokens=6)
    theirs = GenerationConfig(repetition_penalty=5.0, no_repeat_ngram_size=1, eos_token_id=5, suppress_tokens=[7, 8, 9])
    scorer.model.generation_config = theirs
    assert beam_search(scorer, PROMPTS, 2, new_tokens=6) == plain
    assert scorer.model.generation_config is theirs


def test_prompt_has_no_say_in_anothers_continuations(monkeypatch: pytest.MonkeyPatch) -> None:
    scorer = make_scorer("llama")
    together = beam_search(scorer, PROMPTS, 2, new_tokens=4)
    alone = [beam_search(scorer, [prompt], 2, new_tokens=4)[0] for prompt in PROMPTS]
    allowed = score_tolerance(scorer.model, tokens=4)
    for one, other in zip(together, alone, strict=True):
        assert [it.text for it in one] == [it.text for it in other]
        assert [it.log_probability for it in one] == pytest.approx([it.log_probability for it in other], abs=allowed)

    search, done = decoding._search, []

    def search_in_little_memory(scorer, ends, contexts, *others):
        if len(contexts) > 1:
            raise torch.OutOfMemoryError("out of memory")
        return search(scorer, ends, contexts, *others)

    monkeypatch.setattr(decoding, "_search", search_in_little_memory)
    little = beam_search(scorer, PROMPTS, 2, new_tokens=4, progress=done.append)
    assert [[it.text for it in one] for one in little] == [[it.text for it in one] for one in together]
    assert sum(done) == len(PROMPTS)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (" Tokyo", "Tokyo"),
        ("\n\n Tokyo.\nIt is", "Tokyo"),
        (" Tokyo\nIt is", "Tokyo"),
        (" Tokyo. It is. It", "Tokyo"),
        (" Tokyo! It", "Tokyo"),
        ("", ""),
        (" \n", ""),
        (" Washington, D.C. It", "Washington, D.C. It"),
        (" J. R. R. Tolkien. He", "J. R. R. Tolkien"),
        (" St. Louis, Missouri", "St. Louis, Missouri"),
        (" example.com or 3.1415", "example.com or 3.1415"),
        ("東京。大阪", "東京"),
        ("東京 \u2028 x", "東京"),
        ("a\tb", "a\tb"),
    ],
)
def test_answer_is_the_first_line_or_sentence(text: str, answer: str) -> None:
    assert Continuation(text, -1.0, False).answer == answer


def test_what_cannot_be_gone_on_with_has_a_reason() -> None:
    scorer = make_scorer("gpt2")
    done: list[int] = []
    long, odd, sound = beam_search(scorer, ["York " * 250, "\ud800", "York"], 1, progress=done.append)
    assert isinstance(long, Unanswered)
    assert "longer than the 256" in long.reason
    assert isinstance(odd, Unanswered)
    assert "not valid Unicode" in odd.reason
    assert sound == beam_search(scorer, ["York"], 1)[0]
    assert sum(done) == 3
    with pytest.raises(KgprobeError, match="at least 1 beam and 1 token; got 0"):
        beam_search(scorer, PROMPTS, 0)
    bare = Scorer(scorer.model, scorer.tokenizer, name="bare", bos=False)
    (nothing,) = beam_search(bare, [""], 1)
    assert isinstance(nothing, Unanswered)
    assert "BOS" in nothing.reason
    assert beam_search(scorer, [], 1) == []


def test_generator_in_training_mode_equals_eval_mode() -> None:
    scorer = make_scorer("gpt2")
    model = scorer.model
    plain = beam_search(scorer, PROMPTS, 2, new_tokens=4)
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.5
    model.train()
    model.transformer.h[1].eval()
    modes = [module.training for module in model.modules()]
    assert beam_search(scorer, PROMPTS, 2, new_tokens=4) == plain
    assert LocalGenerator(scorer).answer([Request("York", 4)]) == LocalGenerator(scorer).answer([Request("York", 4)])
    assert [module.training for module in model.modules()] == modes
