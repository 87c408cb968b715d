"""What studies say of measurements, against the numbers these were made of."""

import csv
import dataclasses
import json
import re
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from kgprobe.errors import KgprobeError
from kgprobe.probes.distractors.curves import mean_curve
from kgprobe.report.study_files import DATA, WHOLE, write_study
from kgprobe.report.study_page import write_study_page
from kgprobe.studies.counts import counts_study
from kgprobe.studies.sentences import sentences_study
from kgprobe.studies.sizes import measured_models, sizes_study
from kgprobe.studies.strategies import strategies_study
from tests.studies.made import measure, outcomes


def test_strategies_are_compared_on_the_facts_that_all_of_them_asked() -> None:
    easy, hard = measure(seed=1), measure(seed=1, shift=1.0)
    fewer = dataclasses.replace(
        hard, facts=hard.facts[10:], min_at_n=hard.min_at_n[10:], former=hard.former[10:], unaskable={"no name": 10}
    )
    study = strategies_study({"random": easy, "temporal-semantic": fewer}, "demo", {"seed": 3})
    assert [row["n"] for row in study.table] == [1, 2, 5, 8]
    for row in study.table:
        assert row["random"] == pytest.approx(easy.min_at_n[10:, row["n"] - 1].mean())
        assert row["temporal-semantic"] == pytest.approx(hard.min_at_n[10:, row["n"] - 1].mean())
    assert len(study.data) == 2 * 8
    notes = "\n".join(study.notes)
    assert "50 facts were asked with every strategy" in notes
    difference = (hard.min_at_n - easy.min_at_n)[10:, 0].mean()
    assert f"temporal-semantic less random, fact by fact: {difference:+.3f}" in notes
    assert "temporal-semantic: 25 of these facts have a former object" in notes
    assert "Not asked with temporal-semantic: 10: no name" in notes
    both = {
        "a": dataclasses.replace(easy, unaskable={"no type": 3}),
        "b": dataclasses.replace(hard, unaskable={"no type": 3}),
    }
    assert [note for note in strategies_study(both, "demo", {}).notes if "no type" in note] == [
        "Not asked: 3: no type."
    ]
    assert "87.5% of the distractors are proved" in notes
    with pytest.raises(KgprobeError, match="No fact could be asked in all"):
        strategies_study({"a": easy, "b": dataclasses.replace(hard, facts=("other",) * 60)}, "demo", {})


def test_the_number_of_distractors_is_enough_where_the_order_of_the_facts_settles() -> None:
    made = measure(facts=80)
    study = counts_study(made, "demo", {})
    for row in study.data:
        n = row["n"]
        assert row["Min@n"] == pytest.approx(made.min_at_n[:, n - 1].mean())
        assert row["chance"] == pytest.approx(made.chance[:, n - 1].mean())
        expected = stats.kendalltau(made.avg_at_n[:, n - 1], made.avg_at_n[:, -1]).statistic
        assert row["τ Avg@n"] == pytest.approx(expected)
    settled = [row["n"] for row in study.data if row["τ Avg@n"] < 0.9]
    assert f"Avg@n: from n = {max(settled) + 1} on" in "\n".join(study.notes)


def test_all_sentences_agree_with_themselves_and_fewer_do_less() -> None:
    study = sentences_study(outcomes(60, 4, 8, seed=2), 8, "demo", {})
    assert [row["sentences"] for row in study.data] == [1, 2, 3, 4]
    # Of the facts with 1 to 4 sentences in equal numbers, a quarter has one and is left out.
    assert [row["facts"] for row in study.data] == [45, 45, 30, 15]
    last = study.data[-1]
    assert (last["τ Min"], last["τ Avg"], last["spread Avg"]) == (pytest.approx(1), pytest.approx(1), pytest.approx(0))
    first = study.data[0]
    assert first["τ Avg"] < study.data[1]["τ Avg"] < 1
    assert first["spread Avg"] > study.data[1]["spread Avg"] > 0
    # A mean over random subsets is, on average, the mean over all.
    whole = measure(60, 4, 8, seed=2).avg_at_n[np.arange(60) % 4 > 0, -1].mean()
    assert first["mean Avg"] == pytest.approx(whole, abs=0.02)
    with pytest.raises(KgprobeError, match="two sentences or more"):
        sentences_study(outcomes(5, 1, 8, seed=2), 8, "demo", {})


def test_the_line_through_sizes_is_least_squares_on_the_logarithm() -> None:
    made = {f"m{size}": (10**size, measure(seed=size, shift=2 - size / 4)) for size in (9, 6, 8, 7)}
    sized, facts = measured_models(made)
    study = sizes_study(sized, facts, 8, {})
    assert [row["parameters"] for row in study.data] == [10**6, 10**7, 10**8, 10**9]
    means = [made[f"m{size}"][1].avg_at_n[:, -1].mean() for size in (6, 7, 8, 9)]
    assert [row["Avg@8"] for row in study.data] == pytest.approx(means)
    slope, intercept = np.polyfit([6, 7, 8, 9], means, 1)
    assert [row["line"] for row in study.data] == pytest.approx([intercept + slope * size for size in (6, 7, 8, 9)])
    assert f"10^{(0.9 - intercept) / slope:.1f} parameters" in study.notes[1]
    falling = [dataclasses.replace(each, parameters=10**15 // each.parameters) for each in sized]
    assert "does not rise" in sizes_study(falling, facts, 8, {}).notes[1]
    with pytest.raises(KgprobeError, match="all of one size"):
        sizes_study(sized[:1], facts, 8, {})


def test_a_study_is_a_table_a_plot_and_the_data(tmp_path: Path) -> None:
    study = strategies_study({"random": measure(), "<b>": measure(shift=1)}, "a <model>", {"seed": 1})
    write_study(study, tmp_path / "study")
    with (tmp_path / "study" / DATA).open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [(row["strategy"], int(row["n"]), float(row["mean"])) for row in rows] == [
        (row["strategy"], row["n"], row["mean"]) for row in study.data
    ]
    whole = json.loads((tmp_path / "study" / WHOLE).read_text())
    assert (whole["config"], len(whole["data"])) == ({"seed": 1}, 16)
    page = write_study_page(study, tmp_path / "study").read_text()
    # The page needs nothing from elsewhere to draw.
    assert page.count("* plotly.js v") == 1
    assert f"<h2>{study.plots[0].title}</h2>" in page
    assert "a &lt;model&gt;" in page
    for shown in (study.notes[0], f"{study.table[0]['random']:.3f}", "&#34;seed&#34;: 1"):
        assert shown in page.split("Plotly.newPlot")[-1]
    assert "<b>" not in page.split("Plotly.newPlot")[-1]
    assert not re.search(r"""(?:src|href)=["']?(?:https?:)?//""", page.split("Plotly.newPlot")[-1])
    curve = mean_curve(measure().min_at_n)
    assert f"{curve.mean[0]:.3f}" in page
