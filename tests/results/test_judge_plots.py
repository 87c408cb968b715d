"""A judge's plots show the figures that it has, and nothing where there are none."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from kgprobe.judge.quality import Quality, quality_of
from kgprobe.judge.training import LayerJudged, SplitQualities
from kgprobe.results.judge import layer_plots, quality_plots
from kgprobe.results.rendering.plots import HeatMap, Plot, write_plots_page


def quality(seed: int = 0, count: int = 60, answers: int = 3) -> Quality:
    random = np.random.default_rng(seed)
    given = random.integers(0, answers, count)
    weights = random.random((count, 3)) + np.eye(3)[given]
    return quality_of(given, weights / weights.sum(axis=1, keepdims=True))


def test_layers_are_beside_the_words_for_each_side() -> None:
    layers = [
        LayerJudged(layer=layer, strength=1e-3, folds=quality(layer), other_entities=quality(layer + 9))
        for layer in (2, 5, 7)
    ]
    words = SplitQualities(folds=quality(20))
    accuracy, auroc = layer_plots(layers, words)
    assert [line.name for line in accuracy.lines] == ["folds", "entities", "words, folds"]
    folds, entities, theirs = accuracy.lines
    assert list(folds.x) == [2, 5, 7]
    assert list(folds.y) == [one.folds.accuracy.value for one in layers]
    assert list(entities.low) == [one.other_entities.accuracy.low for one in layers if one.other_entities]
    assert (list(theirs.x), list(theirs.y)) == ([2, 7], [quality(20).accuracy.value] * 2)
    assert list(auroc.lines[1].y) == [one.other_entities.auroc for one in layers if one.other_entities]


def test_reliability_confusion_and_answers() -> None:
    ours, words = quality(1), quality(2, answers=2)
    reliability, confusion, by_answer, their_confusion, theirs = quality_plots({"mine": ours, "words": words})
    assert isinstance(reliability, Plot)
    assert [line.name for line in reliability.lines] == ["perfect calibration", "mine", "words"]
    mine = reliability.lines[1]
    assert [int(label) for label in mine.labels] == [one.count for one in ours.reliability]
    assert list(mine.y) == pytest.approx([one.right for one in ours.reliability])
    assert isinstance(confusion, HeatMap)
    assert [sum(row) for row in confusion.values] == pytest.approx([1.0] * 3)
    assert confusion.values[1][2] == ours.confusion[1][2] / sum(ours.confusion[1])
    assert isinstance(by_answer, HeatMap)
    assert [row[0] for row in by_answer.values] == [one.precision for one in ours.answers]
    # What was never answered has no row.
    assert isinstance(theirs, HeatMap)
    assert isinstance(their_confusion, HeatMap)
    assert (len(theirs.rows), len(their_confusion.rows)) == (2, 2)


def test_page_alone_has_its_script_beside_it(tmp_path: Path) -> None:
    plots = quality_plots({"mine": quality()})
    page = write_plots_page(tmp_path / "own" / "page.html", "T", "V", plots, [], [], {}, alone=True)
    (script,) = (tmp_path / "own").glob("plotly-*.min.js")
    assert not list(tmp_path.glob("plotly-*"))
    text = page.read_text(encoding="utf-8")
    assert f'<script src="{script.name}"' in text
    drawn = re.findall(r"Plotly.newPlot\(\s*\"plot-\d\",\s*(\[.*?\]),\s*\{", text, re.DOTALL)
    assert [json.loads(one)[0]["type"] for one in drawn] == ["scatter", "heatmap", "heatmap"]
