"""A probe of somebody else's, in one file: it is a command, an option of rounds, a page and a call."""

from pathlib import Path

import click
import pytest

import kgprobe
from kgprobe.cli.probe import probe
from kgprobe.cli.rounds import run_probe
from kgprobe.graph.client import Graph
from kgprobe.models.model import Model
from tests.installed import install

PROBE = '''
"""Does the model find a fact's object more plausible than a coin?"""
from dataclasses import dataclass

from kgprobe.options import option
from kgprobe.probes.clozes import ClozeItems
from kgprobe.probes.outcome import Evidence, Outcome, Verdict, unaskable
from kgprobe.probes.register import ProbeKind
from kgprobe.search.plausibility import Candidates, log_plausibilities


@dataclass(frozen=True, slots=True)
class CoinOptions:
    odds: float = option(0.5, "How probable the object has to be.", above=0, maximum=1)


class CoinEvidence(Evidence, frozen=True, tag="coin"):
    question: str
    right_answer: str
    probability: float
    prediction: str | None = None
    chance: float | None = None


class CoinProbe:
    def __init__(self, setting, options):
        self._items = ClozeItems(setting.graph, setting.as_of, sentences=1, relations=setting.relations)
        self._scorer, self._odds = setting.model.scorer(), options.odds
        self.relations = self._items.relations

    def describe(self):
        return {"model": self._scorer.name, "scorer": self._scorer.describe(), "odds": self._odds}

    def ask(self, facts, seed):
        outcomes = []
        for item in self._items.of(facts, seed):
            if not item.clozes:
                outcomes.append(unaskable(item.fact.key, item.fact.relation, item.reason))
                continue
            names = [(item.fact.object_label, *item.fact.object_aliases)]
            (scored,) = log_plausibilities(self._scorer, [Candidates(item.clozes[0], names)])
            probability = float(2.718281828 ** scored.values[0])
            right = probability > self._odds
            evidence = CoinEvidence(
                item.clozes[0].prompt, item.fact.object_label, probability, None if right else "the coin"
            )
            verdict = Verdict.RIGHT if right else Verdict.WRONG
            outcomes.append(
                Outcome(item.fact.key, verdict, item.fact.relation, item.clozes[0].prompt, evidence=evidence)
            )
        return outcomes


PROBE = ProbeKind("coin", "Is the object more plausible than a coin?", CoinOptions, lambda: CoinEvidence, CoinProbe)
'''


@pytest.fixture
def added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that the probe is installed in."""
    folder = tmp_path / "site"
    install(folder, monkeypatch, {"coin_probe": PROBE}, "[kgprobe.probes]\ncoin = coin_probe:PROBE\n")
    return folder


@pytest.mark.usefixtures("added")
def test_probe_in_one_file_is_everywhere(example_graph: Graph, tiny: Model) -> None:
    result = kgprobe.measure(example_graph, tiny, "coin", limit=5, odds=1e-30, as_of=2024_01_01)
    frame = result.to_frame()
    assert set(frame["verdict"]) <= {"right", "wrong", "unaskable"}
    assert frame["probability"].notna().any()
    page = result.page().read_text(encoding="utf-8")
    assert "coin" in page
    run = kgprobe.run_rounds(
        example_graph, tiny, "coin", name="coins", rounds=1, facts_per_round=3, odds=1.0, as_of=2024_01_01
    )
    assert run.finding().unknown[0].prediction == "the coin"
    assert "the coin" in run.page().read_text(encoding="utf-8")
    assert kgprobe.resume_rounds(example_graph, "coins", tiny, rounds=2).report.rounds == 2
    kgprobe.delete("coins", example_graph)
    with pytest.raises(kgprobe.ArgumentError, match="`odds` is 2"):
        kgprobe.measure(example_graph, tiny, "coin", odds=2.0)


@pytest.mark.usefixtures("added")
def test_added_probe_has_its_options_in_commands() -> None:
    own, of_rounds = (
        {flag for parameter in group.get_command(click.Context(group), "coin").params for flag in parameter.opts}
        for group in (probe, run_probe)
    )
    assert {"--odds", "--limit", "--model", "--batch-size"} <= own
    assert {"--odds", "--rounds", "--facts-per-round"} <= of_rounds
