"""Architectures of today's open models, in small and with random weights, and the method that each must get.

``docs/methods/scoring.md`` lists the same.
"""

from dataclasses import dataclass, field
from typing import Any

import transformers
from transformers import PreTrainedModel

from tests.models.tiny import with_random_weights

# Larger weights multiply the rounding of recurrences, smaller ones hide mistakes.
_COMMON: dict[str, Any] = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "max_position_embeddings": 256,
    "initializer_range": 0.2,
    "bos_token_id": 0,
    "eos_token_id": 1,
    "pad_token_id": None,
}
_EXPERTS: dict[str, Any] = {"num_experts_per_tok": 2, "moe_intermediate_size": 24}
_LOCAL_EXPERTS: dict[str, Any] = {"num_local_experts": 4, "num_experts_per_tok": 2}
_QWEN_EXPERTS: dict[str, Any] = _EXPERTS | {"num_experts": 4}
_SHARED: dict[str, Any] = _QWEN_EXPERTS | {"shared_expert_intermediate_size": 24}
_DELTA: dict[str, Any] = {
    "layer_types": ["linear_attention", "linear_attention", "linear_attention", "full_attention"],
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "linear_key_head_dim": 8,
    "linear_value_head_dim": 8,
}
_MAMBA: dict[str, Any] = {
    "mamba_n_heads": 8,
    "mamba_d_head": 8,
    "mamba_d_state": 8,
    "mamba_n_groups": 1,
    "mamba_chunk_size": 16,
}
_LATENT: dict[str, Any] = {
    "num_key_value_heads": 4,
    "q_lora_rank": 16,
    "kv_lora_rank": 16,
    "qk_rope_head_dim": 8,
    "qk_nope_head_dim": 8,
    "v_head_dim": 8,
}
_WINDOW: dict[str, Any] = {"sliding_window": 64}


@dataclass(frozen=True)
class Architecture:
    """A model class, and the method that it must get.

    Attributes:
        slow: True for less common ones, which only the slow tests build.
        omitted: common options that the configuration does not have.
    """

    model: str
    config: str
    method: str
    options: dict[str, Any] = field(default_factory=dict)
    slow: bool = False
    omitted: tuple[str, ...] = ()

    def build(self, vocabulary: int) -> PreTrainedModel:
        """Return a model with random weights."""
        options = {name: value for name, value in (_COMMON | self.options).items() if name not in self.omitted}
        config = getattr(transformers, self.config)(vocab_size=vocabulary, **options)
        return with_random_weights(getattr(transformers, self.model), config)


MODERN = [
    Architecture("Qwen3_5ForCausalLM", "Qwen3_5TextConfig", "steps", _DELTA),
    Architecture("Qwen3_5MoeForCausalLM", "Qwen3_5MoeTextConfig", "steps", _DELTA | _SHARED, slow=True),
    Architecture("Qwen3NextForCausalLM", "Qwen3NextConfig", "steps", _DELTA | _SHARED),
    Architecture(
        "GraniteMoeHybridForCausalLM",
        "GraniteMoeHybridConfig",
        "steps",
        _MAMBA
        | _LOCAL_EXPERTS
        | {"layer_types": ["mamba", "mamba", "attention", "mamba"], "shared_intermediate_size": 24},
    ),
    Architecture(
        "NemotronHForCausalLM",
        "NemotronHConfig",
        "copies",
        _EXPERTS
        | {
            # Its code for a single token differs by more if weights are larger.
            "initializer_range": 0.3,
            "layers_block_type": ["mamba", "moe", "attention", "mamba"],
            "mamba_num_heads": 8,
            "mamba_head_dim": 8,
            "ssm_state_size": 8,
            "n_groups": 1,
            "chunk_size": 16,
            "n_routed_experts": 4,
            "moe_shared_expert_intermediate_size": 24,
        },
    ),
    Architecture(
        "Lfm2ForCausalLM", "Lfm2Config", "steps", {"layer_types": ["conv", "full_attention", "conv", "full_attention"]}
    ),
    Architecture("FalconH1ForCausalLM", "FalconH1Config", "steps", _MAMBA | {"mamba_d_ssm": 64}, slow=True),
    Architecture("OlmoHybridForCausalLM", "OlmoHybridConfig", "steps", _DELTA, slow=True),
    Architecture(
        "KimiLinearForCausalLM",
        "KimiLinearConfig",
        "steps",
        _LATENT
        | _LOCAL_EXPERTS
        | {
            "layer_types": _DELTA["layer_types"],
            "linear_head_dim": 8,
            "linear_num_heads": 4,
            "moe_intermediate_size": 24,
        },
        slow=True,
    ),
    Architecture("BambaForCausalLM", "BambaConfig", "rows", _MAMBA | {"attn_layer_indices": [1]}, slow=True),
    Architecture(
        "JambaForCausalLM",
        "JambaConfig",
        "rows",
        {
            "attn_layer_period": 2,
            "attn_layer_offset": 1,
            "num_experts": 4,
            "num_experts_per_tok": 2,
            "mamba_d_state": 8,
            "mamba_dt_rank": 4,
        },
        slow=True,
    ),
    Architecture(
        "Mamba2ForCausalLM",
        "Mamba2Config",
        "steps",
        {"num_heads": 8, "head_dim": 8, "state_size": 8, "n_groups": 1, "chunk_size": 16},
        slow=True,
        omitted=("intermediate_size", "num_attention_heads", "num_key_value_heads", "max_position_embeddings"),
    ),
    Architecture(
        "Llama4ForCausalLM",
        "Llama4TextConfig",
        "branches",
        _LOCAL_EXPERTS
        | {"num_experts_per_tok": 1, "intermediate_size_mlp": 48, "attention_chunk_size": 128, "moe_layers": [1, 3]},
    ),
    Architecture("GptOssForCausalLM", "GptOssConfig", "packed", _LOCAL_EXPERTS | _WINDOW),
    Architecture("Gemma3ForCausalLM", "Gemma3TextConfig", "packed", _WINDOW),
    Architecture(
        "Gemma4ForCausalLM",
        "Gemma4TextConfig",
        "packed",
        _WINDOW | {"vocab_size_per_layer_input": 380, "hidden_size_per_layer_input": 8},
    ),
    Architecture("Olmo2ForCausalLM", "Olmo2Config", "packed", slow=True),
    Architecture("Olmo3ForCausalLM", "Olmo3Config", "packed", _WINDOW),
    Architecture("SmolLM3ForCausalLM", "SmolLM3Config", "packed", slow=True),
    Architecture("Phi3ForCausalLM", "Phi3Config", "packed", slow=True),
    Architecture("GraniteForCausalLM", "GraniteConfig", "packed", {"logits_scaling": 2.0}, slow=True),
    Architecture("Glm4ForCausalLM", "Glm4Config", "packed", slow=True),
    Architecture(
        "Glm4MoeForCausalLM",
        "Glm4MoeConfig",
        "packed",
        _EXPERTS | {"n_routed_experts": 4, "first_k_dense_replace": 1},
    ),
    Architecture(
        "DeepseekV3ForCausalLM",
        "DeepseekV3Config",
        "packed",
        _LATENT
        | _EXPERTS
        | {"n_routed_experts": 4, "first_k_dense_replace": 1, "n_group": 1, "topk_group": 1, "n_shared_experts": 1},
    ),
    Architecture("MiniMaxM2ForCausalLM", "MiniMaxM2Config", "packed", _LOCAL_EXPERTS),
    Architecture("Qwen3MoeForCausalLM", "Qwen3MoeConfig", "packed", _QWEN_EXPERTS),
]
