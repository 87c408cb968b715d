"""Models with random weights of a given shape, to measure speed."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from benchmarks.scoring.cases import Example

if TYPE_CHECKING:
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
# Vocabulary size with about four tokens for each name.
TOKENS = 2_000


def random_scorer(shape: str, example: Example, device: str, dtype: str, seed: int) -> "Scorer":
    """Return a model of this shape with random weights, and a tokenizer made from the example's names."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedTokenizerFast

    from kgprobe.models.scoring.scorer import Scorer

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
    torch.manual_seed(seed)
    options: dict[str, Any] = {"model_type": "llama", **SHAPES[shape], "bos_token_id": 0, "eos_token_id": 1}
    config = AutoConfig.for_model(**options)
    standard = torch.get_default_dtype()
    torch.set_default_dtype(getattr(torch, dtype))
    try:
        with torch.device(device):
            make: Any = AutoModelForCausalLM
            model = make.from_config(config, dtype=getattr(torch, dtype))
    finally:
        torch.set_default_dtype(standard)
    ends = {"bos_token": "<s>", "eos_token": "</s>"}
    wrapped = PreTrainedTokenizerFast(tokenizer_object=tokenizer, **ends)  # type: ignore[no-untyped-call]
    return Scorer(model, wrapped, name=shape, bos=True)
