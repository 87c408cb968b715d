"""Refusals of made-up models: needless and justified ones, and the effect of a permission, recomputed naively."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

import kgprobe
from kgprobe.answers.store import FILE
from kgprobe.base.errors import ArgumentError, KgprobeError
from kgprobe.labelling.table import LabelledFact, write_label_table
from kgprobe.results.measurement import Measurement
from kgprobe.results.refusals import fact_answers, share_of_known
from kgprobe.stats.paired_proportions import loss_interval
from kgprobe.stats.proportions import share
from tests.cli.inprocess import run as cli
from tests.stored import store_measurement

QUESTIONS = "questions"
COUNT = 90
GENERATOR = np.random.default_rng(3)
KNOWN = GENERATOR.random(COUNT) < 0.5
FACTS = [f"f{number:02}" for number in range(COUNT)]
RELATIONS = {fact: f"r{place % 3}" for place, fact in enumerate(FACTS)}
# What each model does with known and unknown facts.
MODELS: Mapping[str, NDArray[np.bool_]] = {
    "refuses the unknown": ~KNOWN,
    "refuses at random": GENERATOR.random(COUNT) < 0.4,
    "refuses the known": KNOWN,
}
# Shares of needless and of justified refusals.
TRUTH = {"refuses the unknown": (0, 1), "refuses at random": (0.4, 0.4), "refuses the known": (1, 0)}
SHOWN = KNOWN | (GENERATOR.random(COUNT) < 0.5)


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("KGPROBE_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def said(refuses: Sequence[bool], knows: Sequence[bool] = KNOWN) -> dict[str, bool | str]:
    return {f: "refused" if no else bool(own) for f, no, own in zip(FACTS, refuses, knows, strict=True)}


def stored(folder: Path, answers: Mapping[str, bool | str | None], **config: object) -> Measurement:
    relations_asked = ("r0", "r1", "r2")
    store_measurement(folder, answers, relations=RELATIONS, relations_asked=relations_asked, **config)
    return kgprobe.open(folder, kind="measurement")


def naive_rate(answers: Mapping[str, bool | str], chosen: Sequence[bool]) -> object:
    picked = [answers[fact] == "refused" for fact, own in zip(FACTS, chosen, strict=True) if own]
    return share(sum(picked), len(picked)) if picked else None


@pytest.mark.parametrize("name", MODELS)
def test_diagnosis_of_a_made_up_model_is_right(home: Path, name: str) -> None:
    refuses = MODELS[name]
    asked = stored(home / "probes" / "asked", said(refuses), probe="questions")
    # By yes/no questions without refusals: half of the unknown facts are right by luck.
    other = stored(home / "probes" / "other", said([False] * COUNT, SHOWN), probe="questions", seed=1)
    found = kgprobe.refusals(asked, other)
    row = found.groups[0]
    assert (row.facts, row.known, row.unknown, row.undecided) == (COUNT, SHOWN.sum(), (~SHOWN).sum(), 0)
    # As many are right by luck as are wrong; they are refused as often.
    right, lucky = np.sum(refuses & SHOWN), np.sum(refuses & ~SHOWN)
    naive = np.clip((right - lucky) / (SHOWN.sum() - (~SHOWN).sum()), 0, 1)
    assert row.needless is not None
    assert row.needless.value == pytest.approx(naive)
    assert row.justified == naive_rate(said(refuses), ~SHOWN)
    needless, justified = TRUTH[name]
    assert row.needless.low <= needless <= row.needless.high
    assert row.justified.low <= justified <= row.justified.high
    assert [one.fact for one in found.needless] == [
        f for f, no, own in zip(FACTS, refuses, SHOWN, strict=True) if no and own
    ]
    for group in found.groups[1:]:
        own = np.array([RELATIONS[fact] == group.relation for fact in FACTS])
        assert group.justified == naive_rate(said(refuses), own & ~SHOWN)
    assert kgprobe.open(found.page().parent).groups == found.groups
    printed = cli("show", "asked", "--known-by", "other", KGPROBE_HOME=str(home), COLUMNS="200")
    assert printed.returncode == 0, printed.stderr
    assert found.summary() in " ".join(printed.stdout.split())
    as_json = json.loads(cli("show", "asked", "--known-by", "other", "--json", KGPROBE_HOME=str(home)).stdout)
    assert as_json["groups"][0]["justified"] == row.justified.value


@pytest.mark.parametrize(("needless", "justified"), [(0.0, 1.0), (0.4, 0.4), (1.0, 0.0)])
def test_share_of_known_lucky_guesses_are_left_out(needless: float, justified: float) -> None:
    generator = np.random.default_rng(5)
    for chance in (0.0, 0.25, 0.5):
        covered, estimates = 0, []
        for _ in range(200):
            knows = generator.random(200) < 0.6
            refused = generator.random(200) < np.where(knows, needless, justified)
            known = knows | (generator.random(200) < chance)
            found = share_of_known(refused, known, ~known, np.full(200, chance))
            assert found is not None
            estimates.append(found.value)
            covered += found.low - 1e-9 <= needless <= found.high + 1e-9
        assert covered >= 180
        assert np.mean(estimates) == pytest.approx(needless, abs=0.03)


def test_share_of_known_without_guesses_is_wilsons() -> None:
    refused, known = np.arange(20) < 3, np.ones(20, dtype=bool)
    found, expected = share_of_known(refused, known, ~known, np.zeros(20)), share(3, 20)
    assert found is not None
    assert (found.value, found.low, found.high) == pytest.approx((expected.value, expected.low, expected.high))
    assert share_of_known(refused, ~known, known, np.full(20, 0.5)) is None


def test_change_by_permission_equals_a_recount(home: Path) -> None:
    before = said(GENERATOR.random(COUNT) < 0.1)
    after = said(GENERATOR.random(COUNT) < 0.5)
    after |= {"f03": "off-format"}
    described = {"model": "base", "generator": {"weights": "a"}, "allow_unknown": True}
    without = stored(
        home / "probes" / "without", before, probe="questions", described={**described, "allow_unknown": False}
    )
    permitted = stored(home / "probes" / "with", after, probe="questions", described=described)
    found = kgprobe.compare([without, permitted])
    assert found.refusals is not None
    kinds = {True: "right", False: "wrong", "off-format": "wrong", "refused": "refused"}
    pairs = [(kinds[before[fact]], kinds[after[fact]]) for fact in FACTS]
    for row in found.refusals.moves:
        for then in ("right", "wrong", "refused"):
            assert getattr(row, then) == pairs.count((row.answer, then))
        assert row.facts == sum(first == row.answer for first, _ in pairs)
    accuracy, net, refused = found.refusals.changes
    value = {"right": 1, "refused": 0, "wrong": -1}
    differences = [value[then] - value[first] for first, then in pairs]
    assert net.change.value == pytest.approx(np.mean(differences))
    assert net.before == pytest.approx(np.mean([value[first] for first, _ in pairs]))
    assert net.change.low < net.change.value < net.change.high
    for row, kind in ((accuracy, "right"), (refused, "refused")):
        gained = sum(then == kind != first for first, then in pairs)
        lost = sum(first == kind != then for first, then in pairs)
        low, high = loss_interval(gained, lost, COUNT)
        assert (row.change.value, row.change.low, row.change.high) == ((gained - lost) / COUNT, float(low), float(high))
    newly = [(row.before, row.fact) for row in found.refusals.newly_refused]
    expected = [(first, fact) for fact, (first, then) in zip(FACTS, pairs, strict=True) if then == "refused" != first]
    assert newly == sorted(expected, key=lambda row: (row[0] != "right", row[1]))
    assert found.refusals.summary() in found.summary()
    assert "Answers in" in found.page().read_text(encoding="utf-8")
    assert kgprobe.open(found.folder).refusals.to_dict() == found.refusals.to_dict()
    printed = cli("compare", "without", "with", KGPROBE_HOME=str(home), COLUMNS="200")
    assert f"{sum(first == 'right' for first, _ in newly)} were right before" in " ".join(printed.stdout.split())
    # Without refusals, the permission alone decides.
    sure = {fact: answer is True for fact, answer in before.items()}
    bare = [
        stored(home / "probes" / f"sure-{place}", sure, probe="questions", options={"allow_unknown": name}, **kept)
        for place, (name, kept) in enumerate([(False, {}), (True, {}), (False, {"seed": 1})])
    ]
    assert kgprobe.compare(bare[:2]).refusals is not None
    assert kgprobe.compare(bare[::2]).refusals is None
    # Other models, and probes without answers in words, have no such part.
    tuned = stored(home / "probes" / "tuned", after, probe="questions", model="tuned", described=described)
    assert kgprobe.compare([without, tuned]).refusals is None


def test_two_answers_to_a_fact_decide_if_most_agree(home: Path) -> None:
    # Two guesses of yes or no are both right as often as both wrong; the rest is undecided, as is a refusal.
    other = dict(zip(FACTS, ([True] * 30 + [False] * 30 + ["refused"] * 30), strict=True))
    again = [True, False, "refused"] * 30
    asked = stored(home / "probes" / "asked", said([place % 2 == 0 for place in range(COUNT)]), probe="questions")
    folder = store_measurement(
        home / "probes" / "other", other, relations=RELATIONS, relations_asked=("r0", "r1", "r2"), probe="questions"
    )
    second = store_measurement(
        home / "second", dict(zip(FACTS, again, strict=True)), relations=RELATIONS, probe=QUESTIONS
    )
    (folder / FILE).write_bytes((folder / FILE).read_bytes() + (second / FILE).read_bytes())
    value = {True: 1, False: -1, "refused": 0}
    sums = [value[other[fact]] + value[answer] for fact, answer in zip(FACTS, again, strict=True)]
    row = kgprobe.refusals(asked, folder).groups[0]
    known, unknown = ([place for place in range(COUNT) if sign * sums[place] > 0] for sign in (1, -1))
    assert (row.known, row.unknown, row.undecided) == (len(known), len(unknown), sums.count(0))
    refused = [sum(place % 2 == 0 for place in own) for own in (known, unknown)]
    assert row.needless is None
    assert row.justified == share(refused[1], len(unknown))


def test_answer_to_a_fact_needs_more_than_half() -> None:
    facts = pd.DataFrame({"right": [2, 1, 1, 0, 0], "wrong": [1, 1, 2, 2, 2], "refused": [1, 1, 1, 1, 2]})
    assert list(fact_answers(facts)) == ["right", "refused", "wrong", "wrong", "refused"]


def test_label_table_decides_by_its_first_class(home: Path) -> None:
    asked = stored(home / "probes" / "asked", said(~KNOWN), probe="questions")
    labels: Sequence[tuple[str, str, str | None, str | None]] = [
        ("asked", "surely known", None, None),
        ("asked", "surely known", "unknown", None),
        ("asked", "surely known", "unknown", "encoded, not recalled"),
        ("asked", "leans known", "weakly known", "not encoded"),
        ("asked", "leans unknown", "maybe known", None),
        ("asked", "leans unknown", None, None),
        ("predicted", "leans known", None, None),
    ]
    expected = [True, False, True, False, True, False, None]
    rows = []
    for fact, (basis, belief, slick, profile) in zip(FACTS, labels, strict=False):
        rows.append(LabelledFact(fact, "s", "S", "r0", "R", "o", "O", basis, 0.5, 0.1, 0.9, belief, slick, profile, {}))
    config = {"model": "base", "ways": [], "graph": "{}", "seed": 0, "as_of": 20240101}
    table = write_label_table(home / "labels" / "labels", config, rows)
    row = kgprobe.refusals(asked, table).groups[0]
    refused = {
        answer: [not KNOWN[place] for place in range(7) if expected[place] is answer] for answer in (True, False)
    }
    assert (row.known, row.unknown, row.undecided) == (3, 3, 1)
    assert [str(row.needless), str(row.justified)] == [str(share(sum(own), 3)) for own in refused.values()]
    for name, changed, message in (
        ("model", "tuned", "has labels of tuned"),
        ("as_of", 20200101, "another date"),
        ("graph", '{"uid": "b", "loads": []}', "the graph is another one"),
    ):
        other = write_label_table(home / "labels" / name, {**config, name: changed}, rows)
        with pytest.raises(ArgumentError, match=message):
            kgprobe.refusals(asked, other)


def test_refusals_of_other_results_are_rejected(home: Path) -> None:
    asked = stored(home / "probes" / "asked", said(~KNOWN), probe="questions")
    scored = stored(home / "probes" / "scored", dict.fromkeys(FACTS, True))
    with pytest.raises(ArgumentError, match="reads no refusals"):
        kgprobe.refusals(scored, asked)
    with pytest.raises(ArgumentError, match="twice"):
        kgprobe.refusals(asked, asked)
    with pytest.raises(ArgumentError, match="is of another model"):
        kgprobe.refusals(asked, stored(home / "probes" / "other", said(KNOWN), model="tuned"))
    with pytest.raises(ArgumentError, match="differs from the first: the graph is another one"):
        kgprobe.refusals(asked, stored(home / "probes" / "moved", {"f01": True}, graph='{"uid": "b", "loads": []}'))
    with pytest.raises(KgprobeError, match="No fact was asked in both ways"):
        kgprobe.refusals(asked, stored(home / "probes" / "apart", {"x": True}))
    # Refusals and answers off the format decide nothing.
    unsure = stored(
        home / "probes" / "unsure", {"f00": "refused", "f01": "off-format", "f02": True}, probe="questions", seed=2
    )
    row = kgprobe.refusals(asked, unsure).groups[0]
    assert (row.facts, row.known, row.unknown, row.undecided, row.justified) == (3, 1, 0, 2, None)
    assert (
        "decides about none"
        in kgprobe.refusals(unsure, stored(home / "probes" / "no", {"f00": "refused"}, seed=3)).summary()
    )
    wrong = cli("show", "asked", "--known-by", "scored", "--by", "relation", KGPROBE_HOME=str(home))
    assert (wrong.returncode, "--known-by is for the refusals of one NAME" in wrong.stderr) == (2, True)
