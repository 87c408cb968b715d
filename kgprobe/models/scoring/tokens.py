"""Where a prompt ends and its continuation begins, in tokens.

The rule: prompt and continuation are joined as running text and tokenized at once, as the model would have met them;
the continuation's tokens are those after the longest token prefix that this has in common with the prompt tokenized
alone. So a token that spans the boundary belongs to the continuation.

Joined means prompt + separator + continuation, with these refinements:

- the prompt's trailing white space moves to the continuation, since tokenizers attach a space to the word after it;
- where the prompt ends in white space or the continuation begins with it, that stands in for the separator;
- an empty prompt has nothing to be separated from.

Both texts are data: what looks like a special token (``</s>`` in a label) is tokenized as the text it is. Special
tokens that the tokenizer puts in front by itself (BOS, where it has that habit) stand in front of the prompt; those
that it would append do not count, EOS is asked for.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kgprobe.errors import KgprobeError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


class TextError(KgprobeError):
    """A prompt or continuation that a model cannot take; the model itself is sound, and others may do."""


@dataclass(frozen=True, slots=True)
class TokenizedPrompt:
    """A prompt and its continuations; the i-th token sequence is ``context[: starts[i]] + tails[i]``.

    Attributes:
        context: the prompt's own token ids, with the leading special tokens; empty only if there is no continuation.
        starts: for each continuation, how many tokens of ``context`` stand before it, at least 1.
        tails: for each continuation the token ids that are scored, at least one.
    """

    context: tuple[int, ...]
    starts: tuple[int, ...]
    tails: tuple[tuple[int, ...], ...]

    def part(self, members: Iterable[int]) -> "TokenizedPrompt":
        """The prompt with some of its continuations, by their positions."""
        pairs = [(self.starts[member], self.tails[member]) for member in members]
        starts, tails = zip(*pairs, strict=True) if pairs else ((), ())
        return TokenizedPrompt(self.context, starts, tails)


def leading_tokens(tokenizer: "PreTrainedTokenizerBase", bos: bool | None = None) -> tuple[int, ...]:
    """The special token ids that stand in front of every prompt.

    Args:
        tokenizer: the model's.
        bos: whether BOS is put in front; None does what the tokenizer does by itself.

    Raises:
        KgprobeError: BOS is asked for and the tokenizer has none.
    """
    if bos is None:
        bare = tokenizer("a", add_special_tokens=False)["input_ids"]
        whole = tokenizer("a")["input_ids"]
        for first in range(len(whole) - len(bare) + 1):
            if whole[first : first + len(bare)] == bare:
                return tuple(whole[:first])
        raise KgprobeError(
            f"Cannot tell which special tokens the tokenizer puts in front of a text: 'a' is {whole} with and {bare}"
            " without them. Say whether a BOS token is wanted (bos=True or bos=False)."
        )
    if not bos:
        return ()
    if tokenizer.bos_token_id is None:
        raise KgprobeError("A BOS token is asked for, but the model's tokenizer has none; without bos=True it works.")
    return (int(tokenizer.bos_token_id),)


def common_prefix(first: Sequence[int], second: Sequence[int]) -> int:
    """How many leading tokens two sequences of the same kind have in common."""
    length = min(len(first), len(second))
    if first[:length] == second[:length]:
        return length
    return next(place for place in range(length) if first[place] != second[place])


def join(prompt: str, separator: str, continuation: str) -> str:
    """Prompt and continuation as running text."""
    if not prompt or prompt[-1].isspace() or continuation[:1].isspace():
        return prompt + continuation
    return prompt + separator + continuation


def encode(tokenizer: "PreTrainedTokenizerBase", texts: list[str]) -> Sequence[Sequence[int]]:
    """The token ids of texts as they are, without special tokens; truncation and padding are switched off for good.

    Raises:
        TextError: a text is no Unicode.
    """
    if not texts:
        return []
    try:
        "".join(texts).encode("utf-8")
    except UnicodeEncodeError:
        odd = next(text for text in texts if any("\ud800" <= character <= "\udfff" for character in text))
        raise TextError(f"The text {_short(odd)} is no Unicode: it holds half of a surrogate pair.") from None
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        encoded: list[list[int]] = tokenizer(texts, add_special_tokens=False, split_special_tokens=True)["input_ids"]
        return encoded
    backend.no_truncation()
    backend.no_padding()
    backend.encode_special_tokens = True
    return [one.ids for one in backend.encode_batch_fast(texts, add_special_tokens=False)]


def tokenize(
    tokenizer: "PreTrainedTokenizerBase",
    prompts: Sequence[str],
    continuations: Sequence[Sequence[str]],
    *,
    separator: str = " ",
    leading: tuple[int, ...] = (),
    end: int | None = None,
    limit: int | None = None,
) -> list[TokenizedPrompt]:
    """Prompts and continuations as token ids, by the rule above.

    Args:
        tokenizer: the model's; its truncation and padding are switched off.
        prompts: any text, also empty if ``leading`` is not.
        continuations: for each prompt, any number of non-empty texts.
        separator: what stands between the two.
        leading: ids in front of every prompt, see :func:`leading_tokens`.
        end: the id of the EOS token, to append it to every continuation.
        limit: the most tokens that the model can take in; the last one of a continuation is only predicted.

    Raises:
        TextError: a continuation is empty or tokenizes to nothing, nothing stands before it, a sequence is longer
            than ``limit``, or a text is no Unicode; the message names the prompt.
        KgprobeError: there are more or fewer lists of continuations than prompts.
    """
    if len(prompts) != len(continuations):
        raise KgprobeError(f"{len(prompts)} prompts with {len(continuations)} lists of continuations; one list each.")
    texts = []
    for number, (prompt, its) in enumerate(zip(prompts, continuations, strict=True)):
        texts.append(prompt.rstrip())
        for text in its:
            if not text:
                raise TextError(f"{_named(number, prompt)}: a continuation is empty; it needs some text.")
            texts.append(join(prompt, separator, text))
    ids = iter(encode(tokenizer, texts))

    tokenized = []
    suffix = () if end is None else (end,)
    for number, (prompt, its) in enumerate(zip(prompts, continuations, strict=True)):
        alone = next(ids)
        starts, tails = [], []
        for text in its:
            joint = next(ids)
            shared = common_prefix(alone, joint)
            tail = (*joint[shared:], *suffix)
            _check(number, prompt, text, len(leading) + shared, len(joint) - shared, len(tail), limit)
            starts.append(len(leading) + shared)
            tails.append(tail)
        tokenized.append(TokenizedPrompt((*leading, *alone), tuple(starts), tuple(tails)))
    return tokenized


def _check(number: int, prompt: str, text: str, before: int, own: int, scored: int, limit: int | None) -> None:
    if own == 0:
        raise TextError(f"{_named(number, prompt)}: the continuation {_short(text)} tokenizes to nothing.")
    if before == 0:
        raise TextError(
            f"{_named(number, prompt)}: no token stands before the continuation {_short(text)}, so nothing predicts"
            " its first; an empty prompt needs a BOS token (bos=True)."
        )
    if limit is not None and before + scored - 1 > limit:
        raise TextError(
            f"{_named(number, prompt)}: {before} tokens and {scored} of the continuation {_short(text)} make"
            f" {before + scored}, more than the {limit} that the model takes in (and one predicted)."
        )


def _named(number: int, prompt: str) -> str:
    return f"Prompt {number} ({_short(prompt)})"


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:40]}…{text[-15:]}")
