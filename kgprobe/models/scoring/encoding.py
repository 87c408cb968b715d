"""Texts to token ids by a model's tokenizer; short texts are kept, because names and parts of prompts come again.

The kept ids belong to a tokenizer, and are dropped if its rules change.
"""

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from sys import getsizeof
from threading import Lock
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from kgprobe.models.scoring.cuts import characters_before_cuts, parts_between_cuts, rules_of

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

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
        """Return the token ids of valid Unicode texts, by text; the tokenizer is not held, so that it can be freed."""
        with self._lock:
            ids_by_text: dict[str, Ids] = {}
            missing: dict[str, None] = {}
            for text in texts:
                if text in ids_by_text:
                    continue
                ids = self._kept.get(text)
                if ids is None:
                    missing[text] = None
                else:
                    self._kept.move_to_end(text)
                    ids_by_text[text] = ids
            new = list(missing)
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
