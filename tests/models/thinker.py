"""Qwen 3 models with weights set by hand, so that each next token depends on the last one; and chat templates."""

from collections.abc import Mapping

import torch
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

from kgprobe.models.scoring.scorer import Scorer
from tests.models.tiny import byte_level

_TURNS = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
# As of Qwen 3: with thinking off, an empty thought begins the turn.
QWEN = (
    _TURNS + "{% if add_generation_prompt %}<|im_start|>assistant\n"
    "{% if enable_thinking is defined and not enable_thinking %}<think>\n\n</think>\n\n{% endif %}{% endif %}"
)
# As of DeepSeek V3.1: another variable, and the end marker alone where there is no thought.
DEEPSEEK = (
    _TURNS + "{% if add_generation_prompt %}<|im_start|>assistant\n"
    "{% if thinking %}<think>\n{% else %}</think>\n\n{% endif %}{% endif %}"
)
# As of DeepSeek R1: always a thought.
ALWAYS = _TURNS + "{% if add_generation_prompt %}<|im_start|>assistant\n<think>\n{% endif %}"
# As of Nemotron Nano 2: a word in the system message.
WORDS = (
    "{% set off = namespace(value=false) %}{% for m in messages %}{% if '/no_think' in m.content %}"
    "{% set off.value = true %}{% endif %}{% endfor %}" + _TURNS + "{% if add_generation_prompt %}<|im_start|>assistant"
    "\n{% if off.value %}<think></think>\n\n{% endif %}{% endif %}"
)
# As of gpt-oss: the parts of the answer are channels, and the effort is a line of the system message.
HARMONY = (
    "<|start|>system<|message|>Reasoning: {{ reasoning_effort or 'medium' }}\n# Valid channels: analysis, final.<|end|>"
    "{% for m in messages %}<|start|>{{ m.role }}{% if m.role == 'assistant' %}<|channel|>final{% endif %}<|message|>"
    "{{ m.content }}{{ '<|return|>' if m.role == 'assistant' else '<|end|>' }}{% endfor %}"
    "{% if add_generation_prompt %}<|start|>assistant{% endif %}"
)
NO_SWITCH = _TURNS + "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"

# After its thought, which names the wrong answer first, the model says yes; without one, or after a cut thought, no.
NEXT: Mapping[str, Mapping[str, float]] = {
    "\n": {"<think>": 1},
    "<think>": {"No,": 1},
    "No,": {"Hmm": 1},
    "Hmm": {"Hmm": 0.9, "</think>": 0.1},
    "</think>": {"Yes": 1},
    "Yes": {"<|im_end|>": 1},
    "\n\n": {"No": 1},
    "No": {"<|im_end|>": 1},
}
# The same with a short thought, also at temperature 0.
SHORT: Mapping[str, Mapping[str, float]] = {**NEXT, "Hmm": {"</think>": 1}}
HARMONY_NEXT: Mapping[str, Mapping[str, float]] = {
    "assistant": {"<|channel|>": 1},
    "<|channel|>": {"analysis": 0.5, "final": 0.5},
    "analysis": {"<|message|>": 1},
    "<|message|>": {"Hmm": 0.6, "Yes": 0.4},
    "Hmm": {"Hmm": 0.8, "<|end|>": 0.2},
    "<|end|>": {"<|start|>": 1},
    "<|start|>": {"assistant": 1},
    "final": {"<|message|>": 1},
    "Yes": {"<|return|>": 1},
}


def thinker_tokenizer(template: str | None) -> PreTrainedTokenizerFast:
    """Return a byte-level tokenizer with the words and the markers above as tokens of their own."""
    tokenizer = byte_level(bos=True)
    markers = ["<|im_start|>", "<|im_end|>", "<|start|>", "<|end|>", "<|message|>", "<|channel|>", "<|return|>"]
    tokenizer.add_special_tokens({"additional_special_tokens": markers})
    tokenizer.add_tokens(["<think>", "</think>", "No,", "Hmm", "Yes", "No", "\n\n", "analysis", "final", "assistant"])
    tokenizer.chat_template = template
    return tokenizer


def thinker(
    template: str | None = QWEN, following: Mapping[str, Mapping[str, float]] = NEXT, positions: int = 8192
) -> Scorer:
    """A model that writes the tokens of ``following``: for each last token, the next ones with their probabilities.

    Attention and the layer's network are switched off, and the last layer reads the last token from its embedding.
    """
    tokenizer = thinker_tokenizer(template)
    size = -(-len(tokenizer) // 8) * 8
    config = Qwen3Config(
        vocab_size=size,
        hidden_size=size,
        intermediate_size=8,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=8,
        max_position_embeddings=positions,
        bos_token_id=0,
        eos_token_id=1,
        pad_token_id=None,
        tie_word_embeddings=False,
    )
    torch.manual_seed(7)
    model = Qwen3ForCausalLM(config).eval()
    logits = torch.full((size, size), -30.0)
    # What is said nowhere ends the answer.
    logits[tokenizer.eos_token_id] = 0.0
    for last, options in following.items():
        (before,) = tokenizer(last, add_special_tokens=False).input_ids
        logits[:, before] = -30.0
        for word, share in options.items():
            (token,) = tokenizer(word, add_special_tokens=False).input_ids
            logits[token, before] = torch.tensor(share).log()
    with torch.no_grad():
        model.model.embed_tokens.weight.copy_(torch.eye(size))
        model.model.layers[0].self_attn.o_proj.weight.zero_()
        model.model.layers[0].mlp.down_proj.weight.zero_()
        # The final norm makes a unit vector this long.
        model.lm_head.weight.copy_(logits / size**0.5)
    return Scorer(model, tokenizer, name="thinker")
