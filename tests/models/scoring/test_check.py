"""Models whose code does something else than masks and positions say are found out, whatever they are called."""

import pytest
import torch
from transformers import (
    BertConfig,
    BertLMHeadModel,
    ElectraConfig,
    ElectraForCausalLM,
    GPTNeoConfig,
    GPTNeoForCausalLM,
    Phi3Config,
    Phi3ForCausalLM,
    RobertaConfig,
    RobertaForCausalLM,
    XLMConfig,
    XLMWithLMHeadModel,
    XLNetConfig,
    XLNetLMHeadModel,
)

from kgprobe.base.errors import KgprobeError
from kgprobe.models.generating.decoding import beam_search
from kgprobe.models.generating.generator import Unanswered
from kgprobe.models.scoring.check import choose_method
from kgprobe.models.scoring.scorer import Scorer
from tests.models.exactness import assert_exact, reference_scores
from tests.models.tiny import byte_level, random_model, with_random_weights

PROMPT = "The capital of Japan is"
TEXTS = [f"{city} and {other}" for city in ("Tokyo", "Paris", "Zürich", "York") for other in ("Kyoto", "Łódź", "New")]
SMALL = {"hidden_size": 32, "bos_token_id": 0, "eos_token_id": 1, "initializer_range": 0.3}


@pytest.fixture(scope="module")
def tokenizer():
    return byte_level(bos=True)


def assert_scores_exact(scorer, model, tokenizer, texts):
    wanted = reference_scores(model, tokenizer, [0], [PROMPT], [texts])
    assert_exact([scorer.score([PROMPT], [texts])[0].values], wanted)


def test_model_with_row_positions_is_not_packed(tokenizer):
    # Its window of 32 is wider than all that small trees could show.
    config = GPTNeoConfig(
        vocab_size=len(tokenizer),
        num_layers=2,
        attention_types=[[["global", "local"], 1]],
        num_heads=4,
        window_size=32,
        max_position_embeddings=2048,
        **SMALL,
    )
    model = with_random_weights(GPTNeoForCausalLM, config)
    scorer = Scorer(model, tokenizer, name="gpt_neo")
    assert scorer.describe()["method"] == "branches"
    assert "differs from plain forward passes" in dict(scorer.explain())["method: packed"]
    assert_scores_exact(scorer, model, tokenizer, TEXTS)


def test_layers_of_a_kind_that_has_no_mask_here_are_not_packed(tokenizer):
    model = random_model("llama", len(tokenizer))
    model.config.layer_types = ["full_attention", "chunked_attention", "full_attention"]
    model.config.attention_chunk_size = 512
    scorer = Scorer(model, tokenizer, name="chunked")
    assert scorer.describe()["method"] != "packed"
    assert "layers of the kind chunked_attention" in dict(scorer.explain())["method: packed"]
    assert_scores_exact(scorer, model, tokenizer, TEXTS)


def test_model_with_own_attention_mask_is_not_packed(tokenizer):
    model = random_model("llama", len(tokenizer))
    forward = model.base_model.forward

    def looking_into_the_cache(**arguments):
        found = forward(**arguments)
        cache = arguments.get("cache", arguments.get("past_key_values"))
        # What is kept of trees that grow stands elsewhere than in a cache's layers.
        if cache is not None and cache.get_seq_length() and not cache.layers:
            found.last_hidden_state = found.last_hidden_state + 0.1
        return found

    model.base_model.forward = looking_into_the_cache
    scorer = Scorer(model, tokenizer, name="looking")
    assert scorer.describe()["method"] == "branches"
    assert_scores_exact(scorer, model, tokenizer, TEXTS)


def test_text_is_not_so_long_that_positions_change(tokenizer):
    factors = {"short_factor": [1.0] * 4, "long_factor": [1.0, 2.0, 4.0, 8.0]}
    config = Phi3Config(
        vocab_size=len(tokenizer),
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        intermediate_size=48,
        max_position_embeddings=512,
        original_max_position_embeddings=14,
        rope_parameters={
            "rope_type": "longrope",
            "rope_theta": 10000.0,
            "original_max_position_embeddings": 14,
            **factors,
        },
        pad_token_id=None,
        **SMALL,
    )
    model = with_random_weights(Phi3ForCausalLM, config)
    scorer = Scorer(model, tokenizer, name="phi3")
    assert scorer.describe()["max_tokens"] == 14
    assert_scores_exact(scorer, model, tokenizer, TEXTS)
    (scored,) = scorer.score([PROMPT], [[f"{TEXTS[0]}, {TEXTS[1]} and {TEXTS[2]}"]])
    assert "more than the 14" in scored.reasons[0]
    # What it says itself has to fit in as well.
    (unanswered,) = beam_search(scorer, [PROMPT], 1, new_tokens=13)
    assert isinstance(unanswered, Unanswered)
    assert "longer than the 14" in unanswered.reason


def test_what_was_found_of_each_method_is_told(tokenizer):
    choice = choose_method(random_model("bloom", len(tokenizer)))
    assert choice.method == "branches"
    assert [method for method, _ in choice.findings] == ["packed", "branches"]
    assert choice.findings[-1][1].startswith("agrees with plain forward passes: log-probabilities by up to ")
    plain = choose_method(random_model("llama", len(tokenizer)), ("plain",))
    assert (plain.method, plain.projection) == ("plain", None)
    with pytest.raises(KgprobeError, match=r"None of the given methods agrees .* packed: "):
        choose_method(random_model("mamba", len(tokenizer)), ("packed", "branches"))


ENCODER = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "initializer_range": 0.3,
    "pad_token_id": None,
}


@pytest.mark.parametrize(
    ("model_class", "config_class", "options"),
    [
        (BertLMHeadModel, BertConfig, ENCODER),
        (RobertaForCausalLM, RobertaConfig, ENCODER | {"pad_token_id": 1}),
        (ElectraForCausalLM, ElectraConfig, ENCODER | {"embedding_size": 32}),
        (XLNetLMHeadModel, XLNetConfig, {"d_model": 32, "n_layer": 2, "n_head": 4, "initializer_range": 0.3}),
        (XLMWithLMHeadModel, XLMConfig, {"emb_dim": 32, "n_layers": 2, "n_heads": 4, "embed_init_std": 0.3}),
    ],
)
def test_encoder_is_refused(tokenizer, model_class, config_class, options):
    model = with_random_weights(model_class, config_class(vocab_size=len(tokenizer), **options))
    with pytest.raises(KgprobeError, match=r"^enc: a later token changes .* is not a causal language model"):
        Scorer(model, tokenizer, name="enc")


def test_bidirectional_gemma_is_refused(tokenizer):
    causal, bidirectional = (
        random_model("gemma3", len(tokenizer), use_bidirectional_attention=both) for both in (False, True)
    )
    assert Scorer(causal, tokenizer, name="gemma").choice.method == "packed"
    with pytest.raises(KgprobeError, match=r"`use_bidirectional_attention` to false"):
        Scorer(bidirectional.to(torch.bfloat16), tokenizer, name="gemma")


@pytest.mark.parametrize(
    ("model_class", "config_class", "options"),
    [
        (BertLMHeadModel, BertConfig, ENCODER | {"is_decoder": True}),
        (RobertaForCausalLM, RobertaConfig, ENCODER | {"is_decoder": True, "pad_token_id": 1}),
        (ElectraForCausalLM, ElectraConfig, ENCODER | {"embedding_size": 32, "is_decoder": True}),
    ],
)
def test_decoder_of_an_encoders_family_is_scored(tokenizer, model_class, config_class, options):
    model = with_random_weights(model_class, config_class(vocab_size=len(tokenizer), **options))
    assert_scores_exact(Scorer(model, tokenizer, name="decoder"), model, tokenizer, TEXTS[:3])


def with_tokens(tokens=(), special=(), **others):
    tokenizer = byte_level(bos=True)
    tokenizer.add_tokens(list(tokens))
    tokenizer.add_tokens(list(special), special_tokens=True)
    for name, value in others.items():
        setattr(tokenizer, name, value)
    return tokenizer


@pytest.mark.parametrize(
    ("added", "rows", "lacking"),
    [
        ({"tokens": ["Zürich"]}, 380, r"381 tokens, more than the 380 .* lacks 1 of them: 'Zürich' \(380\)\. Use"),
        ({"tokens": ["Zürich"], "special": ["<pad>"]}, 380, r"lacks 1 of them: 'Zürich'"),
        ({}, 300, r"lacks 80 of them: .*, …\. .* resize_token_embeddings"),
        ({"special": ["<end>"], "eos_token": "<end>"}, 380, r"'<end>' \(380\)"),
        ({"special": ["<user>"], "chat_template": "<user>{{ messages[0].content }}"}, 380, r"'<user>' \(380\)"),
    ],
)
def test_tokens_beyond_the_embeddings_are_refused(added, rows, lacking):
    with pytest.raises(KgprobeError, match=rf"^short: the tokenizer has .*{lacking}"):
        Scorer(random_model("llama", rows), with_tokens(**added), name="short")


@pytest.mark.parametrize(
    ("added", "rows"),
    [({"special": ["<image>"]}, 380), ({"special": ["<pad>"], "pad_token": "<pad>"}, 380), ({"tokens": ["Łódź"]}, 384)],
)
def test_tokens_that_no_text_has_may_lack_embeddings(added, rows):
    model, tokenizer = random_model("llama", rows), with_tokens(**added)
    names = [*TEXTS[:3], "Łódź", "<image>", "<pad>"]
    assert_scores_exact(Scorer(model, tokenizer, name="wide"), model, tokenizer, names)
