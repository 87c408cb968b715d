"""A probe of somebody else's, in one file: it is a command, an option of rounds, a page and a call."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import kgprobe
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
def test_a_probe_in_one_file_is_everywhere(example_graph: Graph, tiny: Model) -> None:
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


def test_its_options_are_those_of_commands(added: Path) -> None:
    program = (
        "import json, kgprobe.cli.probe as probe, kgprobe.cli.rounds as rounds\n"
        "print(json.dumps([[option for parameter in command.params for option in parameter.opts]"
        " for command in (probe.probe.get_command(None, 'coin'), rounds.run_probe.get_command(None, 'coin'))]))"
    )
    path = os.pathsep.join([str(added), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    own, of_rounds = json.loads(done.stdout)
    assert {"--odds", "--limit", "--model", "--batch-size"} <= set(own)
    assert {"--odds", "--rounds", "--facts-per-round"} <= set(of_rounds)
