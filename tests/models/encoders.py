"""Small encoders with random weights."""

import torch
from tokenizers import processors
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast, RobertaConfig, RobertaModel

from tests.models.tiny import byte_level

KINDS = {"bert": (BertModel, BertConfig), "roberta": (RobertaModel, RobertaConfig)}


def random_encoder(kind: str) -> tuple[BertModel | RobertaModel, PreTrainedTokenizerFast]:
    """Return an encoder of six layers and 64 positions, and a tokenizer that puts special tokens around a text."""
    tokenizer = byte_level()
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 1)]
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer.backend_tokenizer, bos_token="<s>", eos_token="</s>", pad_token="</s>"
    )
    model_class, config_class = KINDS[kind]
    torch.manual_seed(3)
    config = config_class(
        vocab_size=len(tokenizer),
        hidden_size=16,
        num_hidden_layers=6,
        num_attention_heads=2,
        intermediate_size=24,
        max_position_embeddings=64,
        initializer_range=0.5,
        pad_token_id=1,
    )
    return model_class(config).eval(), tokenizer
