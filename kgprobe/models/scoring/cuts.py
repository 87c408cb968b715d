"""Cuts: places where a text can be tokenized in two parts, with the same tokens as in one.

Names are tokenized after a prompt, as running text. Tokenizing the prompt again for each name would be most of the work
of scoring on a fast device. A cut before a space saves it: the part after it is short, and often the same after many
prompts.

A space is a cut if no token and no rule of the tokenizer reaches across its beginning:

- Byte-pair encoding joins neighbouring symbols to tokens of its vocabulary. If no token of the vocabulary contains the
  character before the space followed by a space, then nothing is joined across the cut, and the joins on either side
  do not depend on the other side.
- The rules that split a text into words beforehand match the same words on either side, if none can match a space after
  another character. This is known for the usual rules (:data:`_RULES`).

All other tokenizers have no cuts: for example, those that put a space before every text.
"""

import json
from collections.abc import Iterator
from typing import Any

# Forms of a space in vocabularies: as it is, as in SentencePiece, as in byte-level encodings.
_SPACES = " ▁Ġ"
_PRINTABLE = frozenset(map(chr, range(0x21, 0x7F)))
# Unicode's normal forms change nothing across a space after a printable ASCII character.
_NORMAL_FORMS = {"NFC", "NFD", "NFKC", "NFKD"}
# Alternatives of the regular expressions that split words, of GPT-2 and later models. None matches a space after
# another character, except after white space.
_RULES = {
    "'s",
    "'t",
    "'re",
    "'ve",
    "'m",
    "'ll",
    "'d",
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)",
    "'(?i:[sdmt]|ll|ve|re)",
    r" ?\p{L}+",
    r" ?\p{N}+",
    r" ?[^\s\p{L}\p{N}]+",
    r" ?[^\s\p{L}\p{N}]+[\r\n]*",
    r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
    r" ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*",
    r"[^\r\n\p{L}\p{N}]?\p{L}+",
    r"[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"\p{N}",
    r"\p{N}{1,3}",
    r"\s*[\r\n]",
    r"\s*[\r\n]+",
    r"\s+(?!\S)",
    r"\s+",
}


def characters_before_cuts(backend: Any) -> frozenset[str]:
    """Return the characters after which every space is a cut; none if the tokenizer's rules are not known to allow it.

    Args:
        backend: a tokenizer of the library ``tokenizers`` that takes special tokens as text.
    """
    if not _is_plain_bpe(backend.model):
        return frozenset()
    if not (_keeps_cuts(_state(backend.normalizer)) and _keeps_cuts(_state(backend.pre_tokenizer))):
        return frozenset()
    added = backend.get_added_tokens_decoder().values()
    # They reach beyond their own text.
    if any(token.rstrip or token.single_word for token in added):
        return frozenset()
    vocabulary = backend.get_vocab(with_added_tokens=True)
    crossed = {before for token in vocabulary for before in _before_spaces(token)}
    return frozenset(character for character in _PRINTABLE if character in vocabulary) - crossed


def _is_plain_bpe(model: Any) -> bool:
    """Return True if a model joins characters by merges alone, always in the same way."""
    if type(model).__name__ != "BPE":
        return False
    return not (model.dropout or model.continuing_subword_prefix or model.end_of_word_suffix)


def rules_of(backend: Any) -> tuple[object, ...]:
    """Return a value that changes if the tokenizer's rules or the size of its vocabulary do."""
    parts = (backend.normalizer, backend.pre_tokenizer)
    states = [None if part is None else part.__getstate__() for part in parts]
    return (*states, type(backend.model), backend.get_vocab_size(with_added_tokens=True))


def last_cut(text: str, before: frozenset[str]) -> int:
    """Return the place of the last space in a text that is a cut; 0 if there is none.

    >>> last_cut("The capital of Japan is", frozenset("n"))
    20
    """
    place = text.rfind(" ")
    while place > 0 and text[place - 1] not in before:
        place = text.rfind(" ", 0, place)
    return max(place, 0)


def parts_between_cuts(text: str, before: frozenset[str], size: int) -> Iterator[str]:
    """Yield a text in parts of at least this many characters, cut at the first place after them; the last may be short.

    Texts with a common beginning have common parts.

    >>> list(parts_between_cuts("The capital of Japan is", frozenset("en"), 5))
    ['The capital of Japan', ' is']
    """
    begin = 0
    place = text.find(" ", size)
    while place >= 0:
        if text[place - 1] in before and place - begin >= size:
            yield text[begin:place]
            begin = place
            place = text.find(" ", begin + size)
        else:
            place = text.find(" ", place + 1)
    if begin < len(text):
        yield text[begin:]


def _before_spaces(token: str) -> Iterator[str]:
    for form in _SPACES:
        place = token.find(form, 1)
        while place > 0:
            yield token[place - 1]
            place = token.find(form, place + 1)


def _state(part: Any) -> Any:
    return None if part is None else json.loads(part.__getstate__())


def _keeps_cuts(rule: Any) -> bool:
    """Return True if a normalizer or a rule that splits words is known to do the same on either side of a cut."""
    if rule is None:
        return True
    kind = rule["type"]
    if kind == "Sequence":
        return all(map(_keeps_cuts, rule.get("normalizers") or rule.get("pretokenizers") or ()))
    if kind == "Replace":
        return bool(rule["pattern"] == {"String": " "} and rule["content"] == "▁")
    if kind == "ByteLevel":
        return not rule.get("add_prefix_space", False)
    if kind == "Split":
        return _splits_between_words(rule)
    return kind in {"Digits", *_NORMAL_FORMS}


def _splits_between_words(rule: Any) -> bool:
    if rule["pattern"] == {"String": " "}:
        return True
    return (
        rule["behavior"] in {"Isolated", "Removed"} and set(_alternatives(rule["pattern"].get("Regex", ""))) <= _RULES
    )


def _alternatives(expression: str) -> Iterator[str]:
    """Yield the alternatives of a regular expression."""
    depth = begin = 0
    for place, character in enumerate(expression):
        depth += (character in "([") - (character in ")]")
        if character == "|" and depth == 0:
            yield expression[begin:place]
            begin = place + 1
    yield expression[begin:]
