"""Virtual tokens against gradient descent written out, one statement at a time."""

import copy
import sys

import numpy as np
import pytest
import torch

from kgprobe.base.errors import KgprobeError
from kgprobe.judge import JudgeOptions
from kgprobe.judge.prompt_encoder import learn_virtual_prompt, virtual_word_probabilities
from kgprobe.judge.prompts import StatePrompt
from kgprobe.models.scoring.scorer import Scorer
from tests.models.tiny import byte_level, random_model

PROMPT = StatePrompt("Is this true, false, or unknown?\n", "\nAnswer:")
WORDS = ("True", "False", "Unknown")
STATEMENTS = [f"{name} is the capital of {other}." for name in ("Rome", "Oslo", "Łódź") for other in ("Peru", "Italy")]
ANSWERS = np.array([0, 1, 0, 1, 2, 1])
FEW = {"virtual_tokens": 3, "encoder_units": 8}


@pytest.fixture(scope="module")
def tokenizer():
    return byte_level(bos=True)


def scorer_of(architecture, tokenizer, **others):
    return Scorer(random_model(architecture, len(tokenizer), **others), tokenizer, name=architecture)


def naive_loss(model, tokenizer, leading, first: torch.Tensor, statement: str, word: str) -> torch.Tensor:
    """Return the loss of a word after a statement after embeddings, by the model's own logits."""
    alone, whole = (
        tokenizer(text, add_special_tokens=False)["input_ids"]
        for text in (statement + PROMPT.after, f"{statement}{PROMPT.after} {word}")
    )
    embed = model.get_input_embeddings()
    rows = torch.cat([embed(torch.tensor(leading)), first, embed(torch.tensor(whole))])
    logits = model(inputs_embeds=rows[None]).logits[0]
    told = logits.log_softmax(-1)
    before = len(rows) - len(whole)
    assert whole[: len(alone)] == alone
    return -sum(told[before + place - 1, whole[place]] for place in range(len(alone), len(whole)))


@pytest.mark.parametrize(
    ("architecture", "others"),
    [("gpt2", {}), ("llama", {}), ("bloom", {}), ("gemma3", {"final_logit_softcapping": 3.0})],
)
def test_virtual_tokens_are_those_of_gradient_descent(architecture, others, tokenizer):
    from peft import PromptEncoder, PromptEncoderConfig

    scorer = scorer_of(architecture, tokenizer, **others)
    options = JudgeOptions(**FEW, encoder_epochs=2, encoder_learning_rate=1e-2, encoder_batch_size=len(STATEMENTS))
    learned = learn_virtual_prompt(scorer, PROMPT, STATEMENTS, ANSWERS, WORDS, options, seed=4)

    model = copy.deepcopy(scorer.model).requires_grad_(False)
    with torch.random.fork_rng():
        torch.manual_seed(4)
        size = model.config.hidden_size
        encoder = PromptEncoder(
            PromptEncoderConfig(
                num_virtual_tokens=3, token_dim=size, num_transformer_submodules=1, encoder_hidden_size=8
            )
        )
    optimizer = torch.optim.AdamW(encoder.parameters(), lr=1e-2, weight_decay=0.01)
    losses = []
    for _ in range(2):
        optimizer.zero_grad()
        virtual = encoder(torch.arange(3))
        loss = torch.stack(
            [
                naive_loss(model, tokenizer, scorer.leading, virtual, statement, WORDS[answer])
                for statement, answer in zip(STATEMENTS, ANSWERS, strict=True)
            ]
        ).mean()
        loss.backward()
        losses.append(float(loss.detach()))
        optimizer.step()
    np.testing.assert_allclose(learned.losses, losses, rtol=1e-4)
    np.testing.assert_allclose(learned.virtual, encoder(torch.arange(3)).detach().numpy(), atol=2e-4)
    with torch.no_grad():
        instruction = model.get_input_embeddings()(
            torch.tensor(tokenizer(PROMPT.before, add_special_tokens=False)["input_ids"])
        )
        behind_it = [
            float(naive_loss(model, tokenizer, scorer.leading, instruction, statement, WORDS[answer]))
            for statement, answer in zip(STATEMENTS, ANSWERS, strict=True)
        ]
    assert learned.instruction_loss == pytest.approx(np.mean(behind_it), rel=1e-4)
    assert (learned.instruction_tokens, learned.learned) == (len(instruction), len(STATEMENTS))


def test_prefix_makes_answers_likelier_model_unchanged(tokenizer):
    scorer = scorer_of("llama", tokenizer)
    parameters = {name: values.clone() for name, values in scorer.model.named_parameters()}
    frozen = next(iter(scorer.model.parameters()))
    frozen.requires_grad_(False)
    steps: list[tuple[int, int]] = []
    options = JudgeOptions(**FEW, encoder_epochs=30, encoder_learning_rate=1e-2, encoder_batch_size=4)

    def learn(seed: int):
        return learn_virtual_prompt(
            scorer,
            PROMPT,
            STATEMENTS,
            ANSWERS,
            WORDS,
            options,
            seed=seed,
            on_progress=lambda now: steps.append((now.done, now.total)),
        )

    learned = learn(1)
    assert learned.losses[-1] < learned.losses[0] - 1
    assert learned.losses[-1] < learned.instruction_loss - 1
    assert steps[:3] == [(4, 180), (6, 180), (10, 180)]
    assert steps[-1] == (180, 180)
    np.testing.assert_array_equal(learned.virtual, learn(1).virtual)
    assert not np.array_equal(learned.virtual, learn(2).virtual)
    for name, values in scorer.model.named_parameters():
        assert torch.equal(values, parameters[name])
        assert values.grad is None
        assert values.requires_grad == (values is not frozen)
    frozen.requires_grad_(True)


@pytest.mark.parametrize("batch_size", [1, 4])
def test_words_after_virtual_tokens_equal_the_models_own(tokenizer, batch_size):
    scorer = scorer_of("llama", tokenizer)
    virtual = np.random.default_rng(0).normal(size=(3, scorer.model.config.hidden_size)).astype(np.float32)
    found = virtual_word_probabilities(scorer, PROMPT, virtual, STATEMENTS, WORDS, batch_size)
    with torch.no_grad():
        for statement, row in zip(STATEMENTS, found, strict=True):
            first = torch.from_numpy(virtual)
            losses = [naive_loss(scorer.model, tokenizer, scorer.leading, first, statement, word) for word in WORDS]
            np.testing.assert_allclose(row, torch.softmax(-torch.stack(losses), 0).numpy(), rtol=1e-4)


def test_statements_that_a_model_cannot_take_are_left_out(tokenizer):
    scorer = scorer_of("gpt2", tokenizer)
    options = JudgeOptions(**FEW, encoder_epochs=1)
    texts = [*STATEMENTS, "Rome " * scorer.max_tokens]
    learned = learn_virtual_prompt(scorer, PROMPT, texts, np.append(ANSWERS, 0), WORDS, options, seed=0)
    assert learned.learned == len(STATEMENTS)
    with pytest.raises(KgprobeError, match="cannot take any"):
        learn_virtual_prompt(scorer, PROMPT, texts[-1:], ANSWERS[:1], WORDS, options, seed=0)


def test_what_cannot_be_learned_is_told(tokenizer, monkeypatch):
    scorer = scorer_of("gpt2", tokenizer)
    options = JudgeOptions(**FEW)
    given = (scorer, PROMPT, STATEMENTS, ANSWERS, WORDS)
    embedding = scorer.model.get_input_embeddings()
    # What a model adds to tokens, and not to embeddings that it is given.
    with monkeypatch.context() as patch:
        forward = type(scorer.model.base_model).forward

        def more(self, input_ids=None, inputs_embeds=None, **rest):
            if inputs_embeds is None:
                inputs_embeds = embedding(input_ids) * 2
            return forward(self, inputs_embeds=inputs_embeds, **rest)

        patch.setattr(type(scorer.model.base_model), "forward", more)
        with pytest.raises(KgprobeError, match="other probabilities for embeddings"):
            learn_virtual_prompt(*given, options, seed=0)
    with pytest.raises(KgprobeError, match="smaller `encoder_learning_rate`"):
        learn_virtual_prompt(*given, JudgeOptions(**FEW, encoder_learning_rate=1e30), seed=0)
    monkeypatch.setitem(sys.modules, "peft", None)
    with pytest.raises(KgprobeError, match=r"\.\[peft\]"):
        learn_virtual_prompt(*given, options, seed=0)
