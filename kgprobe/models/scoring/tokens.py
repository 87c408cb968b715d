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

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kgprobe.errors import KgprobeError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


class TextError(KgprobeError):
    """A text that a model cannot take, where nothing else was asked; the model itself is sound, and others may do."""


@dataclass(frozen=True, slots=True)
class TokenizedPrompt:
    """A prompt and its continuations; the i-th token sequence is ``context[: starts[i]] + tails[i]``.

    Attributes:
        context: the prompt's own token ids, with the leading special tokens; may be empty where no continuation can be
            taken.
        starts: for each continuation, how many tokens of ``context`` stand before it, at least 1; 0 for one that cannot
            be taken.
        tails: for each continuation the token ids that are scored, at least one; none for one that cannot be taken.
        reason: why the model cannot take the prompt, whatever stands behind it, as a clause; None if it can.
        reasons: why it cannot take a continuation, as a clause, by the continuation's position.
    """

    context: tuple[int, ...]
    starts: tuple[int, ...]
    tails: tuple[tuple[int, ...], ...]
    reason: str | None = None
    reasons: Mapping[int, str] = field(default_factory=dict)

    def part(self, members: Iterable[int]) -> "TokenizedPrompt":
        """The prompt with some of its continuations that can be taken, by their positions."""
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
            " without them. `bos` says whether a BOS token is wanted."
        )
    if not bos:
        return ()
    if tokenizer.bos_token_id is None:
        raise KgprobeError("A BOS token is asked for, but the model's tokenizer has none; without `bos` it works.")
    return (int(tokenizer.bos_token_id),)


def common_prefix(first: Sequence[int], second: Sequence[int]) -> int:
    """How many leading tokens two sequences of the same kind have in common."""
    length = min(len(first), len(second))
    if first[:length] == second[:length]:
        return length
    return next(place for place in range(length) if first[place] != second[place])


def shared_lengths(
    tokenizer: "PreTrainedTokenizerBase",
    prompts: Sequence[TokenizedPrompt],
    beginnings: Sequence[str],
    leading: tuple[int, ...],
) -> dict[int, int]:
    """How many tokens of a prompt are those of a text that it begins with, by the prompt's position.

    Args:
        beginnings: one a prompt; an empty one is none.

    Raises:
        KgprobeError: there are more or fewer of them than prompts.
        TextError: one is no Unicode.
    """
    if len(beginnings) != len(prompts):
        raise KgprobeError(f"{len(prompts)} prompts with {len(beginnings)} beginnings; one each, or none at all.")
    texts = [text for text in dict.fromkeys(beginnings) if text]
    tokens = {text: (*leading, *its) for text, its in zip(texts, encode(tokenizer, texts), strict=True)}
    return {
        number: common_prefix(tokens[text], prompt.context)
        for number, (text, prompt) in enumerate(zip(beginnings, prompts, strict=True))
        if text
    }


def join(prompt: str, separator: str, continuation: str) -> str:
    """Prompt and continuation as running text."""
    if not prompt or prompt[-1].isspace() or continuation[:1].isspace():
        return prompt + continuation
    return prompt + separator + continuation


def encode(tokenizer: "PreTrainedTokenizerBase", texts: Sequence[str]) -> Sequence[Sequence[int]]:
    """The token ids of texts as they are, without special tokens; truncation and padding are switched off for good.

    Raises:
        TextError: a text is no Unicode.
    """
    if odd := not_unicode(texts):
        raise TextError(f"Of {len(texts):,} texts, {len(odd):,} cannot be tokenized: {no_unicode(texts[min(odd)])}.")
    return _encode(tokenizer, texts)


def encode_from(
    tokenizer: "PreTrainedTokenizerBase", texts: Sequence[str], spans: Sequence[tuple[int, int]]
) -> list[tuple[Sequence[int], int | None]]:
    """Texts as :func:`encode` gives them, and in which token a span of each begins.

    Args:
        texts: Unicode.
        spans: for each text a range of its characters, the first and the one after the last.

    Returns:
        for each text its ids, and the place of the token that holds the first character of its span, also where that
        token begins before it; of white space that no token holds, the next character's. None where no token holds any.

    Raises:
        KgprobeError: the tokenizer does not tell which characters its tokens hold.
    """
    backend = _telling_places(tokenizer)
    found = []
    for encoding, span in zip(backend.encode_batch(texts, add_special_tokens=False), spans, strict=True):
        tokens = (encoding.char_to_token(place) for place in range(*span))
        found.append((encoding.ids, next((token for token in tokens if token is not None), None)))
    return found


def encode_spans(
    tokenizer: "PreTrainedTokenizerBase", text: str, spans: Sequence[tuple[int, int]]
) -> tuple[list[int], list[tuple[int, int]]]:
    """A text as :func:`encode` gives it, and the tokens that hold each of some spans.

    Args:
        text: Unicode.
        spans: ranges of its characters, the first and the one after the last; none is white space alone.

    Returns:
        its ids; and for each span its first token, which may begin before it, and the one after its last, which may
        end behind it. Of a span that no token holds, an empty range.

    Raises:
        KgprobeError: the tokenizer does not tell which characters its tokens hold.
    """
    encoding = _telling_places(tokenizer).encode(text, add_special_tokens=False)
    ranges = []
    for span in spans:
        held = [token for place in range(*span) if (token := encoding.char_to_token(place)) is not None]
        ranges.append((min(held), max(held) + 1) if held else (0, 0))
    return list(encoding.ids), ranges


def _telling_places(tokenizer: "PreTrainedTokenizerBase") -> Any:
    """The part of a fast tokenizer that tells which characters a token holds."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        raise KgprobeError(
            f"{type(tokenizer).__name__} does not tell which characters a token holds, so one cannot tell where an"
            " answer begins in a sentence. Whole sentences can be scored; so can a model with a fast tokenizer."
        )
    _take_as_is(backend)
    return backend


def not_unicode(texts: Sequence[str]) -> set[int]:
    """Which texts hold half of a surrogate pair, by their positions; no tokenizer takes them."""
    try:
        "".join(texts).encode("utf-8")
    except UnicodeEncodeError:
        return {number for number, text in enumerate(texts) if any("\ud800" <= one <= "\udfff" for one in text)}
    return set()


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
    """Prompts and continuations as token ids, by the rule above; or why the model cannot take them.

    A continuation cannot be taken if it is empty or tokenizes to nothing, nothing stands before it, it makes a sequence
    longer than ``limit``, or a text is no Unicode. A prompt that cannot be taken has this reason for each of its
    continuations.

    Args:
        tokenizer: the model's; its truncation and padding are switched off.
        prompts: any text, also empty if ``leading`` is not.
        continuations: for each prompt, any number of non-empty texts.
        separator: what stands between the two.
        leading: ids in front of every prompt, see :func:`leading_tokens`.
        end: the id of the EOS token, to append it to every continuation.
        limit: the most tokens that the model can take in; the last one of a continuation is only predicted.

    Raises:
        KgprobeError: there are more or fewer lists of continuations than prompts.
    """
    if len(prompts) != len(continuations):
        raise KgprobeError(f"{len(prompts)} prompts with {len(continuations)} lists of continuations; one list each.")
    texts = []
    for prompt, its in zip(prompts, continuations, strict=True):
        texts.append(prompt.rstrip())
        texts += [join(prompt, separator, text) for text in its]
    odd = not_unicode(texts)
    for number in odd:
        texts[number] = ""
    encoded = enumerate(_encode(tokenizer, texts))

    tokenized = []
    suffix = () if end is None else (end,)
    for prompt, its in zip(prompts, continuations, strict=True):
        number, alone = next(encoded)
        reason = no_unicode(prompt) if number in odd else None
        context = () if reason else (*leading, *alone)
        starts, tails = [], []
        reasons: dict[int, str] = {}
        for place, text in enumerate(its):
            number, joint = next(encoded)
            shared = common_prefix(alone, joint)
            start, tail = len(leading) + shared, (*joint[shared:], *suffix)
            if number in odd:
                reasons[place] = reason or no_unicode(text)
            elif problem := _problem(text, start, len(joint) - shared, len(tail), limit):
                reasons[place] = problem
            starts.append(0 if place in reasons else start)
            tails.append(() if place in reasons else tail)
        tokenized.append(TokenizedPrompt(context, tuple(starts), tuple(tails), reason, reasons))
    return tokenized


def _encode(tokenizer: "PreTrainedTokenizerBase", texts: Sequence[str]) -> Sequence[Sequence[int]]:
    if not texts:
        return []
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        encoded: list[list[int]] = tokenizer(list(texts), add_special_tokens=False, split_special_tokens=True)[
            "input_ids"
        ]
        return encoded
    _take_as_is(backend)
    return [one.ids for one in backend.encode_batch_fast(texts, add_special_tokens=False)]


def _take_as_is(backend: Any) -> None:
    backend.no_truncation()
    backend.no_padding()
    backend.encode_special_tokens = True


def _problem(text: str, before: int, own: int, scored: int, limit: int | None) -> str | None:
    """Why a continuation cannot be taken; None if it can."""
    if not text:
        return "a continuation is empty; it needs some text"
    if own == 0:
        return f"the continuation {_short(text)} tokenizes to nothing"
    if before == 0:
        return (
            f"no token stands before the continuation {_short(text)}, so nothing predicts its first; an empty prompt"
            " needs a BOS token (`bos`)"
        )
    if limit is not None and before + scored - 1 > limit:
        return (
            f"{before} tokens and {scored} of the continuation {_short(text)} make {before + scored}, more than the"
            f" {limit} that the model takes in (and one predicted)"
        )
    return None


def no_unicode(text: str) -> str:
    """That a text is none, as a clause."""
    return f"the text {_short(text)} is no Unicode: it holds half of a surrogate pair"


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:40]}…{text[-15:]}")
