"""The options of ``--as-paper``: each is an option of its command, with an allowed value."""

from typing import Any

import pytest

import kgprobe
from kgprobe.base.errors import UnknownNameError
from kgprobe.base.options import Option, options_of
from kgprobe.datasets import DatasetOptions
from kgprobe.judge import JudgedGraphOptions, JudgeOptions
from kgprobe.loaders.sparql import SparqlOptions
from kgprobe.models.spec_forms import LocalOptions
from kgprobe.papers.baselines.options import MeasuresOptions
from kgprobe.papers.presets import PRESETS, papers_with, preset_of
from kgprobe.papers.studies.options import (
    CalibrationOptions,
    ExampleCountsOptions,
    NoisyExamplesOptions,
    PromptingOptions,
    ReplayOptions,
    RobustnessOptions,
    StrategiesOptions,
)
from kgprobe.papers.tables import PAPERS
from kgprobe.probes.distractors import DistractorOptions
from kgprobe.probes.examples import ExampleOptions
from kgprobe.probes.examples.packing import FACTS
from kgprobe.probes.register import PROBES
from kgprobe.running.plan import Asking, RoundsOptions
from kgprobe.sampling.drawing import DrawOptions

# The dataclasses of each command that is not a probe.
CLASSES: dict[str, tuple[type, ...]] = {
    "study strategies": (StrategiesOptions, DistractorOptions, DrawOptions),
    "study distractor-count": (DistractorOptions, DrawOptions),
    "study sentences": (DistractorOptions, DrawOptions),
    "study scaling": (DistractorOptions, DrawOptions),
    "study calibration": (CalibrationOptions, MeasuresOptions),
    "study robustness": (RobustnessOptions, MeasuresOptions),
    "study sampling": (ReplayOptions,),
    "study examples": (ExampleCountsOptions,),
    "study prompting": (PromptingOptions,),
    "study noisy-examples": (NoisyExamplesOptions,),
    "rounds run": (RoundsOptions,),
    "load sparql": (SparqlOptions,),
    "dataset build": (DatasetOptions,),
    "dataset probe": (ExampleOptions,),
    "dataset export": (ExampleOptions,),
    "judge train": (JudgeOptions,),
    "judge predict": (JudgedGraphOptions,),
}
# Of every command on facts, without a dataclass.
LIMIT = "limit"


def options_for(command: str) -> dict[str, Option]:
    """Return the options of a command's dataclasses."""
    classes = CLASSES.get(command)
    if classes is None:
        first, *_, probe = command.split()
        classes = (PROBES.get(probe).options, *((RoundsOptions,) if first == "rounds" else ()))
    return {option.name: option for kind in (*classes, Asking, LocalOptions) for option in options_of(kind)}


@pytest.mark.parametrize(("paper", "command"), [(paper, command) for paper in PRESETS for command in PRESETS[paper]])
def test_preset_has_allowed_values_of_existing_options(paper: str, command: str) -> None:
    known = options_for(command)
    preset = preset_of(paper, command)
    assert preset.options
    values: dict[str, Any] = {name: option.value for name, option in preset.options.items()}
    limit = values.pop(LIMIT, 1)
    assert isinstance(limit, int)
    assert {name: known[name].problem(value) for name, value in values.items()} == dict.fromkeys(values)
    assert all(option.section for option in preset.options.values())


def test_every_paper_has_presets() -> None:
    assert set(PRESETS) == {*PAPERS, "latent-knowledge-eic"}
    assert papers_with("probe distractors") == ["distractors"]
    # Rounds are the same for each probe.
    assert papers_with("rounds run distractors") == ["kglens"]
    assert preset_of("kglens", "rounds run distractors").options["rounds"].value == 60
    assert preset_of("kglens", "rounds run questions").options["difficulty"].value == "hard"
    assert papers_with("probe choices") == []
    # Graphs of three sizes.
    assert all(preset_of("kglens", "load sparql").options["limit"].has(nodes) for nodes in (12_760, 805, 7965))


def test_number_of_judged_negatives_is_of_the_papers_code() -> None:
    # The paper gives no number.
    assert preset_of("grapheval", "judge predict").options["negatives"].section == "code"


def test_preset_of_eic_packs_separate_tokens_with_commas() -> None:
    packed = kgprobe.paper_options("latent-knowledge-eic", "dataset probe")
    assert (packed["examples"], packed["packed"], packed["separate_tokens"]) == (50, True, True)
    assert (packed["separator"], packed["between"]) == (" ", ",")
    # The 400 facts of a relation fill sequences of ten.
    assert packed["batch_size"] % FACTS == 400 % packed["batch_size"] == 0
    assert papers_with("dataset probe") == ["latent-knowledge", "latent-knowledge-eic"]


def test_preset_of_another_paper_is_refused_with_its_commands() -> None:
    with pytest.raises(UnknownNameError, match=r"kglens has no options for `judge train`; .* probe questions"):
        preset_of("kglens", "judge train")
