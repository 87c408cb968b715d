"""Chat templates of tokenizers, as text and as tokens."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kgprobe.errors import KgprobeError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

# Value of a generator's description.
CHAT = "chat template"


def chat_text(
    tokenizer: "PreTrainedTokenizerBase", messages: Sequence[tuple[str, str]], *, answering: bool = True
) -> str:
    """Return messages in the tokenizer's template, with special tokens as text.

    Args:
        tokenizer: one with a chat template.
        messages: roles, such as ``user``, with their texts.
        answering: True to begin the model's own turn after them.

    Raises:
        KgprobeError: the template refuses the messages, is damaged, or does what Jinja's sandbox forbids.
    """
    try:
        text = tokenizer.apply_chat_template(
            [{"role": role, "content": content} for role, content in messages],
            tokenize=False,
            add_generation_prompt=answering,
            # Thinking is switched off in models that support it, because answers are short.
            enable_thinking=False,
        )
    # A template is a program and may fail in any way.
    except Exception as error:
        raise KgprobeError(
            f"The chat template of {tokenizer.name_or_path} fails: {type(error).__name__}: {error}. Repair or"
            " remove it in the tokenizer's files; without a template, prompts are plain text."
        ) from error
    return str(text)


def chat_tokens(tokenizer: "PreTrainedTokenizerBase", texts: Sequence[str]) -> list[list[int]]:
    """Return the token ids of a template's output: its special tokens are recognized, and none is prepended."""
    tokens: list[list[int]] = tokenizer(list(texts), add_special_tokens=False, split_special_tokens=False)["input_ids"]
    return tokens
