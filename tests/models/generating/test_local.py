"""Answers of a model here, against plain forward passes and the distribution they are drawn from."""

from collections import Counter

import pytest
import torch
from transformers import GenerationConfig

from kgprobe.base.errors import KgprobeError
from kgprobe.models.generating import local as local_generator
from kgprobe.models.generating.generator import Answer, Request, Unanswered
from kgprobe.models.generating.local import TOP_P, LocalGenerator
from kgprobe.models.scoring.scorer import Scorer
from tests.cases import slow_except
from tests.models.tiny import ARCHITECTURES, byte_level, random_model

CHAT = (
    "{% for message in messages %}<s>{{ message.content }}!{% endfor %}{% if add_generation_prompt %} York{% endif %}"
)
# One of each way to compute several rows: with positions, with a window, with biases by distance, by states.
KINDS = ("llama", "gemma3, narrow window", "bloom", "mamba")
PROMPTS = ["The capital of Japan is", "York", "Łódź is a city in Poland. Zürich is a city in", "New"]


def make_scorer(name: str = "llama", *, chat: str | None = None, eos: bool = True) -> Scorer:
    tokenizer = byte_level(bos=True, eos=eos)
    tokenizer.chat_template = chat
    return Scorer(random_model(name, len(tokenizer)), tokenizer, name=name)


def texts(generator: LocalGenerator, requests: list[Request]) -> list[str]:
    answers = generator.answer(requests)
    assert all(isinstance(answer, Answer) for answer in answers)
    return [answer.text for answer in answers if isinstance(answer, Answer)]


def naive_greedy(scorer: Scorer, tokens: list[int], new_tokens: int) -> list[int]:
    new: list[int] = []
    while len(new) < new_tokens and scorer.tokenizer.eos_token_id not in new:
        with torch.no_grad():
            new.append(int(scorer.model(torch.tensor([[*tokens, *new]])).logits[0, -1].argmax()))
    return new


@pytest.mark.parametrize("name", slow_except(ARCHITECTURES, KINDS))
def test_without_temperature_each_token_is_the_most_probable_one(name: str) -> None:
    scorer = make_scorer(name)
    generator = LocalGenerator(scorer)
    for prompt, answer in zip(PROMPTS, generator.answer([Request(prompt, 9) for prompt in PROMPTS]), strict=True):
        context = [0, *scorer.tokenizer(prompt, add_special_tokens=False).input_ids]
        new = naive_greedy(scorer, context, 9)
        text = scorer.tokenizer.decode(new, skip_special_tokens=True)
        assert isinstance(answer, Answer)
        assert answer.text == (text.lstrip().splitlines() or [""])[0].strip()
        assert answer.prompt_tokens == len(context)
        if len(text.splitlines()) < 2:
            assert (answer.completion_tokens, answer.ended) == (len(new), new[-1] == scorer.tokenizer.eos_token_id)


@pytest.mark.parametrize("name", slow_except(ARCHITECTURES, KINDS))
@pytest.mark.parametrize("temperature", [1.0, pytest.param(0.0, marks=pytest.mark.slow)])
@pytest.mark.representatives(2)
def test_answer_does_not_depend_on_what_is_asked_with_it(name: str, temperature: float) -> None:
    generator = LocalGenerator(make_scorer(name))
    requests = [Request(prompt, 9, temperature, seed) for prompt in PROMPTS[:3] for seed in (1, 2)]
    together = generator.answer(requests)
    assert together == [generator.answer([request])[0] for request in requests]
    assert together[::-1] == generator.answer(requests[::-1])


@pytest.mark.parametrize(
    ("likely", "chat"),
    [
        ((1024,), None),
        ((5, 40), CHAT),
        ((), None),
        pytest.param((1024,), CHAT, marks=pytest.mark.slow),
        pytest.param((5, 40), None, marks=pytest.mark.slow),
        pytest.param((), CHAT, marks=pytest.mark.slow),
    ],
)
def test_answers_are_drawn_from_the_models_own_distribution(
    likely: tuple[int, ...], chat: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_generator, "_LIKELY", likely)
    scorer = make_scorer(chat=chat)
    tokenizer = scorer.tokenizer
    text = "<s>The capital of Japan is! York" if chat else "<s>The capital of Japan is"
    tokens = tokenizer(text, add_special_tokens=False).input_ids
    assert tokens[0] == 0
    with torch.no_grad():
        logits = scorer.model(torch.tensor([tokens])).logits[0, -1].float()
    order = (logits / 0.8).softmax(-1).sort(descending=True)
    # The most probable tokens that make up TOP_P together.
    kept = order.values * (order.values.cumsum(0) - order.values < TOP_P)
    expected: Counter[str] = Counter()
    for share, token in zip((kept / kept.sum()).tolist(), order.indices.tolist(), strict=True):
        decoded = tokenizer.decode([token], skip_special_tokens=True)
        expected[decoded.strip() if chat else (decoded.lstrip().splitlines() or [""])[0].strip()] += share
    requests = [Request("The capital of Japan is", 1, 0.8, seed) for seed in range(3000)]
    drawn = Counter(texts(LocalGenerator(scorer), requests))
    assert set(drawn) <= {text for text, share in expected.items() if share}
    for text, share in expected.items():
        assert abs(drawn[text] - 3000 * share) < 5 * (3000 * share * (1 - share)) ** 0.5 + 1, text


@pytest.mark.parametrize("likely", [(5, 40), ()])
def test_broken_weights_are_named(likely: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_generator, "_LIKELY", likely)
    scorer = make_scorer()
    with torch.no_grad():
        next(scorer.model.parameters()).fill_(torch.nan)
    with pytest.raises(KgprobeError, match="not numbers: its weights are broken, or too large"):
        LocalGenerator(scorer).answer([Request("York", 1, 1.0)])


def test_answers_follow_from_prompt_and_seed_alone() -> None:
    scorer = make_scorer()
    generator = LocalGenerator(scorer)
    state, settings = torch.random.get_rng_state(), scorer.model.generation_config
    requests = [Request("Łódź is", 8, 1.0, seed) for seed in range(5)]
    first = texts(generator, requests)
    assert torch.equal(state, torch.random.get_rng_state())
    assert scorer.model.generation_config is settings
    torch.rand(1)
    assert texts(generator, requests) == first
    assert len(set(first)) == 5
    # What one seed draws for one prompt says nothing of what it draws for another.
    numbers = [local_generator._numbers(Request(prompt, 4, 1.0, 0), 4) for prompt in PROMPTS]
    assert len({number for its in numbers for number in its}) == 4 * len(PROMPTS)
    # Of equal requests each gets the same answer, and at temperature 0 the seed has no say.
    assert len(set(texts(generator, [requests[0]] * 3))) == 1
    assert len(set(texts(generator, [Request("Łódź is", 8, 0.0, seed) for seed in range(3)]))) == 1


def test_what_the_models_files_say_of_generation_has_no_say() -> None:
    scorer = make_scorer("gpt2")
    plain = texts(LocalGenerator(scorer), [Request(prompt, 6) for prompt in PROMPTS])
    scorer.model.generation_config = GenerationConfig(repetition_penalty=5.0, no_repeat_ngram_size=1, do_sample=True)
    assert texts(LocalGenerator(scorer), [Request(prompt, 6) for prompt in PROMPTS]) == plain


def test_without_a_chat_an_answer_is_one_line() -> None:
    requests = [Request("York", 30, 1.0, seed) for seed in range(60)]
    answers = LocalGenerator(make_scorer(eos=False)).answer(requests)
    ended = [answer for answer in answers if isinstance(answer, Answer) and answer.ended]
    assert not any("\n" in answer.text for answer in ended)
    # The model writes a line break often enough for that to be seen, and stops there.
    assert any(answer.completion_tokens < 30 for answer in ended)
    chats = texts(LocalGenerator(make_scorer(chat=CHAT)), [Request("York", 30, 3.0, seed) for seed in range(60)])
    assert any("\n" in text for text in chats)


@pytest.mark.parametrize(
    "template",
    [
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{{ raise_exception('Only for adults.') }}",
        "{% for message in messages %}",
        "{{ messages[0]['content'] + 1 }}",
    ],
)
def test_answer_failing_chat_template_is_named(template: str) -> None:
    generator = LocalGenerator(make_scorer(chat=template))
    with pytest.raises(KgprobeError, match=r"The chat template of .* fails: "):
        generator.answer([Request("What is it?", 3)])


def test_turns_end_is_read_off_the_chat_template() -> None:
    # Whatever the model's files say, this template ends an answer with a token of its own.
    tokenizer = byte_level(bos=True)
    tokenizer.add_special_tokens({"additional_special_tokens": ["<turn>"]})
    tokenizer.chat_template = (
        "{% for message in messages %}<s>{{ message.role }}: {{ message.content }}<turn>\n{% endfor %}"
        "{% if add_generation_prompt %}<s>assistant:{% endif %}"
    )
    scorer = Scorer(random_model("llama", len(tokenizer)), tokenizer, name="llama")
    turn = tokenizer.convert_tokens_to_ids("<turn>")
    generator = LocalGenerator(scorer)
    assert generator.describe()["end_tokens"] == [tokenizer.eos_token_id, turn]
    answers = generator.answer([Request("York", 60, 3.0, seed) for seed in range(40)])
    assert all(isinstance(answer, Answer) and "<turn>" not in answer.text for answer in answers)
    assert any(isinstance(answer, Answer) and answer.ended for answer in answers)


@pytest.mark.parametrize("chat", [None, CHAT])
def test_unacceptable_prompt_leaves_other_answers(chat: str | None) -> None:
    generator = LocalGenerator(make_scorer(chat=chat))
    done: list[int] = []
    odd = [Request("York " * 250, 20), Request("half a pair: \ud800", 20)]
    first, second, third, last = generator.answer([Request("York", 20), *odd, Request("York", 20)], done.append)
    assert isinstance(first, Answer)
    assert first == last
    assert isinstance(second, Unanswered)
    assert "longer than the 256" in second.reason
    assert isinstance(third, Unanswered)
    assert "surrogate" in third.reason
    assert sum(done) == 4
    with pytest.raises(KgprobeError, match="at least 1"):
        generator.answer([Request("York", 0)])


def test_short_memory_shrinks_batches(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scorer = make_scorer()
    requests = [Request(prompt, 6, 1.0, seed) for prompt in PROMPTS for seed in range(3)]
    wanted = LocalGenerator(scorer).answer(requests)
    generate, sizes = scorer.model.generate, []

    def in_little_memory(*, input_ids: torch.Tensor, **others: object) -> torch.Tensor:
        sizes.append(len(input_ids))
        if len(input_ids) > 2 or input_ids.shape[1] > 100:
            raise torch.OutOfMemoryError("out of memory")
        return generate(input_ids=input_ids, **others)

    monkeypatch.setattr(scorer.model, "generate", in_little_memory)
    found = LocalGenerator(scorer).answer([Request("York " * 120, 6), *requests])
    assert isinstance(found[0], Unanswered)
    assert "memory" in found[0].reason
    assert found[1:] == wanted
    # Equal prompts are computed once: one long prompt and four others, of three samples each.
    assert sizes[0] == 5
    assert len(sizes) <= 16


@pytest.mark.slow
def test_demo_model_answers(demo_scorer: Scorer) -> None:
    prompts = [f"Q: What is the capital of {country}?\nA:" for country in ("Japan", "France", "Italy")]
    shots = "Q: What is the capital of Spain?\nA: Madrid\nQ: What is the capital of Greece?\nA: Athens\n"
    found = LocalGenerator(demo_scorer).answer([Request(shots + prompt, 8) for prompt in prompts])
    assert [answer.text for answer in found if isinstance(answer, Answer)] == ["Tokyo", "Paris", "Rome"]
    assert all(isinstance(answer, Answer) and answer.ended and answer.completion_tokens < 8 for answer in found)


@pytest.mark.parametrize("chat", [None, CHAT])
def test_continuation_goes_on_over_lines_and_knows_no_chat(chat: str | None) -> None:
    scorer = make_scorer(chat=chat)
    generator = LocalGenerator(scorer)
    # After the last of these the model writes several lines.
    prompts = [*PROMPTS, "\nI"]
    asked = [Request(prompt, 24, continuation=continuation) for prompt in prompts for continuation in (True, False)]
    answers = generator.answer(asked)
    assert any(isinstance(answer, Answer) and len(answer.text.splitlines()) > 1 for answer in answers)
    for request, answer in zip(asked, answers, strict=True):
        if not request.continuation:
            assert generator.answer([request]) == [answer]
            continue
        tokens = [0, *scorer.tokenizer(request.prompt, add_special_tokens=False).input_ids]
        text = scorer.tokenizer.decode(naive_greedy(scorer, tokens, 24), skip_special_tokens=True)
        assert isinstance(answer, Answer)
        assert answer.text == text.strip()


@pytest.mark.parametrize("name", ["llama", "gemma3, narrow window", "mamba"])
@pytest.mark.representatives(2)
def test_equal_prompts_are_computed_once(name: str) -> None:
    scorer = make_scorer(name)
    generator = LocalGenerator(scorer)
    sizes: list[int] = []

    def count(_: object, __: object, arguments: dict[str, torch.Tensor]) -> None:
        sizes.append(arguments["input_ids"].numel())

    hook = scorer.model.register_forward_pre_hook(count, with_kwargs=True)
    requests = [Request(prompt, 3, 1.0, seed) for prompt in PROMPTS[:2] for seed in range(8)]
    generator.answer(requests)
    hook.remove()
    longest = max(generator.answer([request])[0].prompt_tokens for request in requests)  # type: ignore[union-attr]
    # The prompts without their last tokens, then one token per step of the 16 rows.
    expected = 2 * (longest - 1) + 16 + 2 * 16
    # A recurrent model computes each row, and has computed the prompts before that shows.
    assert sum(sizes) <= (expected if name != "mamba" else expected + 16 * longest)
    assert (max(sizes) == 16 * longest) == (name == "mamba")
