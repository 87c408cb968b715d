"""A probe has the same defaults wherever it is asked: command line, Python, studies, labels, data sets, samples."""

import inspect
from collections.abc import Mapping
from dataclasses import asdict, replace
from types import SimpleNamespace
from typing import Any

import click
import pytest

import kgprobe
from kgprobe.api import rounds, studies
from kgprobe.base.options import options_of
from kgprobe.cli.main import kgprobe as commands
from kgprobe.judge import JudgedGraphOptions
from kgprobe.labelling.ways import WAYS
from kgprobe.papers.baselines.options import MeasuresOptions
from kgprobe.papers.studies.options import ExampleCountsOptions, PromptingOptions, TemplatesOptions
from kgprobe.probes.distractors import DistractorOptions, FormerOption
from kgprobe.probes.examples import ExampleOptions
from kgprobe.probes.questions import QuestionOptions
from kgprobe.probes.register import PROBES, ProbeKind
from kgprobe.probes.statements import NegativeOptions, StatementOptions
from kgprobe.results import measurement

# Values of the arguments that no probe has: nothing is read or loaded before the probe is made.
MODEL: Any = SimpleNamespace(name="model", local=None, refresh=lambda: None)
MODELS: Any = SimpleNamespace(
    open_asked=lambda model: model, open=lambda model: model, check_batch_api=lambda model: None
)
GRAPH: Any = SimpleNamespace(language=None)


class MadeError(Exception):
    """Stops a call where its probe is made."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        super().__init__()
        self.options = options


def defaults_of(*kinds: type) -> dict[str, Any]:
    """Return the defaults of dataclasses of options by name."""
    return {option.name: option.default for kind in kinds for option in options_of(kind)}


def probe_defaults(name: str) -> dict[str, Any]:
    """Return the defaults of a probe, the only place that has them."""
    return defaults_of(PROBES.get(name).options)


def shown_defaults(command: click.Command, names: Mapping[str, Any]) -> dict[str, Any]:
    """Return the defaults of a command's parameters among these names, as in Python."""
    shown = {}
    for parameter in command.params:
        if parameter.name in names:
            value = parameter.get_default(click.Context(command))
            # A word for None, such as `all`; options of several values have none by default.
            shown[parameter.name] = parameter.type_cast_value(click.Context(command), value)
    return shown


def command_at(path: str) -> click.Command:
    """Return the command of a path such as ``rounds run distractors``."""
    command: click.Command = commands
    for name in path.split():
        assert isinstance(command, click.Group)
        found = command.get_command(click.Context(command), name)
        assert found is not None, path
        command = found
    return command


# Commands, and the probe whose options they have; `study strategies` varies the strategy.
COMMANDS = {
    **{f"probe {name}": name for name in PROBES.names()},
    **{f"rounds run {name}": name for name in PROBES.names()},
    "dataset probe": "examples",
    "dataset export": "examples",
    "sample distractors": "distractors",
    "sample questions": "questions",
    "study strategies": "distractors",
    "study distractor-count": "distractors",
    "study sentences": "distractors",
    "study scaling": "distractors",
}


@pytest.mark.parametrize("path", COMMANDS)
def test_command_shows_the_defaults_of_its_probe(path: str) -> None:
    probe = COMMANDS[path]
    expected = probe_defaults(probe)
    if path.startswith("rounds run"):
        expected |= PROBES.get(probe).in_rounds
    shown = shown_defaults(command_at(path), expected)
    assert shown
    assert shown == {name: expected[name] for name in shown}


def test_only_sentences_differ_in_rounds_with_a_note() -> None:
    differing = {name: dict(PROBES.get(name).in_rounds) for name in PROBES.names() if PROBES.get(name).in_rounds}
    assert differing == {"distractors": {"sentences": 1}}
    note = PROBES.get("distractors").rounds_note
    assert "one cloze sentence" in note
    assert note in str(command_at("rounds run distractors").help)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stop every call where it makes its probe, and raise the probe's options."""

    def make(_: Any, options: Any) -> Any:
        raise MadeError(asdict(options))

    def get(name: str) -> ProbeKind:
        return replace(PROBES.get(name), make=make)

    for module in (measurement, rounds):
        monkeypatch.setattr(module, "PROBES", SimpleNamespace(get=get))
    monkeypatch.setattr(rounds, "year_relation_id", lambda *_: None)


@pytest.mark.usefixtures("made")
@pytest.mark.parametrize("name", PROBES.names())
def test_python_asks_with_the_defaults_of_the_probe(name: str) -> None:
    with pytest.raises(MadeError) as measured:
        kgprobe.measure(GRAPH, MODEL, name, models=MODELS)
    assert measured.value.options == probe_defaults(name)
    with pytest.raises(MadeError) as run:
        kgprobe.run_rounds(GRAPH, MODEL, name, models=MODELS)
    assert run.value.options == probe_defaults(name) | PROBES.get(name).in_rounds


# Studies, with the options that each varies.
STUDIES: dict[str, tuple[Any, set[str]]] = {
    "strategies": (lambda: kgprobe.study_strategies(GRAPH, MODEL, models=MODELS), {"strategy"}),
    "distractor-count": (lambda: kgprobe.study_distractor_count(GRAPH, MODEL, models=MODELS), set()),
    "sentences": (lambda: kgprobe.study_sentences(GRAPH, MODEL, models=MODELS), set()),
    "scaling": (lambda: kgprobe.study_scaling(GRAPH, [MODEL, SimpleNamespace(name="other")]), set()),
    "examples": (lambda: kgprobe.study_examples(GRAPH, MODEL, models=MODELS), {"examples", "examples_seed"}),
    "prompting": (lambda: kgprobe.study_prompting(GRAPH, MODEL, models=MODELS), set()),
    "templates": (lambda: kgprobe.study_templates(GRAPH, MODEL, models=MODELS, probes=["distractors"]), {"templates"}),
    "templates of questions": (
        lambda: kgprobe.study_templates(GRAPH, MODEL, models=MODELS, probes=["questions"]),
        {"wording"},
    ),
}


@pytest.mark.parametrize("study", STUDIES)
def test_study_asks_with_the_defaults_of_its_probe(monkeypatch: pytest.MonkeyPatch, study: str) -> None:
    def measure(*arguments: Any) -> Any:
        *_, probe, _, _, options = arguments
        raise MadeError({"probe": probe, "options": options})

    monkeypatch.setattr(measurement, "measure_facts", measure)
    monkeypatch.setattr(studies, "_written_relations", lambda *_: [])
    monkeypatch.setattr(studies, "askable_relations", lambda *_, **__: {"P1": {"clozes": ["[X] [Y]"]}})
    monkeypatch.setattr(studies, "relation_names", lambda *_: {})
    monkeypatch.setattr(studies, "relation_ids", lambda *_: [])
    monkeypatch.setattr(studies, "same_facts", lambda _, __, ___, seed, ____: ({"seed": seed}, []))
    ask, varied = STUDIES[study]
    with pytest.raises(MadeError) as made:
        ask()
    defaults = probe_defaults(made.value.options["probe"])
    given = made.value.options["options"]
    assert {name: value for name, value in given.items() if name not in varied} == {
        name: defaults[name] for name in given if name not in varied
    }


# Options elsewhere with the name and the meaning of a probe's.
SAME: tuple[tuple[type, type], ...] = (
    (MeasuresOptions, DistractorOptions),
    (TemplatesOptions, DistractorOptions),
    (FormerOption, DistractorOptions),
    (ExampleCountsOptions, ExampleOptions),
    (PromptingOptions, ExampleOptions),
    (NegativeOptions, StatementOptions),
    (JudgedGraphOptions, StatementOptions),
)
# Those of `judge predict` are the labels' own unless given.
OWN = {JudgedGraphOptions: {"replace"}}


@pytest.mark.parametrize(("kind", "probe"), SAME, ids=lambda kind: kind.__name__)
def test_options_with_the_name_of_a_probes_have_its_default(kind: type, probe: type) -> None:
    own, expected = defaults_of(kind), defaults_of(probe)
    shared = own.keys() & expected.keys() - OWN.get(kind, set())
    assert shared
    assert {name: own[name] for name in shared} == {name: expected[name] for name in shared}


# Functions whose signature has options of a probe.
SAMPLES: dict[str, type] = {
    "sample_distractors": DistractorOptions,
    "sample_negatives": DistractorOptions,
    "sample_questions": QuestionOptions,
    "sample_statements": StatementOptions,
}


@pytest.mark.parametrize("name", SAMPLES)
def test_sample_has_the_defaults_of_its_probe(name: str) -> None:
    expected = defaults_of(SAMPLES[name])
    parameters = inspect.signature(getattr(kgprobe, name)).parameters
    shared = parameters.keys() & expected.keys()
    assert shared
    assert {each: parameters[each].default for each in shared} == {each: expected[each] for each in shared}


def test_ways_of_label_fix_options_of_questions_only() -> None:
    for way in WAYS.values():
        fixed = {option for number in range(len(way.variants)) for option in way.options_of(number)}
        allowed = (
            {"difficulty", "follow_ups", "wording", "with_alias", "thinking"} if way.probe == "questions" else set()
        )
        assert fixed <= allowed, way.name
