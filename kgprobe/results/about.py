"""The origin of a finding: model, probe, options, rounds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from kgprobe.base.sanitize import counted
from kgprobe.beliefs.register import caveat_of
from kgprobe.graph.client import Row
from kgprobe.graph.reversal import asked_by
from kgprobe.models.spec_forms import model_name
from kgprobe.probes.register import PROBES


@dataclass(frozen=True, slots=True)
class About:
    """The origin of a finding.

    Attributes:
        name: name of the run or the measurement.
        described: description of the probe and its options.
        rounds: number of rounds of a run; None for a measurement, which asks each fact once.
        reversed: True if the facts were asked from object to subject.
        ask_in: code of the language of names and templates; None for those as loaded.
        declined: parameters that servers declined, and that were left out or replaced, by the model's name.
        notes: sentences on facts that came after the start of a run, and on its lost facts.
    """

    name: str
    model: str
    probe: str
    as_of: int
    seed: int
    described: Mapping[str, Any]
    versions: Mapping[str, str]
    rounds: int | None = None
    sampling: str | None = None
    reversed: bool = False
    ask_in: str | None = None
    declined: Mapping[str, Sequence[str]] = field(default_factory=dict)
    notes: Sequence[str] = ()

    @property
    def asked_by(self) -> str:
        """The probe, and the direction if it is reversed."""
        return asked_by(self.probe, self.reversed, self.ask_in)

    @property
    def direction(self) -> str:
        """``forwards`` or ``backwards``."""
        return "backwards" if self.reversed else "forwards"

    @property
    def in_language(self) -> str:
        """The language asked, such as ``in de``; ``as loaded`` without one."""
        return "as loaded" if self.ask_in is None else f"in {self.ask_in}"

    @property
    def called(self) -> str:
        """The model's short name."""
        return model_name(self.model)

    @property
    def caveat(self) -> str | None:
        """A sentence on the facts that the rates refer to; None if the model did not affect their choice."""
        return caveat_of(self.sampling)

    @property
    def rounds_note(self) -> str | None:
        """A sentence on the options whose default differs in rounds; None for a measurement, or for other values."""
        if self.rounds is None:
            return None
        kind = PROBES.get(self.probe)
        has_defaults = all(self.described.get(name) == value for name, value in kind.in_rounds.items())
        return kind.rounds_note if kind.in_rounds and has_defaults else None

    @property
    def in_rounds(self) -> str:
        """The number of rounds, as the end of a phrase; empty for a measurement."""
        return "" if self.rounds is None else f" in {counted(self.rounds, 'round')}"


def about_run(run: Row) -> About:
    """Return the origin of a run's finding from the properties of its node."""
    return About(
        name=run["id"],
        described=msgspec.json.decode(run["config"]),
        versions=msgspec.json.decode(run["versions"]),
        rounds=run["round"],
        ask_in=run.get("ask_in"),
        **{name: run[name] for name in ("model", "probe", "as_of", "seed", "sampling", "reversed")},
    )
