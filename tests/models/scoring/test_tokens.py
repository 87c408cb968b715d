"""The boundary between prompt and continuation, on the usual kinds of tokenizers."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgprobe.base.errors import KgprobeError
from kgprobe.models.scoring.tokens import TextError, encode, leading_tokens, tokenize
from tests.models.tiny import byte_level, unigram

KINDS = {
    "byte level": byte_level(),
    "byte level, prefix space": byte_level(add_prefix_space=True),
    "unigram": unigram(bos=False),
}


def pieces(tokenizer, ids):
    return [tokenizer.decode([token]) for token in ids]


def split(tokenizer, prompt, continuation, separator=" ", **options):
    tokenized = tokenize(tokenizer, [prompt], [[continuation]], separator=separator, **options)[0]
    return tokenized.context[: tokenized.starts[0]], tokenized.tails[0]


def plain(tokenizer, text):
    return tuple(tokenizer(text, add_special_tokens=False, split_special_tokens=True).input_ids)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("prompt", "separator", "continuation"),
    [
        ("The capital of Japan is", " ", "Tokyo"),
        ("The capital of Japan is ", " ", "Tokyo"),
        ("The capital of Japan is", " ", " Tokyo"),
        ("The capital of Japan is ", "", "Tokyo"),
        ("The capital of Japan is", "", " Tokyo"),
    ],
)
def test_space_belongs_to_the_word_wherever_it_was_written(kind, prompt, separator, continuation):
    tokenizer = KINDS[kind]
    before, tail = split(tokenizer, prompt, continuation, separator)
    assert before == plain(tokenizer, "The capital of Japan is")
    assert before + tail == plain(tokenizer, "The capital of Japan is Tokyo")


def test_prefix_space_does_not_reach_the_continuation():
    tokenizer = KINDS["byte level, prefix space"]
    before, tail = split(tokenizer, "York", "City")
    assert pieces(tokenizer, before) == [" York"]
    assert tokenizer.decode(tail) == " City"


@pytest.mark.parametrize("label", ["</s>", "<s>", "a</s>b"])
def test_what_looks_like_a_special_token_is_text(label):
    tokenizer = byte_level()
    _, tail = split(tokenizer, "York is", label)
    assert not {0, 1} & set(tail)
    assert tokenizer.decode(tail) == f" {label}"


TEXT = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=20)


@settings(max_examples=200, deadline=None)
@given(prompt=TEXT, continuation=TEXT, separator=st.sampled_from([" ", "", ": "]))
def test_both_parts_together_are_the_running_text(prompt, continuation, separator):
    tokenizer = KINDS["byte level"]
    text = prompt + ("" if prompt[-1].isspace() or continuation[0].isspace() else separator) + continuation
    before, tail = split(tokenizer, prompt, continuation, separator, leading=(7,))
    assert before[0] == 7
    assert before[1:] + tail == plain(tokenizer, text)
    alone = plain(tokenizer, prompt.rstrip())
    assert before[1:] == alone[: len(before) - 1]
    # Not one token less than what the prompt has in common with the whole.
    assert len(before) - 1 == len(alone) or alone[len(before) - 1] != tail[0]


@pytest.mark.parametrize("kind", [byte_level, unigram])
def test_leading_tokens_are_the_tokenizers_own_habit(kind):
    assert leading_tokens(kind(bos=True)) == (0,)
    assert leading_tokens(kind(bos=False)) == ()
    assert leading_tokens(kind(bos=True), False) == ()
    assert leading_tokens(kind(bos=False), True) == (0,)


def test_bos_needs_a_bos_token():
    tokenizer = byte_level()
    tokenizer.bos_token = None
    assert leading_tokens(tokenizer) == ()
    with pytest.raises(KgprobeError, match="has no BOS token"):
        leading_tokens(tokenizer, True)


def test_tokenizers_truncation_is_not_ours():
    tokenizer = byte_level()
    tokenizer.backend_tokenizer.enable_truncation(4)
    tokenizer.backend_tokenizer.enable_padding(length=50)
    before, tail = split(tokenizer, "The capital of Japan is", "Tokyo")
    assert tokenizer.decode(before + tail) == "The capital of Japan is Tokyo"


def test_continuation_that_leaves_nothing_has_a_reason():
    tokenizer = unigram(bos=False)
    (prompt,) = tokenize(tokenizer, ["York"], [["\x01", "City"]], separator="")
    assert prompt.reasons == {0: "the continuation '\\x01' tokenizes to nothing"}
    assert (prompt.starts[0], prompt.tails[0]) == (0, ())
    assert prompt.part([1]) == tokenize(tokenizer, ["York"], [["City"]], separator="")[0]


def test_prompt_that_is_no_unicode_has_a_reason_of_its_own():
    odd, sound = tokenize(byte_level(), ["\ud800", "York"], [[], []])
    assert odd.reason == "the text '\\ud800' is not valid Unicode: it contains half of a surrogate pair"
    assert (odd.context, sound.reason) == ((), None)


def test_invalid_unicode_in_a_single_text_is_an_error():
    with pytest.raises(TextError, match=r"1 of 2 texts cannot be tokenized: the text '\\ud800' is not valid Unicode"):
        encode(byte_level(), ["York", "\ud800"])


@given(st.lists(st.text(max_size=3), max_size=6), st.text(max_size=3), st.integers(1, 4))
def test_what_can_be_taken_does_not_depend_on_what_cannot(texts, prompt, limit):
    tokenizer = KINDS["byte level"]
    (together,) = tokenize(tokenizer, [prompt], [texts], leading=(7,), limit=limit)
    for place, text in enumerate(texts):
        (alone,) = tokenize(tokenizer, [prompt], [[text]], leading=(7,), limit=limit)
        assert alone.reasons.get(0) == together.reasons.get(place)
        assert (alone.starts[0], alone.tails[0]) == (together.starts[place], together.tails[place])
        assert bool(together.tails[place]) == (place not in together.reasons)


@pytest.fixture(scope="module")
def gemma(demo_folder):
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(demo_folder)


@pytest.mark.slow
# Gemma's: no prefix space, white space as U+2581 within tokens, BOS in front.
@pytest.mark.parametrize(
    ("prompt", "continuation", "expected"),
    [
        ("The capital of Japan is", "Tokyo", ["▁Tokyo"]),
        ("The capital of Japan is ", "Tokyo", ["▁Tokyo"]),
        ("日本の首都は", "東京", ["▁東京"]),
        ("Its code is", "<eos>", ["▁<", "eos", ">"]),
        ("It is  ", "Tokyo", ["▁▁", "Tokyo"]),
    ],
)
def test_demo_models_tokenizer(gemma, prompt, continuation, expected):
    assert leading_tokens(gemma) == (gemma.bos_token_id,)
    _, tail = split(gemma, prompt, continuation, leading=leading_tokens(gemma))
    assert gemma.convert_ids_to_tokens(tail) == expected
