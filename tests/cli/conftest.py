"""What tests of commands share: a user's folder with the example graph in it, and a small model."""

import pytest

from kgprobe.graph.endpoint import Endpoint
from tests.graph.servers.shared import environment_of
from tests.models.tiny import save_base


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory, example_endpoint: Endpoint) -> dict[str, str]:
    """A user's own folder, and the example graph on a server that runs."""
    own = {"KGPROBE_HOME": str(tmp_path_factory.mktemp("home")), "OMP_NUM_THREADS": "1"}
    return own | environment_of(example_endpoint)


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A small model with random weights, in a folder, as one downloads them."""
    folder = tmp_path_factory.mktemp("model")
    save_base(folder, "gpt2")
    return f"hf:{folder}"


@pytest.fixture(scope="session")
def talker(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Another one, which takes texts as long as questions with examples are."""
    folder = tmp_path_factory.mktemp("talker")
    save_base(folder, "gpt2", n_positions=1024)
    return f"hf:{folder}"
