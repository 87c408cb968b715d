"""Stored answers are decoded once for their table, from which summary, finding, page and JSON are made."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

import kgprobe
from kgprobe.answers import store
from kgprobe.cli.probe import show
from kgprobe.graph.client import Graph
from kgprobe.graph.endpoint import Endpoint
from kgprobe.models.model import Model
from tests.graph.servers.shared import wipe
from tests.models.tiny import byte_level, random_model

OPTIONS: dict[str, Any] = {"relations": ["P36"], "distractors": 2, "as_of": 20240101}


@pytest.fixture(scope="module")
def tiny() -> Model:
    tokenizer = byte_level(bos=True)
    return kgprobe.wrap_model(random_model("gpt2", len(tokenizer), n_positions=1024), tokenizer, name="tiny")


@pytest.fixture
def example(endpoint: Endpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Graph]:
    monkeypatch.setenv("KGPROBE_HOME", str(tmp_path))
    with Graph(endpoint) as graph:
        wipe(graph)
        kgprobe.load(graph, "example")
        yield graph


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The places of decoded outcomes, in the order of decoding."""
    places: list[int] = []
    decoded_line = store._decoded

    def counted(decode: Callable[[bytes], Any], path: Path, number: int, line: bytes) -> Any:
        decoded = decoded_line(decode, path, number, line)
        if isinstance(decoded, store.TrailLine):
            places.append(decoded.place)
        return decoded

    monkeypatch.setattr(store, "_decoded", counted)
    return places


def test_shown_measurement_is_decoded_for_table_and_export(
    example: Graph, tiny: Model, decoded: list[int], capsys: pytest.CaptureFixture[str]
) -> None:
    measured = kgprobe.measure(example, tiny, limit=9, sentences=1, **OPTIONS)
    assert decoded == []
    show(measured, True, False)
    assert sorted(decoded) == sorted([*range(9), *range(9)])
    assert (measured.folder / "plausibilities.parquet").exists()
    told = msgspec.json.decode(capsys.readouterr().out)
    stored = msgspec.json.decode((measured.folder / "results.json").read_bytes())
    assert {name: value for name, value in told.items() if name not in ("outcomes", "files", "page")} == stored
    assert stored == msgspec.json.decode(msgspec.json.encode(measured.to_dict()))
    decoded.clear()
    again = kgprobe.open(measured.folder, example)
    assert again.summary() == measured.summary()
    assert again.finding().to_dict() == measured.finding().to_dict()
    assert decoded == []


def test_run_is_decoded_once(example: Graph, tiny: Model, decoded: list[int]) -> None:
    run = kgprobe.run_rounds(example, tiny, name="once", rounds=2, facts_per_round=4, **OPTIONS)
    decoded.clear()
    finding = run.finding()
    assert run.page(finding).exists()
    assert run.summary()
    assert len(run.to_frame()) == finding.overall.facts
    assert decoded == list(range(8))
    assert msgspec.json.decode((run.folder / "results.json").read_bytes())["headline"] == finding.headline
