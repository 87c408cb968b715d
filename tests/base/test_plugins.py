"""Registers: what is installed, by name, also by somebody else."""

from collections.abc import Callable
from pathlib import Path

import pytest

from kgprobe.base.errors import UnknownNameError
from kgprobe.base.plugins import Register
from kgprobe.probes.register import PROBES
from kgprobe.probes.search.strategies import STRATEGIES
from tests.installed import install

Install = Callable[[str, str], None]


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Installs a module of a text, with entry points of a text."""
    return lambda module, entry_points: install(tmp_path, monkeypatch, {"kgprobe_test_others": module}, entry_points)


def test_what_somebody_else_installs_stands_beside_ours(installed: Install) -> None:
    installed(
        "SPOON = 'a spoon'\n",
        "[kgprobe.strategies]\nspoon = kgprobe_test_others:SPOON\n[kgprobe.test_spoons]\nz = x:y\na = x:y\n",
    )
    assert STRATEGIES.get("spoon") == "a spoon"
    assert {"spoon", "random"} <= set(STRATEGIES.names())
    assert "spoon" in STRATEGIES
    assert "spoon" not in PROBES
    assert Register("kgprobe.test_spoons", "spoon").names() == ["a", "z"]


def test_to_list_names_imports_nothing(installed: Install) -> None:
    installed("raise RuntimeError('imported')\n", "[kgprobe.test_spoons]\nspoon = kgprobe_test_others:SPOON\n")
    register: Register[object] = Register("kgprobe.test_spoons", "spoon")
    assert register.names() == ["spoon"]
    assert "spoon" in register
    with pytest.raises(RuntimeError, match="imported"):
        register.get("spoon")


def test_unknown_name_is_told_with_those_that_there_are() -> None:
    told = r"Unknown probe 'distractor'; expected one of choices, distractors, examples, generation, .*questions"
    with pytest.raises(UnknownNameError, match=told) as raised:
        PROBES.get("distractor")
    assert str(raised.value).endswith("(did you mean distractors?).")
    with pytest.raises(
        UnknownNameError, match=r"Unknown strategy '\?\?'; expected one of approximate-optimal"
    ) as raised:
        STRATEGIES.get("??")
    assert "did you mean" not in str(raised.value)


@pytest.mark.parametrize("register", [PROBES, STRATEGIES], ids=lambda register: register.kind)
def test_names_are_sorted_and_each_is_what_it_calls_itself(register: Register) -> None:
    assert register.names() == sorted(set(register.names()))
    assert [register.get(name).name for name in register.names()] == register.names()
