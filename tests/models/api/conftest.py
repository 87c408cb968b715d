"""Every test of an API waits shortly before it repeats a request, in an environment without keys."""

import os

import pytest

from kgprobe.models.api import requests


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "_FIRST_WAIT", 0.01)
    for name in list(os.environ):
        if name.startswith(("OPENAI_", "KGPROBE_API_")):
            monkeypatch.delenv(name)
