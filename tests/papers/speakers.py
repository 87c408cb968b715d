"""Small models with random weights that answer questions: some words are likely after any text."""

from pathlib import Path

import torch

from tests.models.tiny import byte_level, random_model

# Answers to statements and to yes/no questions, and objects of the example graph.
LOUD = [" Yes", " No"]
WORDS = [
    " True",
    " False",
    " Unknown",
    " I",
    " Europe",
    " Asia",
    " Africa",
    " euro",
    " France",
    " Germany",
    " English",
    " NATO",
    " United Nations",
]


def save_speaker(folder: Path, architecture: str, seed: int, **settings: object) -> str:
    """Save such a model in a folder, as one downloads them; return its spec."""
    tokenizer = byte_level(bos=True)
    tokenizer.add_tokens([*LOUD, *WORDS])
    model = random_model(architecture, len(tokenizer), **settings)
    generator = torch.Generator().manual_seed(seed)
    head = model.get_output_embeddings().weight
    with torch.no_grad():
        for words, factor in ((LOUD, 14.0), (WORDS, 9.0), (["Ċ"], 9.0)):
            for token in tokenizer.convert_tokens_to_ids(words):
                direction = torch.randn(head.shape[1], generator=generator)
                head[token] = factor * direction / direction.norm()
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return f"hf:{folder}"
