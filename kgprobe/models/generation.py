"""Texts that a language model draws: answers to a prompt, each token by its probability.

Where the tokenizer has a chat template, the prompt is what a user says, and the answer ends where the model ends it;
else the prompt is a text to go on with, and an answer is the rest of its last line. What a model's files say about
generation is left aside, and everything random follows from a seed.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from kgprobe.errors import KgprobeError
from kgprobe.models.decoding import check_room, context_tokens, own_settings
from kgprobe.models.scorer import Scorer

if TYPE_CHECKING:
    from transformers import GenerationConfig, StoppingCriteriaList

# Below 1 a model keeps closer to what it finds probable; the least probable tokens are never drawn.
TEMPERATURE = 0.8
TOP_P = 0.95


@torch.inference_mode()
def draw_answers(scorer: Scorer, prompt: str, count: int, *, seed: int, new_tokens: int) -> list[str]:
    """Answers to a prompt, drawn independently of each other.

    Cost: ``count`` times the prompt's tokens and the new ones, in one batch.

    Args:
        scorer: the model.
        prompt: any text.
        count: how many answers.
        seed: what they follow from.
        new_tokens: the most tokens of an answer; the model may end it before.

    Returns:
        ``count`` texts, without special tokens, some maybe empty.

    Raises:
        TextError: the prompt has no token, or leaves no room for the answer.
        KgprobeError: there is not enough memory.
    """
    chat = _chat_tokens(scorer, prompt, new_tokens)
    context = chat or context_tokens(scorer, prompt, new_tokens)
    model: Any = scorer.model
    tokens = torch.tensor([context] * count, device=model.device)
    ends = _ends(scorer)
    devices = [model.device] if model.device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices), own_settings(scorer):
        torch.manual_seed(seed)
        try:
            rows = model.generate(
                input_ids=tokens,
                attention_mask=torch.ones_like(tokens),
                generation_config=_settings(ends, new_tokens),
                stopping_criteria=None if chat else _at_line_breaks(scorer, len(context)),
            )
        except torch.OutOfMemoryError as error:
            raise KgprobeError(
                f"{count} answers of {new_tokens} tokens do not fit into the memory of {model.device}; fewer would."
            ) from error
    texts = map(str, scorer.tokenizer.batch_decode(rows[:, len(context) :], skip_special_tokens=True))
    return list(texts) if chat else [(text.lstrip().splitlines() or [""])[0] for text in texts]


def _chat_tokens(scorer: Scorer, prompt: str, new_tokens: int) -> Sequence[int]:
    """The prompt as a user says it, up to where the answer begins; nothing where the model knows no such form."""
    tokenizer = scorer.tokenizer
    if not tokenizer.chat_template:
        return ()
    text = tokenizer.apply_chat_template(
        [{"role": "user", "content": prompt}], tokenize=False, add_generation_prompt=True
    )
    # The template writes its special tokens as text, and here they are what they look like.
    tokens: list[int] = tokenizer(text, add_special_tokens=False, split_special_tokens=False)["input_ids"]
    check_room(scorer, prompt, len(tokens), new_tokens)
    return tokens


def _ends(scorer: Scorer) -> list[int]:
    """The tokens that end an answer: EOS, and what the model's files name beside it, such as the end of a turn."""
    theirs: Any = getattr(scorer.model.generation_config, "eos_token_id", None)
    named = theirs if isinstance(theirs, list) else [theirs]
    return list(dict.fromkeys(end for end in (scorer.tokenizer.eos_token_id, *named) if end is not None))


def _at_line_breaks(scorer: Scorer, before: int) -> "StoppingCriteriaList":
    """Ends a row with its first line that is not empty; ``before`` tokens are the prompt's."""
    from transformers import StoppingCriteriaList

    def are_over(tokens: torch.Tensor, *_: Any, **__: Any) -> torch.Tensor:
        texts = scorer.tokenizer.batch_decode(tokens[:, before:], skip_special_tokens=True)
        return torch.tensor([len(text.lstrip().splitlines()) > 1 for text in map(_marked, texts)], device=tokens.device)

    return StoppingCriteriaList([are_over])


def _marked(text: str) -> str:
    # A line break at the end begins a line.
    return f"{text}."


def _settings(ends: list[int], new_tokens: int) -> "GenerationConfig":
    from transformers import GenerationConfig

    settings: Any = GenerationConfig
    made: GenerationConfig = settings(
        do_sample=True,
        temperature=TEMPERATURE,
        top_p=TOP_P,
        top_k=0,
        max_new_tokens=new_tokens,
        eos_token_id=ends or None,
        pad_token_id=ends[0] if ends else 0,
        use_cache=True,
    )
    return made
