"""Token boundary between a prompt and its continuation.

The rule: prompt and continuation are joined as running text and tokenized at once, as in the model's training text. The
continuation's tokens are those after the longest token prefix that the joined text shares with the prompt tokenized
alone. So a token that spans the boundary belongs to the continuation.

Joined means prompt + separator + continuation, with these refinements:

- trailing white space of the prompt moves to the continuation, since tokenizers attach a space to the word after it;
- white space at the end of the prompt or the beginning of the continuation replaces the separator;
- an empty prompt has no separator.

Both texts are data: apparent special tokens (``</s>`` in a label) are tokenized as plain text. Special tokens that the
tokenizer prepends by default (such as BOS) precede the prompt. Those that it would append do not count; EOS is
optional. The output of a chat template is tokenized with its special tokens.

Ids of short texts are kept, because names and parts of prompts come again. They belong to a tokenizer, and are dropped
if its rules change.
"""

import re
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from sys import getsizeof
from threading import Lock
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from kgprobe.base.errors import KgprobeError
from kgprobe.models.scoring.cuts import characters_before_cuts, last_cut, parts_between_cuts, rules_of

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

_SURROGATE = re.compile("[\ud800-\udfff]")

# Value of a generator's description.
CHAT = "chat template"

# Default variables of a chat template: answers are short, and models that have this switch do not think.
NO_THINKING: Mapping[str, Any] = MappingProxyType({"enable_thinking": False})
Ids = tuple[int, ...]

# Bytes of kept texts with their ids, for each tokenizer.
_MOST_BYTES = 1 << 26
# Longer texts are not kept.
_LONGEST = 256
# Characters in a part of a prompt.
_PART = 192
# Bytes of an entry besides its text and its tuple, and of a number.
_ENTRY, _NUMBER = 120, 32


def encode_as_is(tokenizer: "PreTrainedTokenizerBase", texts: Sequence[str]) -> Sequence[Sequence[int]]:
    """Return the token ids of valid Unicode texts, without special tokens, truncation or padding."""
    if not texts:
        return []
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        encoded: list[list[int]] = tokenizer(list(texts), add_special_tokens=False, split_special_tokens=True)[
            "input_ids"
        ]
        return encoded
    take_as_is(backend)
    return [encoding.ids for encoding in backend.encode_batch_fast(texts, add_special_tokens=False)]


def take_as_is(backend: Any) -> None:
    """Switch off truncation, padding and special tokens of a tokenizer."""
    backend.no_truncation()
    backend.no_padding()
    backend.encode_special_tokens = True


class TokenCache:
    """A tokenizer's token ids of texts, the most recently used short ones kept.

    Attributes:
        before_cuts: characters after which a space is a cut, see :mod:`.cuts`.
        taken: bytes of the kept texts.
    """

    def __init__(self, tokenizer: "PreTrainedTokenizerBase", most: int = _MOST_BYTES) -> None:
        """Start with no kept texts, and at most this many bytes of them."""
        self._most = most
        self._kept: OrderedDict[str, Ids] = OrderedDict()
        self._lock = Lock()
        self.taken = 0
        backend = getattr(tokenizer, "backend_tokenizer", None)
        self.before_cuts: frozenset[str] = frozenset() if backend is None else characters_before_cuts(backend)

    def encode(self, tokenizer: "PreTrainedTokenizerBase", texts: Iterable[str]) -> dict[str, Ids]:
        """Return the token ids of texts, by text, but for those that are not valid Unicode.

        The tokenizer is not held, so that it can be freed.
        """
        with self._lock:
            ids_by_text: dict[str, Ids] = {}
            new = []
            for text in dict.fromkeys(texts):
                ids = self._kept.get(text)
                if ids is not None:
                    self._kept.move_to_end(text)
                    ids_by_text[text] = ids
                elif not _SURROGATE.search(text):
                    new.append(text)
            for text, own in zip(new, encode_as_is(tokenizer, new), strict=True):
                ids_by_text[text] = ids = tuple(own)
                if len(text) <= _LONGEST:
                    self._kept[text] = ids
                    self.taken += _size(text, ids)
            while self.taken > self._most:
                self.taken -= _size(*self._kept.popitem(last=False))
        return ids_by_text

    def parts(self, text: str) -> list[str]:
        """Return a text in parts whose tokens, one after the other, are its tokens."""
        return list(parts_between_cuts(text, self.before_cuts, _PART))


# Identity, not equality, of tokenizers counts.
_ENCODERS: "WeakKeyDictionary[PreTrainedTokenizerBase, tuple[object, TokenCache]]" = WeakKeyDictionary()


def encoder_of(tokenizer: "PreTrainedTokenizerBase") -> TokenCache:
    """Return the encoder of a tokenizer; a new one if the tokenizer's rules have changed."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        return TokenCache(tokenizer)
    rules = rules_of(backend)
    known = _ENCODERS.get(tokenizer)
    if known is not None and known[0] == rules:
        return known[1]
    encoder = TokenCache(tokenizer)
    _ENCODERS[tokenizer] = (rules, encoder)
    return encoder


def _size(text: str, ids: Ids) -> int:
    return getsizeof(text) + getsizeof(ids) + _ENTRY + _NUMBER * len(ids)


class TextError(KgprobeError):
    """A text that the model cannot take; the model itself is sound, and other texts may work."""


@dataclass(frozen=True, slots=True)
class TokenizedPrompt:
    """A prompt and its continuations; the i-th token sequence is ``context[: starts[i]] + tails[i]``.

    Attributes:
        context: token ids of the prompt with the leading special tokens; may be empty if no continuation is valid.
        starts: number of tokens of ``context`` before each continuation, at least 1; 0 for an invalid one.
        tails: the scored token ids of each continuation, at least one; none for an invalid one.
        reason: why the model cannot take the prompt with any continuation, as a clause; None if it can.
        reasons: why it cannot take a continuation, as a clause, by the continuation's position.
    """

    context: tuple[int, ...]
    starts: tuple[int, ...]
    tails: tuple[tuple[int, ...], ...]
    reason: str | None = None
    reasons: Mapping[int, str] = field(default_factory=dict)

    def part(self, members: Iterable[int]) -> "TokenizedPrompt":
        """Return the prompt with some of its valid continuations, given by position."""
        pairs = [(self.starts[member], self.tails[member]) for member in members]
        starts, tails = zip(*pairs, strict=True) if pairs else ((), ())
        return TokenizedPrompt(self.context, starts, tails)


def leading_tokens(tokenizer: "PreTrainedTokenizerBase", bos: bool | None = None) -> tuple[int, ...]:
    """Return the ids of the special tokens before every prompt: BOS if True, the tokenizer's default if None."""
    if bos is None:
        bare = tokenizer("a", add_special_tokens=False)["input_ids"]
        whole = tokenizer("a")["input_ids"]
        for first in range(len(whole) - len(bare) + 1):
            if whole[first : first + len(bare)] == bare:
                return tuple(whole[:first])
        raise KgprobeError(
            f"Cannot determine which special tokens the tokenizer prepends: 'a' is {whole} with and {bare} without."
            " Set `bos` to True or False."
        )
    if not bos:
        return ()
    if tokenizer.bos_token_id is None:
        raise KgprobeError("The model's tokenizer has no BOS token; leave out `bos`.")
    return (int(tokenizer.bos_token_id),)


def common_prefix(first: Sequence[int], second: Sequence[int]) -> int:
    """Return the number of leading tokens that two sequences of the same type share."""
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
    """Return how many tokens of each prompt belong to the text it begins with, by the prompt's position.

    Raises a KgprobeError if there is not one (possibly empty) beginning per prompt, or one is not valid Unicode.
    """
    if len(beginnings) != len(prompts):
        raise KgprobeError(f"{len(prompts)} prompts with {len(beginnings)} beginnings; pass one per prompt, or none.")
    texts = [text for text in dict.fromkeys(beginnings) if text]
    tokens = {text: (*leading, *ids) for text, ids in zip(texts, encode(tokenizer, texts), strict=True)}
    return {
        number: common_prefix(tokens[text], prompt.context)
        for number, (text, prompt) in enumerate(zip(beginnings, prompts, strict=True))
        if text
    }


def join(prompt: str, separator: str, continuation: str) -> str:
    """Join prompt and continuation to running text."""
    if not prompt or prompt[-1].isspace() or continuation[:1].isspace():
        return prompt + continuation
    return prompt + separator + continuation


def encode(tokenizer: "PreTrainedTokenizerBase", texts: Sequence[str]) -> Sequence[Sequence[int]]:
    """Return the token ids of texts, without special tokens, truncation or padding (both are switched off for good).

    Raises:
        TextError: a text is not valid Unicode.
    """
    if odd := not_unicode(texts):
        raise TextError(f"{len(odd):,} of {len(texts):,} texts cannot be tokenized: {no_unicode(texts[min(odd)])}.")
    return encode_as_is(tokenizer, texts)


def encode_spans(
    tokenizer: "PreTrainedTokenizerBase", texts: Sequence[str], spans: Sequence[Sequence[tuple[int, int]]]
) -> list[tuple[list[int], list[tuple[int, int]]]]:
    """Return the token ids of texts, and the range of tokens for each of some spans of each text.

    Args:
        texts: valid Unicode texts.
        spans: for each text half-open ranges of its characters.

    Returns:
        for each text its ids; and for each span a half-open range of the tokens that contain its characters, also
        partly. White space that no token contains is skipped. The range is empty if no token contains any of them.

    Raises:
        KgprobeError: the tokenizer has no character offsets.
    """
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        raise KgprobeError(
            f"{type(tokenizer).__name__} has no character offsets, so the place of an answer in a sentence is unknown."
            " Score whole sentences instead, or use a model with a fast tokenizer."
        )
    take_as_is(backend)
    encoded = []
    for encoding, own in zip(backend.encode_batch(texts, add_special_tokens=False), spans, strict=True):
        ranges = []
        for span in own:
            tokens = set(map(encoding.char_to_token, range(*span))) - {None}
            ranges.append((min(tokens), max(tokens) + 1) if tokens else (0, 0))
        encoded.append((list(encoding.ids), ranges))
    return encoded


def not_unicode(texts: Sequence[str]) -> set[int]:
    """Return the positions of texts with half of a surrogate pair; no tokenizer takes them."""
    return {number for number, text in enumerate(texts) if _SURROGATE.search(text)}


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
    """Return prompts and continuations as token ids by the rule above, or why the model cannot take them.

    A continuation is invalid if it is empty, tokenizes to nothing, has no token before it, makes a sequence longer than
    ``limit``, or a text is not valid Unicode. The reason of an invalid prompt applies to each of its continuations.

    Args:
        tokenizer: the model's tokenizer; its truncation and padding are switched off.
        prompts: any text, also empty unless ``leading`` is.
        continuations: for each prompt, any number of non-empty texts.
        end: id of the EOS token, to append it to every continuation.
        limit: maximum tokens that the model accepts; the last token of a continuation is only predicted.
    """
    if len(prompts) != len(continuations):
        raise KgprobeError(f"{len(prompts)} prompts with {len(continuations)} lists of continuations; pass one each.")
    encoder = encoder_of(tokenizer)
    joints = [_join_all(encoder, prompt, own, separator) for prompt, own in zip(prompts, continuations, strict=True)]
    texts = chain.from_iterable((*joint.before, joint.after, *joint.pieces) for joint in joints)
    encoded = encoder.encode(tokenizer, texts)
    scored = encoded if end is None else {text: (*ids, end) for text, ids in encoded.items()}
    return [
        _split_joint(joint, prompt, own, encoded, scored, leading, limit)
        for joint, prompt, own in zip(joints, prompts, continuations, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class _Joint:
    """A prompt and its continuations, cut into texts that are tokenized separately.

    Attributes:
        before, after: the prompt up to its last cut, in parts, and the rest of it.
        pieces: text of each continuation after the prompt, from the end of the prompt, or from its last cut.
        whole: True for each piece that begins at the end of the prompt.
    """

    before: list[str]
    after: str
    pieces: list[str]
    whole: list[bool]


def _join_all(encoder: TokenCache, prompt: str, continuations: Sequence[str], separator: str) -> _Joint:
    stripped = prompt.rstrip()
    cut = last_cut(stripped, encoder.before_cuts)
    after, blank = stripped[cut:], prompt[len(stripped) :]
    # Where the prompt ends in white space or is empty, there is no separator.
    fixed = not prompt or bool(blank)
    can_cut = stripped[-1:] in encoder.before_cuts
    if can_cut and not fixed and separator == " " and not any(map(str.isspace, {text[:1] for text in continuations})):
        whole = [True] * len(continuations)
        return _Joint(encoder.parts(stripped[:cut]), after, [separator + text for text in continuations], whole)
    pieces, whole = [], []
    for text in continuations:
        own = blank + text if fixed or text[:1].isspace() else separator + text
        at_end = can_cut and own[:1] == " "
        pieces.append(own if at_end else after + own)
        whole.append(at_end)
    return _Joint(encoder.parts(stripped[:cut]), after, pieces, whole)


def _split_joint(
    joint: _Joint,
    prompt: str,
    continuations: Sequence[str],
    encoded: Mapping[str, Ids],
    scored: Mapping[str, Ids],
    leading: Ids,
    limit: int | None,
) -> TokenizedPrompt:
    """Return a prompt with its continuations, split by the rule.

    Args:
        encoded: token ids by text; none of texts that are not valid Unicode.
        scored: the same, with the EOS token if that is to be scored.
    """
    parts = [encoded.get(text) for text in (*joint.before, joint.after)]
    alone = [ids for ids in parts if ids is not None]
    reason = no_unicode(prompt) if len(alone) < len(parts) else None
    if reason is not None:
        empty = len(continuations)
        return TokenizedPrompt((), (0,) * empty, ((),) * empty, reason, dict.fromkeys(range(empty), reason))
    context = (*leading, *chain.from_iterable(alone))
    if all(joint.whole) and all(continuations) and all(map(encoded.get, joint.pieces)):
        whole = tuple(map(scored.__getitem__, joint.pieces))
        if context and (limit is None or len(context) + max(map(len, whole), default=0) - 1 <= limit):
            return TokenizedPrompt(context, (len(context),) * len(whole), whole)
    earlier = len(context) - len(alone[-1])
    starts, tails = [], []
    reasons: dict[int, str] = {}
    for place, (text, piece, at_end) in enumerate(zip(continuations, joint.pieces, joint.whole, strict=True)):
        ids = encoded.get(piece)
        if ids is None:
            problem: str | None = no_unicode(text)
            start = 0
            tail: Ids = ()
        else:
            shared = 0 if at_end else common_prefix(alone[-1], ids)
            start = len(context) if at_end else earlier + shared
            tail = scored[piece][shared:]
            problem = _problem(text, start, len(ids) - shared, len(tail), limit)
        if problem is not None:
            reasons[place], start, tail = problem, 0, ()
        starts.append(start)
        tails.append(tail)
    return TokenizedPrompt(context, tuple(starts), tuple(tails), reasons=reasons)


def _problem(text: str, before: int, own: int, scored: int, limit: int | None) -> str | None:
    """Return why a continuation is invalid; None if it is valid."""
    if not text:
        return "a continuation is empty; it needs some text"
    if own == 0:
        return f"the continuation {_short(text)} tokenizes to nothing"
    if before == 0:
        return (
            f"no token precedes the continuation {_short(text)}, so nothing predicts its first; an empty prompt needs a"
            " BOS token (`bos`)"
        )
    if limit is not None and before + scored - 1 > limit:
        return (
            f"{before} tokens and {scored} of the continuation {_short(text)} make {before + scored}, more than the"
            f" {limit} that the model accepts (and one predicted)"
        )
    return None


def no_unicode(text: str) -> str:
    """Return the clause that a text is not valid Unicode."""
    return f"the text {_short(text)} is not valid Unicode: it contains half of a surrogate pair"


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:40]}…{text[-15:]}")


def chat_text(
    tokenizer: "PreTrainedTokenizerBase",
    messages: Sequence[tuple[str, str]],
    *,
    answering: bool = True,
    arguments: Mapping[str, Any] = NO_THINKING,
) -> str:
    """Return messages in the tokenizer's template, with special tokens as text.

    Args:
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
            **arguments,
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
