"""Calibration of stored results, recomputed from their lines."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss

import kgprobe
from kgprobe.base.errors import ArgumentError, KgprobeError
from kgprobe.graph.client import Graph
from tests.cli.inprocess import run as cli
from tests.graph.servers.shared import environment_of

if TYPE_CHECKING:
    from kgprobe.models.model import Model

AS_OF = 20240101


def lines_of(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "outcomes.jsonl").read_text(encoding="utf-8").splitlines()]


def test_confidences_are_those_of_the_stored_probabilities(example_graph: Graph, tiny: "Model", home: Path) -> None:
    made = kgprobe.measure(example_graph, tiny, "examples", limit=60, examples=3, choices=5, as_of=AS_OF, name="chosen")
    right, confidence = [], []
    for line in lines_of(made.folder):
        if line["verdict"] in ("right", "wrong"):
            logs = np.array(line["evidence"]["log_probabilities"])
            confidence.append(float(np.exp(logs).max() / np.exp(logs).sum()))
            right.append(line["verdict"] == "right")
    found = kgprobe.calibration([made])
    (row,) = found.figures
    assert row.answers == len(right)
    assert row.brier == pytest.approx(brier_score_loss(right, confidence))
    assert row.confidence == pytest.approx(np.mean(confidence))
    most = sorted(zip(confidence, right, strict=True), reverse=True)[: int(np.ceil(0.8 * len(right)))]
    assert row.at_coverage == pytest.approx(np.mean([own for _, own in most]))
    assert sum(each.answers for each in found.ranges) == len(right)
    assert found.page().read_text(encoding="utf-8").count("Reliability") >= 1
    assert kgprobe.open(str(found.folder)).figures == found.figures
    grouped = kgprobe.calibration([made], by="relation", graph=example_graph)
    by_relation = [each for each in grouped.figures if each.group != "all"]
    assert sum(each.answers for each in by_relation) == len(right)
    assert {each.group for each in by_relation} == {line["relation"] for line in lines_of(made.folder)}
    variables = {**environment_of(example_graph.endpoint), "KGPROBE_HOME": str(home)}
    told = cli("show", "chosen", "--by-confidence", **variables)
    assert told.returncode == 0
    assert f"accuracy {row.accuracy:.0%}, calibration error {row.error}" in told.stdout.replace("\n", " ")


def test_what_has_no_confidence_is_refused(example_graph: Graph, tiny: "Model") -> None:
    made = kgprobe.measure(example_graph, tiny, "generation", limit=4, as_of=AS_OF)
    with pytest.raises(KgprobeError, match="the probe generation compares no names"):
        kgprobe.calibration([made])
    several = kgprobe.measure(example_graph, tiny, limit=4, distractors=3, as_of=AS_OF)
    with pytest.raises(KgprobeError, match="--sentences 1"):
        kgprobe.calibration([several])
    one = kgprobe.measure(example_graph, tiny, limit=4, distractors=3, sentences=1, as_of=AS_OF)
    with pytest.raises(ArgumentError, match="`graph` is needed"):
        kgprobe.calibration([one], by="relation")
    found = kgprobe.calibration([one])
    (row,) = found.figures
    assert (row.answers, row.error) == (4, None)
    # Plausibilities of names do not add up to 1.
    confidence = []
    for line in lines_of(one.folder):
        (sentence,) = line["evidence"]["sentences"]
        plausibilities = np.exp(sentence["log_plausibilities"])
        confidence.append(plausibilities.max() / plausibilities.sum())
    assert sum(each.answers * each.confidence for each in found.ranges) == pytest.approx(sum(confidence))
