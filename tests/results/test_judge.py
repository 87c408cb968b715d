"""What is said of a judge, from made figures."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from kgprobe.judge.quality import quality_of
from kgprobe.judge.training import KindJudged
from kgprobe.results.judge import TrainedJudge


@pytest.mark.parametrize(("told", "warned"), [([0, 0, 0], True), ([0, 1, 0], False)])
def test_one_answer_to_everything_is_said_first(told: list[int], warned: bool) -> None:
    folds = quality_of(np.array([0, 1, 0]), np.eye(3)[told])
    classifier = SimpleNamespace(kind="linear")
    judge: Any = SimpleNamespace(layer=1, classifier=classifier)
    fitted: Any = SimpleNamespace(kinds=[KindJudged(kind="linear", folds=folds)])
    learned: Any = SimpleNamespace(judge=judge, trained=fitted)
    # No fact is set aside that could tell.
    result = TrainedJudge(learned=learned, folder=Path("j"), aside=None)
    warnings = ["The judge predicts the same answer for all 3 statements: true."] if warned else []
    assert list(result.warnings) == warnings
    assert result.summary().splitlines()[:-1] == warnings
