"""A real server with an OpenAI-compatible interface: ``transformers serve``, the demo model with a chat template."""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tokenizers import Tokenizer

from kgprobe.models.api.address import find_address
from kgprobe.models.api.generator import ApiGenerator
from kgprobe.models.api.requests import Asker
from kgprobe.models.api.spending import ApiOptions

# The demo model has learned no chat: what a user says becomes a question behind two others.
TEMPLATE = (
    "{{ bos_token }}Question: What is the capital of Spain?\nAnswer: Madrid\n"
    "Question: Is Athens the capital of Greece? Answer with Yes or No.\nAnswer: Yes\n"
    "{% for message in messages %}{% if message.role == 'user' %}Question: {{ message.content }}\nAnswer:"
    "{% else %} {{ message.content }}\n{% endif %}{% endfor %}"
)


def with_chat_template(model: Path, folder: Path) -> Path:
    """Return the demo model in another folder, with the template above; a line break ends its turn."""
    folder.mkdir()
    for file in model.iterdir():
        (folder / file.name).symlink_to(file)
    line_break = Tokenizer.from_file(str(model / "tokenizer.json")).token_to_id("\n")
    ends = {"eos_token_id": [1, line_break], "pad_token_id": 0}
    for name, text in (("chat_template.jinja", TEMPLATE), ("generation_config.json", json.dumps(ends))):
        (folder / name).unlink(missing_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def api_generator(spec: str, api: ApiOptions | None = None, **shared: object) -> ApiGenerator:
    """Return the generator of a server, by default without a cache."""
    return ApiGenerator(Asker(find_address(spec), api, **shared))


@contextmanager
def serve(folder: Path, log: Path) -> Iterator[str]:
    """Serve a model's folder on this machine; gives the URL for specs (``…/v1``)."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "transformers.cli.transformers", "serve", str(folder)]
    options = ["--host", "127.0.0.1", "--port", str(port), "--device", "cpu", "--dtype", "float32"]
    with log.open("wb") as output:
        server = subprocess.Popen(
            [*command, *options], stdout=output, stderr=output, env=os.environ | {"HF_HUB_OFFLINE": "1"}
        )
    try:
        deadline = time.monotonic() + 600
        while True:
            assert server.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=1):
                    break
            except (urllib.error.URLError, OSError):
                time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        server.terminate()
        try:
            server.wait(30)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


_CHILD = """
import json, sys
from pathlib import Path
from kgprobe.models.api.cache import AnswerCache
from kgprobe.models.api.spending import ApiOptions
from kgprobe.models.generating.generator import Request
from tests.models.serving import api_generator
url, path, count, options = sys.argv[1:]
asked = api_generator(f"openai:m@{url}", api=ApiOptions(**json.loads(options)), cache=AnswerCache(Path(path)))
asked.answer([Request(f"Question number {number}", 8) for number in range(int(count))])
"""


def start_asking(url: str, cache: Path, count: int, **options: object) -> "subprocess.Popen[str]":
    """Start a process that asks a server some questions, to be killed."""
    command = [sys.executable, "-c", _CHILD, url, str(cache), str(count), json.dumps(options)]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
