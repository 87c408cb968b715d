"""The shares of a measurement that are published: of all facts and of each relation, with the asked model."""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from kgprobe.errors import ArgumentError, KgprobeError
from kgprobe.models.spec_forms import can_be_on_hub, is_api, is_local, is_vllm, split_adapter
from kgprobe.models.vllm_engine.options import parse_spec
from kgprobe.probes.outcome import Verdict, guessing_chance
from kgprobe.results.measurement import Measurement
from kgprobe.running.collected import read_relation_names
from kgprobe.running.store import FILE
from kgprobe.stats.proportions import Share, share

# Settings of a model that are published, in its description.
_MODEL_SETTINGS = ("architecture", "dtype", "device", "parameters", "revision", "weights", "quantization", "prompt")


@dataclass(frozen=True, slots=True)
class PublishedShare:
    """A share of facts that the model answered right.

    Attributes:
        relation: id of the relation; None for all facts.
        name: label of the relation; empty for all facts.
        facts: number of facts with an answer.
        rate: the share with its 95% Wilson interval.
    """

    relation: str | None
    name: str
    facts: int
    rate: Share


@dataclass(frozen=True, slots=True)
class PublishedShares:
    """A measurement as it is published.

    Attributes:
        model_id: id of the model on the Hugging Face hub, or of the form ``owner/name``.
        model: settings of the asked model, as texts: revision, digest of the weights, precision.
        answered: time of the last answer, in UTC.
        chance: mean chance level of the questions; None if unknown.
        without_answer: number of facts that could not be asked, or got no answer.
        shares: of all facts first, then of each relation, the largest first.
    """

    measurement: Measurement
    model_id: str
    model: dict[str, str]
    answered: datetime
    chance: float | None
    without_answer: int
    shares: tuple[PublishedShare, ...]

    @property
    def all_facts(self) -> PublishedShare:
        """The share of all facts."""
        return self.shares[0]

    @property
    def task(self) -> str:
        """Name of the task: the probe, with the direction if it is backwards."""
        return self.measurement.asked_by.replace(", ", "-").replace(" ", "-")

    @property
    def settings(self) -> str:
        """The settings that a reader needs beside the share, in one line."""
        all_facts, about = self.all_facts, self.measurement.about
        chance = "unknown" if self.chance is None else f"{self.chance:.1%}"
        return (
            f"{all_facts.facts:,} facts; 95% interval {all_facts.rate.low:.1%} to {all_facts.rate.high:.1%}; by chance "
            f"{chance}; kgprobe {about.versions['kgprobe']}, probe {self.measurement.asked_by}, seed {about.seed}"
        )


def published_shares(measurement: Measurement, model_id: str | None = None) -> PublishedShares:
    """Return the shares of a measurement, for publication.

    Args:
        model_id: ``owner/name`` of the model; None takes the name of a model on the Hugging Face hub.

    Raises:
        ArgumentError: the model's name is not one of the hub, and no id is given, or the id has another form.
        KgprobeError: the measurement has no answers.

    Cost: one pass over the answers.
    """
    identity = _model_id(measurement.model, model_id)
    right: Counter[str] = Counter()
    facts: Counter[str] = Counter()
    chances, without_answer = [], 0
    for outcome in measurement.outcomes:
        if not outcome.verdict.counts:
            without_answer += 1
            continue
        facts[outcome.relation] += 1
        right[outcome.relation] += outcome.verdict is Verdict.RIGHT
        chance = guessing_chance(outcome)
        if chance is not None:
            chances.append(chance)
    if not facts:
        raise KgprobeError(f"The measurement {measurement.folder.name} has no answers: there is no share to publish.")
    dataset = measurement.dataset
    names = read_relation_names(measurement.folder) if dataset is None else dataset.relations
    shares = [PublishedShare(None, "", facts.total(), share(right.total(), facts.total()))]
    for relation, count in sorted(facts.items(), key=lambda pair: (-pair[1], pair[0])):
        shares.append(PublishedShare(relation, names.get(relation, relation), count, share(right[relation], count)))
    return PublishedShares(
        measurement,
        identity,
        model_settings(measurement),
        _last_answer(measurement.folder),
        sum(chances) / len(chances) if chances else None,
        without_answer,
        tuple(shares),
    )


def model_settings(measurement: Measurement) -> dict[str, str]:
    """Return the settings of the asked model as texts, such as its revision and the digest of its weights."""
    described = measurement.config["described"]
    settings_of_model: dict[str, Any] = described.get("scorer") or described.get("generator") or {}
    settings = {
        name: str(settings_of_model[name]) for name in _MODEL_SETTINGS if settings_of_model.get(name) is not None
    }
    versions = settings_of_model.get("versions") or {}
    return {**settings, **{f"version_{name}": str(versions[name]) for name in versions}}


def is_open(spec: str) -> bool:
    """Return True if the weights of a model are on the hub; False for folders and models behind an API."""
    if spec == "demo":
        return True
    return not is_api(spec) and can_be_on_hub(_weights(spec)) and not is_local(_weights(spec))


def _weights(spec: str) -> str:
    name = parse_spec(spec).name if is_vllm(spec) else spec.removeprefix("hf:")
    return split_adapter(name)[0]


def _model_id(spec: str, given: str | None) -> str:
    identity = given if given is not None else _own_id(spec)
    parts = identity.split("/")
    if len(parts) != 2 or not all(parts) or any(part != part.strip() or part.startswith(".") for part in parts):
        raise ArgumentError("model_id", f"is {identity!r}; expected owner/name, as on the Hugging Face hub.")
    return identity


def _own_id(spec: str) -> str:
    """Return the id of a model on the hub."""
    name = "" if spec == "demo" or is_api(spec) else _weights(spec)
    if not name or not is_open(spec) or "/" not in name:
        raise ArgumentError(
            "model_id", f"is missing: {spec} is not the name of a model on the Hugging Face hub. Give owner/name."
        )
    return name


def _last_answer(folder: Path) -> datetime:
    return datetime.fromtimestamp((folder / FILE).stat().st_mtime, timezone.utc).replace(microsecond=0)
