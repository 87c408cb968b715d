"""What tests of commands share: a user's folder with the example graph in it, and a small model."""

from pathlib import Path

import pytest

from kgprobe.graph.endpoint import Endpoint
from tests.models.tiny import byte_level, random_model
from tests.servers.shared import environment_of


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory, example_endpoint: Endpoint) -> dict[str, str]:
    """A user's own folder, and the example graph on a server that runs."""
    own = {"KGPROBE_HOME": str(tmp_path_factory.mktemp("home")), "OMP_NUM_THREADS": "1"}
    return own | environment_of(example_endpoint)


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A small model with random weights, in a folder, as one downloads them."""
    return _saved(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="session")
def talker(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Another one, which takes texts as long as questions with examples are."""
    return _saved(tmp_path_factory.mktemp("talker"), n_positions=1024)


def _saved(folder: Path, **others: object) -> str:
    tokenizer = byte_level(bos=True)
    random_model("gpt2", len(tokenizer), **others).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return f"hf:{folder}"
