"""The training scripts of docs/guides/teaching.md train an adapter on an exported training set."""

from pathlib import Path

import pytest

import kgprobe
from kgprobe.graph.client import Graph
from kgprobe.graph.endpoint import Endpoint
from kgprobe.models import demo
from tests.graph.servers.shared import REPOSITORY
from tests.labelling.exports.sft.labels import write_example_labels
from tests.models.tiny import byte_level, random_model
from tests.test_documents import blocks_of

SCRIPTS = blocks_of(REPOSITORY / "docs" / "guides" / "teaching.md", "py")


def script_with(name: str) -> str:
    """Return the only script of the guide that uses a name."""
    (script,) = [block.text for block in SCRIPTS if name in block.text]
    return script


@pytest.fixture
def folder(example_endpoint: Endpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a training set, as the guide names it; a small model is in place of the demo model."""
    with Graph(example_endpoint) as graph:
        labels = write_example_labels(graph, tmp_path / "labels")
        options = {"limit": 12, "held_out": 0.0, "weights": "unknown"}
        kgprobe.export_sft(graph, labels, tmp_path / "sft", teach=["unknown"], **options)
    tokenizer = byte_level(bos=True)
    tokenizer.eos_token = tokenizer.pad_token = tokenizer.bos_token
    random_model("gpt2", len(tokenizer), n_positions=256).save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(demo, "demo_model_folder", lambda: tmp_path / "model")
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize(("package", "name"), [("trl", "SFTTrainer"), ("peft", "get_peft_model")])
def test_script_trains_an_adapter(folder: Path, package: str, name: str) -> None:
    pytest.importorskip(package, reason=f"{package} is not installed")
    from safetensors.torch import load_file

    exec(script_with(name), {})  # noqa: S102
    weights = load_file(folder / "adapter" / "adapter_model.safetensors")
    # B of a LoRA is zero before training.
    assert any(tensor.abs().max() > 0 for part, tensor in weights.items() if "lora_B" in part)
