"""What a user says, as a model that chats is given it: in its template, as text and as tokens."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kgprobe.errors import KgprobeError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

# How a generator describes that it asks in this way.
CHAT = "chat template"


def chat_text(
    tokenizer: "PreTrainedTokenizerBase", messages: Sequence[tuple[str, str]], *, answering: bool = True
) -> str:
    """Messages in the tokenizer's template, special tokens written out.

    Args:
        tokenizer: one with a chat template.
        messages: roles, such as ``user``, with what each says.
        answering: whether the model's own turn begins behind them.

    Raises:
        KgprobeError: the template refuses the messages, is damaged, or does what Jinja's sandbox forbids.
    """
    try:
        text = tokenizer.apply_chat_template(
            [{"role": role, "content": content} for role, content in messages],
            tokenize=False,
            add_generation_prompt=answering,
            # Models that think first, and let one say so, are asked not to: answers are short.
            enable_thinking=False,
        )
    # A template is a program of its author's and may fail in any way.
    except Exception as error:
        raise KgprobeError(
            f"The chat template of {tokenizer.name_or_path} fails: {type(error).__name__}: {error}. Repair it in the"
            " tokenizer's files; without a template, prompts are given as plain text."
        ) from error
    return str(text)


def chat_tokens(tokenizer: "PreTrainedTokenizerBase", texts: Sequence[str]) -> list[list[int]]:
    """The token ids of what a template wrote: its special tokens are what they look like, and none is put in front."""
    tokens: list[list[int]] = tokenizer(list(texts), add_special_tokens=False, split_special_tokens=False)["input_ids"]
    return tokens
