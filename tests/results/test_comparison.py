"""Models on the same facts: against the definitions, and as a person sees them on a terminal and on a page."""

import io
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console
from scipy import stats

from kgprobe.base.errors import KgprobeError
from kgprobe.base.intervals import Mean
from kgprobe.base.tables import Table
from kgprobe.results.comparison import Comparison, compare_models
from kgprobe.results.rendering.plots import HeatMap, write_plots_page
from kgprobe.results.rendering.tables import rich_table
from kgprobe.results.shared_facts import find_shared_facts
from kgprobe.stats.proportions import mean_share
from tests.results.answered import answered

Answers = dict[str, dict[str, bool]]


@st.composite
def answers(draw: st.DrawFn) -> tuple[Answers, dict[str, str]]:
    """Two to four models on up to twelve facts of up to four relations."""
    facts = [f"f{n:02}" for n in range(draw(st.integers(1, 12)))]
    relations = {fact: f"r{draw(st.integers(0, 3))}" for fact in facts}
    models = "abcd"[: draw(st.integers(2, 4))]
    return {model: {fact: draw(st.booleans()) for fact in facts} for model in models}, relations


def compared(given_answers: Answers, relations: dict[str, str]) -> Comparison:
    several = [answered(model, row, relations=relations) for model, row in given_answers.items()]
    return compare_models(find_shared_facts(several), {"r0": "relation zero"})


@given(answers())
@settings(max_examples=12)
def test_everything_is_its_definition(case: tuple[Answers, dict[str, str]]) -> None:
    given_answers, relations = case
    found = compared(given_answers, relations)
    facts = {relation: [fact for fact, row in relations.items() if row == relation] for relation in relations.values()}

    def accuracy(model: str, relation: str) -> float:
        return sum(given_answers[model][fact] for fact in facts[relation]) / len(facts[relation])

    ids = [row.relation for row in found.relations]
    means = [np.mean([accuracy(model, relation) for model in given_answers]) for relation in ids]
    assert sorted(means, reverse=True) == pytest.approx(means)
    assert set(ids) == set(facts)
    assert [row.facts for row in found.relations] == [len(facts[relation]) for relation in ids]
    assert [row.name for row in found.relations] == [
        {"r0": "relation zero"}.get(relation, relation) for relation in ids
    ]
    by_model = {model: [accuracy(model, relation) for relation in ids] for model in given_answers}
    assert [list(row.accuracy) for row in found.relations] == np.array(list(by_model.values())).T.tolist()
    for i, one in enumerate(given_answers):
        known = {fact for fact, right in given_answers[one].items() if right}
        for j, other in enumerate(given_answers):
            too = {fact for fact in known if given_answers[other][fact]}
            rate, r = found.subsumption[i, j], found.correlation[i, j]
            assert (math.isnan(rate) and not known) or rate == len(too) / len(known)
            if len(ids) < 3 or len(set(by_model[one])) == 1 or len(set(by_model[other])) == 1:
                assert math.isnan(r)
            else:
                assert r == pytest.approx(stats.pearsonr(by_model[one], by_model[other])[0])
    for pair in found.pairs:
        first, second = given_answers[pair.first], given_answers[pair.second]
        assert pair.lost == sum(first[fact] and not second[fact] for fact in relations)
        assert pair.gained == sum(second[fact] and not first[fact] for fact in relations)
        assert pair.difference.value == pytest.approx((pair.gained - pair.lost) / len(relations))
        tests = [
            stats.binomtest(row.lost, row.lost + row.gained).pvalue if row.lost + row.gained else 1.0
            for row in pair.relations
        ]
        assert [row.p for row in pair.relations] == pytest.approx(tests)
        assert [row.adjusted_p for row in pair.relations] == pytest.approx(stats.false_discovery_control(tests))
        assert pair.ties == [row.name for row in pair.relations if row.adjusted_p > 0.05]
        assert [row.relation for row in pair.relations] == ids
        assert sum(row.lost for row in pair.relations) == pair.lost


def test_clear_difference_is_named_and_ties_are_too() -> None:
    relations = {f"a{n:02}": "clear" for n in range(20)} | {f"b{n:02}": "even" for n in range(20)}
    worse = {fact: relation == "even" and fact < "b10" for fact, relation in relations.items()}
    better = {fact: relation == "clear" or fact >= "b10" for fact, relation in relations.items()}
    (pair,) = compared({"worse": worse, "better": better}, relations).pairs
    assert (pair.better, pair.ties, pair.lost, pair.gained) == ("better", ["even"], 10, 30)
    assert pair.difference.low is not None
    assert pair.difference.low > 0
    assert [row.better for row in pair.relations] == ["better", None]
    (other,) = compared({"better": better, "worse": worse}, relations).pairs
    assert (other.better, other.difference.value) == ("better", -pair.difference.value)
    (same,) = compared({"one": worse, "two": worse}, relations).pairs
    assert (same.better, same.p, same.difference.value) == (None, 1.0, 0.0)
    # Two equal models: what would be found is told by the number of facts.
    assert same.detectable == pytest.approx(0.19, abs=0.02)


def test_model_of_one_accuracy_correlates_with_nothing() -> None:
    relations = {"x": "r0", "y": "r1", "z": "r2"}
    every = dict.fromkeys(relations, True)
    some = {"x": True, "y": False, "z": True}
    found = compared({"all": every, "some": some, "more": some}, relations)
    correlation = next(table for table in found.tables() if table.key == "correlations")
    assert correlation.notes == ["all has the same accuracy in all relations, so its correlations are undefined."]
    assert np.isnan(found.correlation).tolist() == [[True] * 3, [True, False, False], [True, False, False]]
    assert found.correlation[1, 2] == pytest.approx(1)


def test_two_relations_have_no_correlation() -> None:
    relations = {"x": "r0", "y": "r1"}
    two = compared({"one": {"x": True, "y": False}, "other": {"x": True, "y": False}}, relations)
    assert np.isnan(two.correlation).all()
    assert "correlations" not in [table.key for table in two.tables()]
    assert two.to_dict()["correlation"] == [[None, None], [None, None]]


def test_people_read_names_of_measures_and_no_tiny_numbers() -> None:
    right = {f"f{n:03}": True for n in range(100)}
    shared = find_shared_facts([answered("one", dict.fromkeys(right, False)), answered("two", right)])
    models = [replace(model, means={"min_at_n": mean_share([1.0] * 100)}) for model in shared.models]
    found = compare_models(replace(shared, models=models, leads="min_at_n"), {})
    assert found.summary().startswith("Min@n: two 100% [96, 100], one 100% [96, 100].")
    assert "p ≈ 0" in found.summary()
    assert "Min@n" in found.tables()[0].columns
    assert "at_n" not in repr(found)


def test_means_have_paired_intervals_by_seed() -> None:
    facts = {f"f{n:03}": n % 3 == 0 for n in range(400)}
    generator = np.random.default_rng(0)
    hard = 5 * generator.random(400)
    scores = np.array([hard, hard + 0.1 + 0.4 * generator.standard_normal(400)])
    shared = find_shared_facts([answered("one", facts), answered("two", facts)])
    shared = replace(shared, values={**shared.values, "score": scores})
    means = [compare_models(shared, {}, seed).pairs[0].means["score"] for seed in (0, 0, 1)]
    assert means[0] == means[1] != means[2]
    assert isinstance(means[0], Mean)
    assert means[0].value == pytest.approx(float((scores[1] - scores[0]).mean()))
    # Paired: what both find hard is no noise.
    assert means[0].low is not None
    assert means[0].value - means[0].low == pytest.approx(1.96 * 0.4 / 20, rel=0.2)


def test_nothing_shared_is_said() -> None:
    with pytest.raises(KgprobeError, match="No fact was asked of all of them"):
        compared({"one": {"x": True}, "two": {"y": True}}, {})


def test_runs_stand_side_by_side_the_best_first() -> None:
    def printed(*several: Any) -> list[str]:
        out = io.StringIO()
        console = Console(file=out, width=100, force_terminal=False)
        console.print(rich_table(find_shared_facts(several).table()))
        return out.getvalue().splitlines()

    facts = {f"fact {number}": number > 4 for number in range(15)}
    worse = answered("hf:org/model", facts, sampling="thompson")
    better = answered("hf:/models/better", {**dict.fromkeys(facts, True), "another": True}, sampling="thompson")
    told = printed(worse, better)
    lines = [line for line in told if "%" in line]
    assert [line.split()[:3] for line in lines] == [["better", "16", "15"], ["org/model", "15", "15"]]
    assert "100% [80, 100]" in lines[0]
    assert "67% [42, 85]" in lines[1]
    caveat = "Rates are over the 15 facts that all of them were asked; these were asked because a model"
    assert caveat in " ".join(" ".join(told).split())

    apart = printed(worse, answered("apart", {"another": True}))
    assert not [line for line in apart if "%" in line]
    assert "No fact was asked of all of them" in " ".join(apart)


def test_page_of_heat_maps_shows_names_as_text(tmp_path: Path) -> None:
    evil = "<script>alert('x')</script>"
    plot = HeatMap(evil, [evil, "b"], ["model", evil], [[0.5, None], [1.0, -1.0]], "r", (-1.0, 1.0))
    tables = [Table("one", "First", [{evil: 1.0, "text": evil}], [evil]), Table("two", "", [])]
    page = write_plots_page(tmp_path / "own" / "page.html", evil, evil, [plot], tables, [evil], {"seed": 0})
    text = page.read_text(encoding="utf-8")
    assert "<script>alert" not in text
    assert text.count("&lt;script&gt;alert") >= 6
    assert '"type":"heatmap"' in text
    assert "First" in text
    assert [path.suffix for path in tmp_path.iterdir() if path.is_file()] == [".js"]
