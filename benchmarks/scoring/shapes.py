"""Models with random weights of a given shape, to measure speed."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from benchmarks.scoring.cases import Example

if TYPE_CHECKING:
    from kgprobe.models.scoring.forward import ScoringMethod
    from kgprobe.models.scoring.scorer import Scorer

# Options of a configuration of transformers; a Llama's, unless `model_type` names another architecture.
SHAPES: Mapping[str, Mapping[str, int | str | bool]] = {
    "0.6b": {
        "model_type": "qwen3",
        "vocab_size": 151_936,
        "hidden_size": 1024,
        "intermediate_size": 3072,
        "num_hidden_layers": 28,
        "num_attention_heads": 16,
        "num_key_value_heads": 8,
        "head_dim": 128,
        "max_position_embeddings": 40_960,
        "tie_word_embeddings": True,
    },
    "2b": {
        "vocab_size": 32_000,
        "hidden_size": 2048,
        "intermediate_size": 16_384,
        "num_hidden_layers": 18,
        "num_attention_heads": 8,
        "num_key_value_heads": 1,
        "head_dim": 256,
        "max_position_embeddings": 4096,
    },
    "7b": {
        "vocab_size": 32_000,
        "hidden_size": 4096,
        "intermediate_size": 11_008,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "num_key_value_heads": 32,
        "max_position_embeddings": 4096,
    },
    "smallest": {
        "vocab_size": 2_048,
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "num_key_value_heads": 2,
        "max_position_embeddings": 4096,
    },
    "tiny": {
        "vocab_size": 4_000,
        "hidden_size": 256,
        "intermediate_size": 688,
        "num_hidden_layers": 4,
        "num_attention_heads": 4,
        "num_key_value_heads": 4,
        "max_position_embeddings": 4096,
    },
}
# A small Qwen 3.5: three linear layers and one of attention, twice, with the sizes of 0.8B halved.
HYBRID: Mapping[str, int] = {
    "vocab_size": 4_000,
    "hidden_size": 512,
    "intermediate_size": 1_792,
    "num_hidden_layers": 8,
    "num_attention_heads": 4,
    "num_key_value_heads": 1,
    "head_dim": 128,
    "linear_num_key_heads": 8,
    "linear_num_value_heads": 8,
    "linear_key_head_dim": 128,
    "linear_value_head_dim": 128,
    "max_position_embeddings": 4096,
}
# Vocabulary size with about four tokens for each name.
TOKENS = 2_000


def random_scorer(shape: str, example: Example, device: str, dtype: str, seed: int) -> "Scorer":
    """Return a model of this shape with random weights, and a tokenizer made from the example's names."""
    from transformers import AutoConfig

    from kgprobe.models.scoring.scorer import Scorer

    options: dict[str, Any] = {"model_type": "llama", **SHAPES[shape], "bos_token_id": 0, "eos_token_id": 1}
    model = _random_model(AutoConfig.for_model(**options), device, dtype, seed)
    return Scorer(model, _tokenizer_of(example), name=shape, bos=True)


def random_hybrid(
    example: Example, device: str, dtype: str, seed: int, methods: "tuple[ScoringMethod, ...] | None" = None
) -> "Scorer":
    """Return a small Qwen 3.5 with random weights, and a tokenizer made from the example's names."""
    from transformers import Qwen3_5TextConfig

    from kgprobe.models.scoring.check import METHODS
    from kgprobe.models.scoring.scorer import Scorer

    options: dict[str, Any] = {**HYBRID, "bos_token_id": 0, "eos_token_id": 1}
    model = _random_model(Qwen3_5TextConfig(**options), device, dtype, seed)
    return Scorer(
        model, _tokenizer_of(example), name="hybrid", bos=True, methods=METHODS if methods is None else methods
    )


def _random_model(config: Any, device: str, dtype: str, seed: int) -> Any:
    import torch
    from transformers import AutoModelForCausalLM

    torch.manual_seed(seed)
    standard = torch.get_default_dtype()
    torch.set_default_dtype(getattr(torch, dtype))
    try:
        with torch.device(device):
            make: Any = AutoModelForCausalLM
            return make.from_config(config, dtype=getattr(torch, dtype))
    finally:
        torch.set_default_dtype(standard)


def _tokenizer_of(example: Example) -> Any:
    """Return a tokenizer made from the example's names."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=TOKENS,
        special_tokens=["<s>", "</s>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    names = (f" {name}" for entity in example.entities.values() for name in (entity.label, *entity.aliases))
    tokenizer.train_from_iterator(names, trainer)
    ends = {"bos_token": "<s>", "eos_token": "</s>"}
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **ends)  # type: ignore[no-untyped-call]
