"""Settings of a stored result that differ from the paper's: from its preset, and from the full command of a table."""

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeAlias

from kgprobe.answers.settings import read_measurement
from kgprobe.base.errors import KgprobeError
from kgprobe.judge import JudgeOptions
from kgprobe.judge.files import FILE, load_judge
from kgprobe.papers.presets import papers_with, preset_of
from kgprobe.papers.studies.options import (
    ExampleCountsOptions,
    NoisyExamplesOptions,
    PromptingOptions,
    ReplayOptions,
)
from kgprobe.papers.tables import PaperEntry
from kgprobe.probes.register import PROBES

# Values of options as texts, by the option's name on the command line; several where it is repeated.
Texts: TypeAlias = Mapping[str, Sequence[str]]

# Names of settings in results that are others on the command line.
_FLAGS = {
    "strategies": "strategy",
    "separators": "separator",
    "ways": "way",
    "relations": "relation",
    "reference": "run",
    "templates": "clozes",
}
# Options of studies with defaults that the papers do not give; those of others are options of their measurements.
_STUDIES: Mapping[str, type] = {
    "sampling": ReplayOptions,
    "examples": ExampleCountsOptions,
    "prompting": PromptingOptions,
    "noisy-examples": NoisyExamplesOptions,
}
# Flags that are no settings, or that the result's model, name and kind show.
_SHOWN_ELSEWHERE = ("model", "name", "graph", "probe", "as_paper")
_IGNORED = frozenset((*_SHOWN_ELSEWHERE, "full", "json", "no_view", "output", "batch_size", "compare_speed"))
# Settings that are no options of every command.
_IN_WORDS = {"dataset": "data set", "facts": "facts"}
# Relations of T-REx-MC (4.2), and those with sentences (4.1).
_RELATIONS, _WITH_SENTENCES = 50, 12
# The draw of facts, with defaults.
_DRAWN = {"limit": None, "balance": None, "with_former": False}
_NONE, _SHOWN = "none", 3


def differences(
    entry: PaperEntry, kind: str, folder: Path, content: Mapping[str, Any]
) -> dict[str, tuple[str, str | None]]:
    """Return the settings of a stored result that differ from the paper's: value here and in the paper, by option.

    Args:
        kind, folder: of the result.
        content: the content of its file for programs.
    """
    steps = [shlex.split(step)[1:] for step in entry.full.split(" && ")]
    facts = _facts(kind, content)
    # Sentences are of some relations only, which a study or a comparison shares with other prompts.
    shares_few = kind in ("study", "comparison") and "--templates" in entry.full
    differing: dict[str, tuple[str, str | None]] = {}
    for command, own, defaults in _used(kind, folder, content):
        words = command.split()
        if not words:
            differing["settings"] = "deleted or damaged", None
            continue
        same = [step for step in steps if step[: len(words)] == words]
        asking = same or [step for step in steps if _asks(step) and _asks(words)]
        if asking and not same:
            differing["command"] = command, " ".join(asking[0][:2])
        # Of several steps, such as one for each prompt, the nearest.
        known = own if facts is None else {**own, "facts": [str(facts)]}
        each = []
        for step in asking or [[]]:
            relations = _WITH_SENTENCES if shares_few or "sentences" in step else _RELATIONS
            each.append(_differing(known, defaults, _expected(entry.paper, command, step, relations)))
        nearest = min(each, key=len)
        differing |= nearest
    return differing


def _facts(kind: str, content: Mapping[str, Any]) -> int | None:
    """Return the number of facts of a result; None if its file does not have it."""
    if kind == "study":
        # Of the first way of asking.
        counts = [row["facts"] for row in content.get("relations", ()) if row["method"] == "examples"]
        return sum(counts) or None
    facts: int | None = content.get("facts" if kind == "comparison" else "facts_asked")
    return facts


def _asks(words: Sequence[str]) -> bool:
    """Return True for a command that asks a model about facts, in one of three ways."""
    return words[0] == "probe" or list(words[:2]) in (["dataset", "probe"], ["rounds", "run"])


def _expected(paper: str, command: str, step: Sequence[str], relations: int) -> dict[str, list[str]]:
    """Return the paper's options of a command: those of its preset, and those of a step of the full command.

    Args:
        relations: number of the relations of a data set that are asked without ``--relation``.
    """
    given: dict[str, list[str]] = {}
    for word, following in zip(step, [*step[1:], "--"], strict=False):
        if word.startswith("--"):
            given.setdefault(word[2:].replace("-", "_"), []).append("True" if following.startswith("--") else following)
    if step[:2] == ["dataset", "probe"]:
        given["dataset"] = [step[2]]
    if "dataset" in given:
        of_each = preset_of("latent-knowledge", "dataset build").options["test"].value
        given["facts"] = [str(of_each * (len(given.get("relation", ())) or relations))]
    # A paper with two methods has a preset for each.
    name = given.get("as_paper", [paper])[0]
    preset = preset_of(name, command).options if name in papers_with(command) else {}
    options = {_flag(name): _texts(option.value) for name, option in preset.items()} | given
    return {name: texts for name, texts in options.items() if name not in _IGNORED}


def _differing(own: Texts, defaults: Texts, expected: Texts) -> dict[str, tuple[str, str | None]]:
    """Return the options whose values differ, with both values."""
    differing: dict[str, tuple[str, str | None]] = {}
    for name in dict.fromkeys([*own, *expected]):
        values, papers = own.get(name), expected.get(name, defaults.get(name))
        if name == "facts" and values is None:
            # Results have it only after their page was written.
            continue
        if papers is not None and (values is None or set(values) != set(papers)):
            differing[_IN_WORDS.get(name, f"--{name.replace('_', '-')}")] = (
                "not stored" if values is None else _listed(values),
                _listed(papers),
            )
    return differing


def _listed(values: Sequence[str]) -> str:
    shown = ", ".join(value if value.strip() == value else repr(value) for value in values[:_SHOWN])
    return f"{shown}, … {len(values)}" if len(values) > _SHOWN else shown


def _texts(value: Any) -> list[str]:
    """Return a setting as on the command line; a described model by its name."""
    if isinstance(value, (list, tuple)):
        return list(map(str, value))
    if isinstance(value, Mapping):
        return [str(value.get("name", value))]
    return [_NONE if value is None else str(value)]


def _flag(name: str) -> str:
    return _FLAGS.get(name, name)


def _by_flag(settings: Mapping[str, Any]) -> dict[str, Sequence[str]]:
    return {_flag(name): _texts(value) for name, value in settings.items()}


def _used(kind: str, folder: Path, content: Mapping[str, Any]) -> Iterator[tuple[str, Texts, Texts]]:
    """Yield the commands that made a result, with their settings and defaults; the latter only of probes."""
    config = content.get("config", {})
    if kind == "study":
        # The way in which a study asks, and its own settings.
        own: dict[str, Sequence[str]] = {}
        measured = config.get("measurements", {})
        for _, settings, _ in _measured([*measured.values(), *filter(None, [config.get("measurement")])]):
            for name, values in settings.items():
                own[name] = list(dict.fromkeys([*own.get(name, ()), *values]))
        name = str(content["name"])
        defaults = asdict(_STUDIES[name]()) if name in _STUDIES else {}
        yield f"study {name}", {**own, **_study_settings(config)}, _study_settings(defaults)
    elif kind == "run":
        probe = str(content["probe"])
        own_options = {name: config[name] for name in config.keys() & _defaults(probe)}
        yield f"rounds run {probe}", _by_flag({**own_options, **content.get("plan", {})}), _defaults(probe)
    elif kind == "judged graph":
        yield from _measured([folder.parents[1] / "probes" / content["judge"]["labels"]])
        dtype = {"dtype": content.get("reader", {}).get("dtype")}
        yield "judge train", _by_flag({**content["judge"].get("options", {}), **dtype}), _JUDGE
        yield (
            "judge predict",
            _by_flag({**content["settings"], **dtype, "all_relations": content.get("all_relations")}),
            {},
        )
    else:
        yield from _measured(config.get("compared", [folder]))


def _measured(folders: Iterable[str | Path]) -> Iterator[tuple[str, Texts, Texts]]:
    """Yield the commands of measurements and judges; that of one without readable settings is empty."""
    for folder in map(Path, folders):
        try:
            yield from _made(folder)
        except (KgprobeError, OSError):  # noqa: PERF203 (each is read alone)
            yield "", {}, {}


def _made(folder: Path) -> Iterator[tuple[str, Texts, Texts]]:
    if not (folder / FILE).exists():
        yield _measurement(read_measurement(folder))
        return
    judge = load_judge(folder)
    yield _measurement(judge.labels)
    yield "judge train", _by_flag({**judge.training["options"], "dtype": judge.reader["dtype"]}), _JUDGE


def _measurement(config: Mapping[str, Any]) -> tuple[str, Texts, Texts]:
    """Return the command of a measurement, its settings and defaults."""
    probe = str(config["probe"])
    drawn = {name: config.get("facts", {}).get(name, default) for name, default in _DRAWN.items()}
    settings = {**config.get("options", {}), **drawn, **_precision(config), "relations": config.get("relations")}
    settings["dataset"] = config.get("dataset", {}).get("name")
    return "dataset probe" if "dataset" in config else f"probe {probe}", _by_flag(settings), _defaults(probe)


def _precision(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the precision of the model that a measurement's settings describe."""
    described = config.get("described", {})
    model = described.get("scorer") or described.get("generator") or {}
    return {"dtype": model.get("dtype")}


def _defaults(probe: str) -> dict[str, Sequence[str]]:
    return _by_flag({**asdict(PROBES.get(probe).options()), **_DRAWN})


def _study_settings(config: Mapping[str, Any]) -> dict[str, Sequence[str]]:
    """Return the settings of a study under the names of its command."""
    settings = dict(config)
    # A path; its measurements have the name.
    settings.pop("dataset", None)
    if "measures" in config:
        # Of calibration and robustness: distractor measures are named after their strategies.
        parts = [str(measure).partition(":") for measure in config["measures"]]
        settings["strategies"] = [strategy for _, _, strategy in parts if strategy]
        settings["distractors"] = max(config["counts"])
        settings["calibration"] = "latest" if config.get("best") else None
    elif "counts" in config:
        settings["examples"] = config["counts"]
    return _by_flag(settings)


_JUDGE = _by_flag(asdict(JudgeOptions()))
