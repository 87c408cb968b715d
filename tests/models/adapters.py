"""Adapters of small models, saved as a training script saves them."""

from pathlib import Path

import torch
from peft import LoraConfig, get_peft_model
from transformers import PreTrainedModel


def save_adapter(folder: Path, base: Path, model: PreTrainedModel, **others: object) -> torch.nn.Module:
    """Save a LoRA adapter with random weights of a model in a folder; return peft's model."""
    options = {"r": 4, "lora_alpha": 8, "target_modules": ["q_proj", "v_proj"], "task_type": "CAUSAL_LM"} | others
    model.name_or_path = str(base)
    net = get_peft_model(model, LoraConfig(**options))
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for name, weight in net.named_parameters():
            if "lora_" in name:
                weight.copy_(0.3 * torch.randn(weight.shape, generator=generator))
    net.save_pretrained(folder)
    return net.eval()
