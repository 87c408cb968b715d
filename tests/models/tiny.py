"""Small models with random weights, small tokenizers of the usual kinds, and the definition of a score, naively."""

from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import (
    BloomConfig,
    BloomForCausalLM,
    CohereConfig,
    CohereForCausalLM,
    Gemma2Config,
    Gemma2ForCausalLM,
    Gemma3ForCausalLM,
    Gemma3TextConfig,
    GPT2Config,
    GPT2LMHeadModel,
    GPTNeoXConfig,
    GPTNeoXForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
    MambaConfig,
    MambaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    OPTConfig,
    OPTForCausalLM,
    PreTrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
)

from kgprobe.models.scoring.scorer import Scorer

TEXTS = [
    "The capital of Japan is Tokyo, and the capital of France is Paris; Kyoto was the capital of Japan before.",
    "New York City, New York and York are three places. New Zealand is another place, far away from York.",
    "Łódź is a city in Poland. Zürich is a city in Switzerland, and São Paulo is a city in Brazil.",
    "Tokyo is the capital of what? The official language of Switzerland is German, French, Italian and Romansh.",
] * 4


def byte_level(add_prefix_space: bool = False, bos: bool = False, eos: bool = True) -> PreTrainedTokenizerFast:
    """Return a tokenizer like that of GPT-2, RoBERTa (with a prefix space) or Llama 3 (with BOS)."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=add_prefix_space)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=380,
        special_tokens=["<s>", "</s>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(TEXTS, trainer)
    return _finish(tokenizer, bos, eos)


def unigram(bos: bool = True, eos: bool = True) -> PreTrainedTokenizerFast:
    """Return a tokenizer like SentencePiece's: white space is a part of the next word, and one precedes the text."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.Nmt()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always", split=True)
    tokenizer.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=150, special_tokens=["<s>", "</s>", "<unk>"], unk_token="<unk>", show_progress=False
    )
    tokenizer.train_from_iterator(TEXTS, trainer)
    return _finish(tokenizer, bos, eos)


def _finish(tokenizer: Tokenizer, bos: bool, eos: bool) -> PreTrainedTokenizerFast:
    if bos:
        tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 0)])
    end = {"eos_token": "</s>"} if eos else {}
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", **end)


COMMON = {"hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4, "initializer_range": 0.3}
LLAMA_LIKE = COMMON | {"intermediate_size": 48, "num_key_value_heads": 2, "max_position_embeddings": 256}
LAYERS = {"layer_types": ["sliding_attention", "full_attention", "sliding_attention"]}

ARCHITECTURES = {
    "gpt2": (
        GPT2LMHeadModel,
        GPT2Config,
        {"n_embd": 32, "n_layer": 3, "n_head": 4, "n_positions": 256, "initializer_range": 0.3},
    ),
    "llama": (LlamaForCausalLM, LlamaConfig, LLAMA_LIKE),
    "gemma3": (Gemma3ForCausalLM, Gemma3TextConfig, LLAMA_LIKE | LAYERS | {"head_dim": 8, "sliding_window": 512}),
    "gemma3, narrow window": (
        Gemma3ForCausalLM,
        Gemma3TextConfig,
        LLAMA_LIKE | LAYERS | {"head_dim": 8, "sliding_window": 5},
    ),
    "gpt_neox": (GPTNeoXForCausalLM, GPTNeoXConfig, COMMON | {"intermediate_size": 48, "max_position_embeddings": 256}),
    "qwen2": (Qwen2ForCausalLM, Qwen2Config, LLAMA_LIKE),
    "qwen3": (Qwen3ForCausalLM, Qwen3Config, LLAMA_LIKE | {"head_dim": 8}),
    "bloom": (BloomForCausalLM, BloomConfig, {"hidden_size": 32, "n_layer": 3, "n_head": 4, "initializer_range": 0.3}),
    "mistral, narrow window": (MistralForCausalLM, MistralConfig, LLAMA_LIKE | {"sliding_window": 5}),
    "gemma2, soft caps": (
        Gemma2ForCausalLM,
        Gemma2Config,
        LLAMA_LIKE
        | LAYERS
        | {"head_dim": 8, "sliding_window": 5, "final_logit_softcapping": 2.0, "attn_logit_softcapping": 3.0},
    ),
    "cohere, scaled logits": (CohereForCausalLM, CohereConfig, LLAMA_LIKE | {"logit_scale": 0.25}),
    "opt": (OPTForCausalLM, OPTConfig, COMMON | {"ffn_dim": 48, "word_embed_proj_dim": 32, "init_std": 0.3}),
    "mamba": (MambaForCausalLM, MambaConfig, {"hidden_size": 32, "num_hidden_layers": 2, "initializer_range": 0.3}),
}


def random_model(name: str, vocabulary: int, **others: object) -> PreTrainedModel:
    """A model with weights large enough that what it attends to, and at which position, shows in its probabilities.

    Args:
        others: options of its configuration that are to be others than above.
    """
    model_class, config_class, options = ARCHITECTURES[name]
    config = config_class(vocab_size=vocabulary, bos_token_id=0, eos_token_id=1, pad_token_id=None, **options | others)
    return with_random_weights(model_class, config)


def save_base(folder: Path, kind: str = "llama", **others: object) -> PreTrainedModel:
    """Save such a model in a folder, with a tokenizer, as one downloads them; return the model."""
    tokenizer = byte_level(bos=True)
    model = random_model(kind, len(tokenizer), **others)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return model


def with_random_weights(model_class: type[PreTrainedModel], config: PreTrainedConfig) -> PreTrainedModel:
    """Return a model of any architecture, with weights as those above have them."""
    torch.manual_seed(7)
    model = model_class(config).eval()
    with torch.no_grad():
        for key, weight in model.named_parameters():
            # Biases and norms are not left at zero and one, where a forgotten one would not show.
            if weight.dim() == 1 and model_class is not MambaForCausalLM:
                weight.add_(torch.randn_like(weight) * 0.2)
            assert weight.isfinite().all(), key
    return model


def naive_tokens(tokenizer, leading, prompt, continuation, eos=False, joined=None) -> tuple[list[int], int]:
    """Return the tokens of the whole text, and the place of the continuation's first one among them."""
    text = f"{prompt} {continuation}" if joined is None else joined
    alone = [*leading, *tokenizer(prompt.rstrip(), add_special_tokens=False, split_special_tokens=True).input_ids]
    whole = [*leading, *tokenizer(text, add_special_tokens=False, split_special_tokens=True).input_ids]
    first = 0
    while first < min(len(alone), len(whole)) and alone[first] == whole[first]:
        first += 1
    return whole + ([tokenizer.eos_token_id] if eos else []), first


def naive_log_probabilities(model, tokens: list[int], first: int) -> torch.Tensor:
    """Return the log-probabilities of all tokens at the places from the first on, by one plain forward pass.

    The log-softmax is in float64: torch's own in float32 is off by 0.0001 where the vocabulary is large.
    """
    # Logits of a large vocabulary take much memory; those in front are not needed.
    kept = {} if model.config.model_type == "mamba" else {"logits_to_keep": len(tokens) - first}
    with torch.no_grad():
        logits = model(torch.tensor([tokens[:-1]]), **kept).logits[0, first - len(tokens) :]
    return logits.double().log_softmax(-1)


def naive_score(model, tokenizer, leading, prompt, continuation, eos=False, joined=None) -> float:
    """Return one plain forward pass over the whole text, and the sum over the tokens that are the continuation's."""
    tokens, first = naive_tokens(tokenizer, leading, prompt, continuation, eos, joined)
    log_probabilities = naive_log_probabilities(model, tokens, first)
    return sum(float(row[token]) for row, token in zip(log_probabilities, tokens[first:], strict=True))


def tiny_scorer(
    architecture: str = "gpt2", *, name: str = "tiny", bos: bool = True, eos: bool = True, **settings: object
) -> Scorer:
    """Return a scorer of a model with random weights and a byte-level tokenizer."""
    tokenizer = byte_level(bos=bos, eos=eos)
    return Scorer(random_model(architecture, len(tokenizer), **settings), tokenizer, name=name)
