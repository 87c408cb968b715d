"""Texts tokenized in parts against the same texts tokenized at once."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from kgprobe.models.scoring.cuts import characters_before_cuts, last_cut, parts_between_cuts
from kgprobe.models.scoring.tokens import (
    TokenCache,
    common_prefix,
    encode_as_is,
    encoder_of,
    join,
    take_as_is,
    tokenize,
)
from tests.models.tiny import TEXTS, byte_level, unigram

LLAMA_3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def trained(tokenizer, texts=TEXTS):
    """Return a tokenizer of the library ``tokenizers``, trained on texts, whose special tokens are text."""
    trainer = trainers.BpeTrainer(
        vocab_size=500, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    tokenizer.train_from_iterator(texts, trainer)
    take_as_is(tokenizer)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer)


def like_llama():
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(LLAMA_3), "isolated"), pre_tokenizers.ByteLevel(False, use_regex=False)]
    )
    return trained(tokenizer)


def like_gemma(texts=TEXTS):
    """Byte-pair encoding over whole texts: tokens may contain several words."""
    tokenizer = Tokenizer(models.BPE(unk_token=None))
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    return trained(tokenizer, texts)


KINDS = {"byte level": byte_level(), "like Llama": like_llama(), "like Gemma": like_gemma(), "unigram": unigram()}
# Rich in what rules and tokens may reach across.
PIECE = st.sampled_from(
    ["New", "York", "is", "n't", "'s", "'", "12", "3", ".", ",", "</s>", "é", "ū", "東", "\n", "\t", "\u00a0", "\u0308"]
    + [" "] * 6
)
TEXT = st.one_of(st.lists(PIECE, max_size=14).map("".join), st.text(st.characters(exclude_categories=("Cs",))))


def cuts(tokenizer):
    return characters_before_cuts(tokenizer.backend_tokenizer)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=150, deadline=None)
@given(prompt=TEXT, names=st.lists(TEXT, max_size=4), separator=st.sampled_from([" ", "", ": "]))
@pytest.mark.representatives(2)
def test_tokenize_with_cuts_equals_tokenizing_whole_texts(kind, prompt, names, separator):
    tokenizer = KINDS[kind]
    (found,) = tokenize(tokenizer, [prompt], [names], separator=separator, leading=(7,), end=9)
    alone, *joints = encode_as_is(tokenizer, [prompt.rstrip(), *(join(prompt, separator, name) for name in names)])
    assert found.context == (7, *alone)
    for place, (name, joint) in enumerate(zip(names, joints, strict=True)):
        shared = common_prefix(alone, joint)
        if name and len(joint) > shared:
            assert (found.starts[place], found.tails[place]) == (1 + shared, (*joint[shared:], 9))
        else:
            assert place in found.reasons


@pytest.mark.parametrize("kind", ["byte level", "like Llama", "like Gemma"])
@settings(max_examples=150, deadline=None)
@given(text=TEXT, size=st.integers(1, 5))
def test_parts_between_cuts_have_the_tokens_of_the_whole(kind, text, size):
    tokenizer = KINDS[kind]
    before = cuts(tokenizer)
    parts = list(parts_between_cuts(text, before, size))
    assert "".join(parts) == text
    whole, *own = encode_as_is(tokenizer, [text, *parts])
    assert [token for ids in own for token in ids] == list(whole)
    place = last_cut(text, before)
    assert place == 0 or (text[place] == " " and text[place - 1] in before)


def test_parts_of_texts_with_a_common_beginning_are_common():
    before = cuts(KINDS["like Llama"])
    first, second = (list(parts_between_cuts(f"{TEXTS[0]} {end}", before, 20)) for end in ("Tokyo", "Kyoto it is"))
    assert first[:-1] == second[: len(first) - 1]
    assert len(first) > 3


def test_token_of_several_words_crosses_its_cut():
    tokenizer = like_gemma(["is a", "is a", "or b"] * 50)
    tokenizer.backend_tokenizer.add_tokens(["w▁x"])
    before = cuts(tokenizer)
    assert "w" not in before
    assert {"a", "b"} <= before


@pytest.mark.parametrize(
    "change",
    [
        {"pre_tokenizer": pre_tokenizers.ByteLevel(add_prefix_space=True)},
        {"pre_tokenizer": pre_tokenizers.Split(Regex(r"\w+ \w+"), "isolated")},
        {"pre_tokenizer": pre_tokenizers.Metaspace(prepend_scheme="always")},
        {"normalizer": normalizers.Prepend("▁")},
        {"normalizer": normalizers.Sequence([normalizers.NFC(), normalizers.Strip()])},
    ],
)
def test_unknown_rules_have_no_cuts(change):
    tokenizer = byte_level()
    assert cuts(tokenizer)
    for name, value in change.items():
        setattr(tokenizer.backend_tokenizer, name, value)
    assert not cuts(tokenizer)


def test_added_tokens_that_take_white_space_have_no_cuts():
    tokenizer = byte_level()
    tokenizer.backend_tokenizer.add_tokens([AddedToken("York", rstrip=True)])
    assert not cuts(tokenizer)


def test_other_kinds_of_tokenizers_have_no_cuts():
    assert not cuts(unigram())


def test_kept_texts_are_dropped_with_the_rules_they_came_from():
    tokenizer = byte_level()
    before = tokenize(tokenizer, ["It is"], [["Tokyo"]])
    assert encoder_of(tokenizer) is encoder_of(tokenizer)
    tokenizer.backend_tokenizer.normalizer = normalizers.Lowercase()
    (after,) = tokenize(tokenizer, ["It is"], [["Tokyo"]])
    assert after.tails[0] == tuple(encode_as_is(tokenizer, [" tokyo"])[0])
    assert after.tails != before[0].tails


def test_kept_texts_take_no_more_than_their_bytes():
    tokenizer = byte_level()
    encoder = TokenCache(tokenizer, most=3000)
    texts = [f" name {number}" for number in range(100)]
    encoded = encoder.encode(tokenizer, texts)
    assert [list(encoded[text]) for text in texts] == [list(ids) for ids in encode_as_is(tokenizer, texts)]
    assert 0 < encoder.taken <= 3000
    assert encoder.encode(tokenizer, texts) == encoded
    encoder.encode(tokenizer, ["x" * 5000])
    assert encoder.taken <= 3000
