"""A state is read behind the very tokens that its model answered to; words are scored where it answered."""

from typing import Any

import numpy as np
import pytest
import torch

from kgprobe.base.errors import KgprobeError
from kgprobe.judge.prompts import StatePrompt, prompt_for, word_probabilities
from kgprobe.models.generating.generator import Request
from kgprobe.models.generating.local import LocalGenerator
from kgprobe.models.scoring.scorer import Scorer
from kgprobe.models.states.reader import StateReader
from kgprobe.probes.true_false import INSTRUCTION, STATEMENT
from tests.models.exactness import assert_same_states, double_copy
from tests.models.tiny import byte_level, random_model

# It writes the leading token itself, as templates do.
CHAT = (
    "{{ bos_token }}{% for message in messages %}<turn>{{ message['role'] }}\n{{ message['content'] | trim }}</s>\n"
    "{% endfor %}{% if add_generation_prompt %}<turn>model\n{% endif %}"
)
STATEMENTS = ["Tokyo is the capital of Japan.", "Kyoto is the capital of Japan.", "York lies in Łódź </s>."]
WORDS = ["True", "False", "Unknown"]


def chatting(template: str | None = CHAT, name: str = "tiny") -> Scorer:
    tokenizer = byte_level(bos=True)
    tokenizer.add_special_tokens({"additional_special_tokens": ["<turn>"]})
    tokenizer.chat_template = template
    return Scorer(random_model("gpt2", len(tokenizer), n_positions=1024), tokenizer, name=name)


def labels_of(scorer: Scorer) -> dict[str, Any]:
    return {"instruction": INSTRUCTION, "generator": LocalGenerator(scorer).describe()}


def given(scorer: Scorer, monkeypatch: pytest.MonkeyPatch) -> list[list[int]]:
    """Return the ids that the generator gives the model for each statement."""
    seen = []

    def generate(**arguments: Any) -> torch.Tensor:
        ids, mask = arguments["input_ids"], arguments["attention_mask"]
        seen.append(ids[0][mask[0].bool()].tolist())
        whole = torch.cat([ids, torch.full((len(ids), 1), 1)], dim=1)
        for criterion in arguments["stopping_criteria"]:
            criterion(whole, None)
        return whole

    monkeypatch.setattr(scorer.model, "generate", generate)
    generator = LocalGenerator(scorer)
    for statement in STATEMENTS:
        generator.answer([Request(INSTRUCTION.replace(STATEMENT, statement), 1)])
    return seen


@pytest.mark.parametrize("template", [None, CHAT])
def test_states_follow_the_answered_prompt_tokens(template: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    scorer = chatting(template)
    prompt = prompt_for(labels_of(scorer), scorer)
    assert prompt.chat == (template is not None)
    asked = given(scorer, monkeypatch)
    assert all(ids.count(0) == 1 for ids in asked)
    texts = [f"{text}{prompt.after}" for text in STATEMENTS]
    states = StateReader(scorer, [1, 3]).read(texts, beginning=prompt.before, chat=prompt.chat).values

    def naive(model: Any, ids: list[int]) -> torch.Tensor:
        with torch.inference_mode():
            layers = model.base_model(input_ids=torch.tensor([ids]), output_hidden_states=True).hidden_states
        return torch.stack([layers[1][0, -1], layers[3][0, -1]])

    both = scorer.model, double_copy(scorer.model)
    plain, exact = (np.stack([naive(model, ids) for ids in asked]) for model in both)
    assert_same_states(states, plain, exact)


def test_words_are_scored_where_the_answer_begins() -> None:
    scorer = chatting()
    prompt = prompt_for(labels_of(scorer), scorer)
    told = word_probabilities(scorer, prompt, STATEMENTS, WORDS)
    tokenizer = scorer.tokenizer
    for statement, its in zip(STATEMENTS, told, strict=True):
        text = f"{prompt.before}{statement}{prompt.after}"
        alone = tokenizer(text, add_special_tokens=False, split_special_tokens=False)["input_ids"]
        sums = []
        for word in WORDS:
            tail = tokenizer(word, add_special_tokens=False)["input_ids"]
            with torch.inference_mode():
                logs = scorer.model(torch.tensor([[*alone, *tail]])).logits[0].log_softmax(-1)
            sums.append(sum(float(logs[len(alone) - 1 + place, token]) for place, token in enumerate(tail)))
        np.testing.assert_allclose(its, np.exp(sums) / np.exp(sums).sum(), atol=1e-4)


def test_only_the_model_that_was_asked_reads_its_own_chat() -> None:
    asked, other = chatting(), chatting(name="small")
    with torch.no_grad():
        next(other.model.parameters()).add_(1)
    other.refresh()
    before, after = INSTRUCTION.split(STATEMENT)
    assert prompt_for(labels_of(asked), other) == StatePrompt(before, after)
    api = {"instruction": INSTRUCTION, "generator": {"name": "openai:x", "prompt": "one message of a user"}}
    assert prompt_for(api, asked) == StatePrompt(before, after)


def test_template_that_changes_what_is_said_is_told() -> None:
    scorer = chatting(CHAT.replace("| trim", "| upper"))
    with pytest.raises(KgprobeError, match="changes the instruction"):
        prompt_for(labels_of(scorer), scorer)
