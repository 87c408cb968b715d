"""What studies say of measurements, against the numbers these were made of."""

import csv
import dataclasses
import json
import re
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace
from scipy import stats

from kgprobe.base.errors import KgprobeError
from kgprobe.papers.baselines.human_data import Scored
from kgprobe.papers.baselines.measures import Scores
from kgprobe.papers.studies.agreement import CalibrationStudy, Compared, calibration_study, robustness_study
from kgprobe.papers.studies.distractors import counts_study, sentences_study, sizes_study, strategies_study
from kgprobe.papers.studies.study import DATA, WHOLE
from kgprobe.probes.distractors.curves import mean_curve
from kgprobe.probes.distractors.evidence import DistractorEvidence, Measured, measured
from kgprobe.results.rendering import page as report_page
from kgprobe.results.rendering.plots import COLOURS, Category, CategoryPlot, Line, Plot
from kgprobe.sampling.keys import FactKey
from kgprobe.stats.agreement import agreement, calibrate
from tests.papers.studies.made import MadeStudy, measure, outcomes
from tests.results.rendering.page_numbers import assert_study_agrees

pytestmark = pytest.mark.usefixtures("home")


def test_strategies_are_compared_on_common_facts() -> None:
    easy, hard = measure(seed=1), measure(seed=1, shift=1.0)
    fewer = dataclasses.replace(
        hard,
        facts=hard.facts[10:],
        min_at_n=hard.min_at_n[10:],
        former=hard.former[10:],
        former_at=hard.former_at[10:],
        unaskable={"no name": 10},
    )
    study = strategies_study({"random": easy, "temporal-semantic": fewer}, "demo", {"seed": 3})
    (table,) = [table for table in study.tables() if table.key == "table"]
    assert [row["n"] for row in table.rows] == [1, 2, 5, 8]
    for row in table.rows:
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
    verdict = r"those of ([\w-]+): mean Min@(\d+) ([\d.]+)"
    assert_study_agrees(study, ("N", ""), ("N", ""), verdict=verdict)
    with pytest.raises(KgprobeError, match="No fact could be asked in all"):
        strategies_study({"a": easy, "b": dataclasses.replace(hard, facts=("other",) * 60)}, "demo", {})


def test_strategies_study_counts_former_objects_by_position() -> None:
    # Every second fact has a former object, at the first position; a sentence of the others has fewer distractors.
    made = outcomes(60, 3, 4, seed=1)
    for place, outcome in enumerate(made):
        evidence = outcome.evidence
        if place % 2 == 0 and isinstance(evidence, DistractorEvidence):
            short = [
                replace(sentence, rivals=(0, 1), log_plausibilities=np.zeros(3)) for sentence in evidence.sentences
            ]
            made[place] = replace(outcome, evidence=replace(evidence, sentences=tuple(short)))
    study = strategies_study(
        {"random": measured(made, {"distractors": 4}), "other": measured(made, {"distractors": 4})}, "demo", {}
    )
    assert study.tables()[1].rows == [
        {"n": position, "random": share, "other": share} for position, share in ((1, 0.5), (2, 0.0), (4, 0.0))
    ]
    assert [row.former for row in study.data[:4]] == [0.5, 0, 0, 0]
    assert [plot.title for plot in study.plots] == ["By strategy", "Former objects by position"]
    assert study.plots[1].lines[0].y == [0.5, 0, 0, 0]
    never = dataclasses.replace(measured(made, {"distractors": 4}), former_at=np.zeros((60, 4)))
    assert strategies_study({"random": never}, "demo", {}).former == []


def test_enough_distractors_is_where_the_order_settles() -> None:
    made = measure(facts=80)
    study = counts_study(made, "demo", {})
    for row in study.data:
        n = row.n
        assert row.min_at_n.value == pytest.approx(made.min_at_n[:, n - 1].mean())
        assert row.chance == pytest.approx(made.chance[:, n - 1].mean())
        expected = stats.kendalltau(made.avg_at_n[:, n - 1], made.avg_at_n[:, -1]).statistic
        assert row.tau_avg_at_n == pytest.approx(expected)
    settled = [row.n for row in study.data if row.tau_avg_at_n < 0.9]
    assert f"Avg@n has settled its order of the facts from n = {max(settled) + 1} on" in study.verdict
    assert_study_agrees(study, ("N", ""))


def test_all_sentences_agree_with_themselves_and_fewer_do_less() -> None:
    study = sentences_study(outcomes(60, 4, 8, seed=2), 8, "demo", {})
    assert [row.sentences for row in study.data] == [1, 2, 3, 4]
    # Of the facts with 1 to 4 sentences in equal numbers, a quarter has one and is left out.
    assert [row.facts for row in study.data] == [45, 45, 30, 15]
    last = study.data[-1]
    assert (last.tau_min, last.tau_avg, last.spread_avg) == (pytest.approx(1), pytest.approx(1), pytest.approx(0))
    first = study.data[0]
    assert first.tau_avg < study.data[1].tau_avg < 1
    assert first.spread_avg > study.data[1].spread_avg > 0
    # A mean over random subsets is, on average, the mean over all.
    whole = measure(60, 4, 8, seed=2).avg_at_n[np.arange(60) % 4 > 0, -1].mean()
    assert first.mean_avg == pytest.approx(whole, abs=0.02)
    assert_study_agrees(study, ("Sentences", ""))
    with pytest.raises(KgprobeError, match="two sentences or more"):
        sentences_study(outcomes(5, 1, 8, seed=2), 8, "demo", {})


def by_model(made: dict[str, tuple[int, Measured]]) -> tuple[dict[str, Measured], dict[str, int]]:
    return {model: its for model, (_, its) in made.items()}, {model: size for model, (size, _) in made.items()}


def test_line_through_sizes_is_least_squares_on_logarithms() -> None:
    made = {f"m{size}": (10**size, measure(seed=size, shift=2 - size / 4)) for size in (9, 6, 8, 7)}
    measured, parameters = by_model(made)
    study = sizes_study(measured, parameters, 8, {})
    assert [row.parameters for row in study.data] == [10**6, 10**7, 10**8, 10**9]
    means = [made[f"m{size}"][1].avg_at_n[:, -1].mean() for size in (6, 7, 8, 9)]
    assert [row.avg_at_n.value for row in study.data] == pytest.approx(means)
    slope, intercept = np.polyfit([6, 7, 8, 9], means, 1)
    assert [row.line for row in study.data] == pytest.approx([intercept + slope * size for size in (6, 7, 8, 9)])
    assert f"10^{(0.9 - intercept) / slope:.1f} parameters" in study.notes[1]
    points, line = study.plots[0].lines
    assert (points.points, points.labels, line.points) == (True, ["m6", "m7", "m8", "m9"], False)
    # Whiskers are the ends of the intervals.
    assert (points.low, points.high) == (
        [row.avg_at_n.low for row in study.data],
        [row.avg_at_n.high for row in study.data],
    )
    assert study.verdict.startswith("The largest model, m9, knows more than the smallest one, m6: mean Avg@8 ")
    assert_study_agrees(study, ("Parameters", "Avg@8"))
    falling = {model: 10**15 // number for model, number in parameters.items()}
    assert "does not rise" in sizes_study(measured, falling, 8, {}).notes[1]
    with pytest.raises(KgprobeError, match="all of one size"):
        sizes_study(measured, dict.fromkeys(measured, 10), 8, {})


def test_there_is_no_line_through_two_sizes() -> None:
    made = {f"m{size}": (10**size, measure(seed=1, shift=0.01 * size)) for size in (6, 7)}
    study = sizes_study(*by_model(made), 8, {})
    assert [line.points for line in study.plots[0].lines] == [True]
    assert [row.line for row in study.data] == [None, None]
    assert ["A line is left out" in note for note in study.notes] == [True]
    assert "knows no more than" in study.verdict
    assert "their intervals overlap, so that is not sure" in study.verdict


def test_one_fact_has_no_band() -> None:
    one = measure(facts=1)
    compared = strategies_study({"a": one, "b": one}, "demo", {})
    assert all((row.mean.low, row.mean.high) == (None, None) for row in compared.data)
    assert all(len(line.low) == len(line.high) == 0 for line in compared.plots[0].lines)
    assert "[" not in compared.verdict + " ".join(compared.notes)
    assert compared.verdict.endswith("not surely harder than b.")
    counted = counts_study(one, "demo", {})
    assert {row.avg_at_n.low for row in counted.data} == {None}
    sized = sizes_study({"a": one, "b": one}, {"a": 1, "b": 10}, 8, {})
    assert sized.data[0].avg_at_n.low is None
    assert len(sized.plots[0].lines[0].low) == 0
    assert "a single fact shows little" in sized.verdict


def test_verdict_of_strategies_names_the_hardest() -> None:
    easy, hard = measure(seed=1), measure(seed=1, shift=2.0)
    study = strategies_study({"random": easy, "semantic": hard, "temporal": hard}, "demo", {})
    mean = f"{hard.min_at_n[:, -1].mean():.3f}"
    assert study.verdict.startswith(f"The hardest distractors are those of semantic: mean Min@8 {mean} [")
    assert study.verdict.endswith("; not surely harder than temporal.")
    assert "semantic and temporal are the same for every fact and n: their curves coincide." in study.notes
    sure = strategies_study({"random": easy, "semantic": hard}, "demo", {})
    assert sure.verdict.endswith("; surely harder than all others.")


def test_how_many_distractors_are_like_nothing_is_told() -> None:
    some = dataclasses.replace(measure(), unlike=np.array([3, 2] + 58 * [0]))
    told = "5 of 480 distractors share no feature with the object: they come last, in random order."
    assert f"semantic: {told}" in strategies_study({"random": measure(), "semantic": some}, "demo", {}).notes
    assert told in counts_study(some, "demo", {}).notes


def test_robustness_shows_greatest_n_and_widest_beam() -> None:
    generator = np.random.default_rng(1)
    grid = {
        "distractors:random": [{"aggregation": a, "n": n} for a in ("min", "avg") for n in (5, 20, 10)],
        "rouge-l": [{"beams": beams} for beams in (5, 1, 2)],
        "probability": [{}],
        "same": [{}],
    }

    def scores(name: str) -> Scores:
        values = generator.random((30, len(grid[name])))
        return Scores(grid[name], values * 0 if name == "same" else values)

    study = robustness_study({name: Compared(scores(name), scores(name)) for name in grid}, 30, [], "demo", {})
    shown = {(row.measure, row.options) for row in study.table}
    assert shown == {
        ("distractors:random", "aggregation = min, n = 20"),
        ("distractors:random", "aggregation = avg, n = 20"),
        ("rouge-l", "beams = 5"),
        ("probability", ""),
        ("same", ""),
    }
    assert len(study.data) == 11
    assert "the greatest n and the widest beam" in study.notes[0]
    (plot,) = study.plots
    assert isinstance(plot, CategoryPlot)
    shown = [(None, None, None) if row.tau is None else dataclasses.astuple(row.tau) for row in study.table]
    assert [(one.value, one.low, one.high) for one in plot.categories] == shown
    assert plot.categories[-1] == Category("same", None, None, None)
    assert study.verdict.startswith("Flaws of sentences matter least to ")


def calibrated(values: dict[str, list[float]], scores: list[float], **about: int) -> CalibrationStudy:
    made = {name: Scores([{}], np.array(its)[:, None]) for name, its in values.items()}
    scored = Scored([FactKey("s", f"f{n}") for n in range(len(scores))], np.array(scores), (), **about)
    return calibration_study(made, scored, "demo", {})


def test_measures_are_ranked_on_the_facts_that_all_of_them_have() -> None:
    generator = np.random.default_rng(3)
    scores = generator.random(60).tolist()
    noisy = [score + 0.3 * generator.normal() for score in scores]
    # It has no value where it would be wrong, and agrees with people on the rest: on its own facts it would be best.
    chosen = [score if place % 3 else np.nan for place, score in enumerate(scores)]
    noisy = [value if place % 3 == 0 else score for place, (value, score) in enumerate(zip(noisy, scores, strict=True))]
    study = calibrated({"noisy": noisy, "chosen": chosen, "hardly": [1.0] + 59 * [np.nan]}, scores)
    rows = {row.measure: row for row in study.table}
    assert {name: (row.facts, row.own_facts) for name, row in rows.items()} == {
        "noisy": (40, 60),
        "chosen": (40, 40),
    }
    assert rows["noisy"].tau == rows["chosen"].tau == 1 > rows["noisy"].own_tau
    assert study.notes[1].startswith("All are ranked on the 40 of 60 facts for which each has a value")
    assert study.notes[1].endswith("Without chosen there would be 60.")
    assert "hardly is left out" in study.notes[2]
    assert "means over 3 folds of 40 facts. On its own facts, chosen agrees best (τ 1.000 on 40 facts)" in study.verdict
    assert [rows[name].own_rank for name in ("chosen", "noisy")] == [1, 2]
    (plot,) = study.plots
    assert isinstance(plot, CategoryPlot)
    assert [one.name for one in plot.categories] == [row.measure for row in study.table]


def test_measure_of_too_few_common_facts_is_not_ranked() -> None:
    scores = np.random.default_rng(4).random(60)
    first, second = scores.copy(), scores.copy()
    first[:30], second[25:] = np.nan, np.nan
    study = calibrated({"first": first.tolist(), "second": second.tolist()}, scores.tolist(), repeated=2)
    ranked = [(row.measure, row.rank, row.own_rank, row.own_facts) for row in study.table]
    # Both agree perfectly on their own facts.
    assert ranked == [("first", 1, 1, 30), ("second", None, 2, 25)]
    assert study.table[1].own_tau == pytest.approx(1)
    assert "second is not ranked: with it, 0 facts would be left for all." in study.notes
    assert any(note.startswith("2 scores are repetitions for a fact") for note in study.notes)


def test_calibration_curves_equal_naive_definition() -> None:
    generator = np.random.default_rng(5)
    facts, sentences = 45, 4
    scores = generator.random(facts)
    grid = [{"aggregation": aggregation, "n": n} for aggregation in ("min", "avg") for n in (1, 5, 10)]
    by_sentence = scores[None, :, None] + generator.normal(size=(sentences, facts, len(grid))) * [3, 2, 1, 3, 1, 0.5]
    prefixes = np.cumsum(by_sentence, axis=0) / np.arange(1, sentences + 1)[:, None, None]
    made = {"distractors:random": Scores(grid, prefixes[-1], {}, prefixes)}
    made["probability"] = Scores([{}], prefixes[-1][:, :1], {}, prefixes[..., :1])
    scored = Scored([FactKey("s", f"f{n}") for n in range(facts)], scores, ())
    study = calibration_study(made, scored, "demo", {}, seed=9)
    tables = {table.key: table.rows for table in study.tables() if not table.title.startswith("Gain")}
    gains = study.tables()[-1].rows
    order = np.random.default_rng(9).permutation(facts).tolist()
    folds = [[fact for fact in range(facts) if order.index(fact) % 3 == fold] for fold in range(3)]
    best = [fold.best for fold in calibrate(prefixes[-1], scores, seed=9).folds]
    stored = [row for row in tables["configurations"] if row["measure"] == "distractors:random"]
    assert [{"aggregation": row["aggregation"], "n": row["n"]} for row in stored] == [grid[place] for place in best]
    for row in tables["distractors"]:
        taus = []
        for place, own in zip(best, folds, strict=True):
            column = grid.index({"aggregation": grid[place]["aggregation"], "n": row["n"]})
            taus.append(agreement(prefixes[-1][own, column], scores[own]))
        assert row == {"n": row["n"], "distractors:random": pytest.approx(np.mean(taus))}
    assert [row["n"] for row in tables["distractors"]] == [1, 5, 10]
    for m, row in enumerate(tables["sentences"], start=1):
        for name, columns in (("distractors:random", best), ("probability", [0, 0, 0])):
            values = prefixes[m - 1]
            taus = [agreement(values[own, place], scores[own]) for place, own in zip(columns, folds, strict=True)]
            assert row[name] == pytest.approx(np.mean(taus))
            gain = (row[name] + 1) / (tables["sentences"][0][name] + 1)
            assert gains[m - 1][name] == pytest.approx(gain)
    assert tables["sentences"][-1]["probability"] == pytest.approx(
        next(row.tau for row in study.table if row.measure == "probability")
    )
    titles = ["Agreement with people", "By the number of distractors", "By the number of cloze sentences"]
    assert [plot.title for plot in study.plots] == [*titles, "Gain by cloze sentences"]
    columns = [("Measure", "Mean τ"), ("N", ""), ("M", ""), ("M", "")]
    assert_study_agrees(study, *columns, verdict=r"(?:^|followed by )(\S+) \(τ ([\d.-]+)")


def test_robustness_with_best_configurations_is_their_mean() -> None:
    generator = np.random.default_rng(2)
    grid = [{"beams": beams} for beams in (1, 2, 5)]
    flawed, corrected, flawless = (Scores(grid, generator.random((20, 3))) for _ in range(3))
    measures = {"rouge-l": Compared(flawed, corrected, flawless)}
    study = robustness_study(measures, 20, [], "demo", {}, best={"rouge-l": [{"beams": beams} for beams in (1, 5, 5)]})
    (row,) = study.table
    taus = [stats.kendalltau(flawed.values[:, n], corrected.values[:, n]).statistic for n in (0, 2, 2)]
    assert (row.measure, row.options) == ("rouge-l", "beams = 1; beams = 5")
    assert row.tau is not None
    assert row.tau.value == pytest.approx(np.mean(taus))
    assert row.tau.low < row.tau.value < row.tau.high
    everything = [
        stats.kendalltau(
            np.append(flawed.values[:, n], flawless.values[:, n]),
            np.append(corrected.values[:, n], flawless.values[:, n]),
        ).statistic
        for n in (0, 2, 2)
    ]
    assert (row.tau_of_all, row.sentences) == (pytest.approx(np.mean(everything)), 40)
    assert_study_agrees(study, ("Measure, Options", "Τ"), verdict=r": ([^:]*), τ ([\d.-]+)")
    assert len(study.data) == 3


def test_study_is_a_table_a_plot_and_the_data(tmp_path: Path) -> None:
    study = strategies_study({"random": measure(), "<b>": measure(shift=1)}, "a <model>", {"seed": 1})
    study.write_files(tmp_path / "study")
    with (tmp_path / "study" / DATA).open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [(row["strategy"], int(row["n"]), float(row["mean"])) for row in rows] == [
        (row.strategy, row.n, row.mean.value) for row in study.data
    ]
    whole = json.loads((tmp_path / "study" / WHOLE).read_text())
    assert (whole["config"], len(whole["data"])) == ({"seed": 1}, 16)
    page = study.page(tmp_path / "study").read_text()
    assert whole["verdict"] == study.verdict
    # The script that draws stands once beside all pages; nothing else is from elsewhere.
    (script,) = tmp_path.glob("plotly-*.min.js")
    assert f'<script src="../{script.name}"' in page
    assert len(page) < 100_000
    assert "* plotly.js v" in script.read_text()[:200]
    before = script.stat().st_mtime_ns
    study.page(tmp_path / "other")
    assert [path.stat().st_mtime_ns for path in tmp_path.glob("plotly*")] == [before]
    assert page.index("The hardest distractors are those of") < page.index("<h2>")
    assert f"<h2>{study.plots[0].title}</h2>" in page
    assert "a &lt;model&gt;" in page
    for shown in (study.notes[0], f"{study.table[0].mean.value:.3f}", "&#34;seed&#34;: 1"):
        assert shown in page.split("Plotly.newPlot")[-1]
    assert "<b>" not in page.split("Plotly.newPlot")[-1]
    assert not re.search(r"""(?:src|href)=["']?(?:https?:)?//""", page)
    curve = mean_curve(measure().min_at_n)
    assert f"{curve.mean[0]:.3f}" in page


def luminance(colour: str) -> float:
    """Relative, of #rrggbb, in [0, 1]; WCAG 2."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_figures_stand_out_from_light_pages_and_from_dark_ones() -> None:
    template = (Path(report_page.__file__).parent / "pages" / "page.css").read_text()
    papers = re.findall(r"--paper: (#[0-9a-f]+)", template)
    assert "prefers-color-scheme: dark" in template
    assert len(papers) == 2
    for paper in papers:
        ground = luminance(paper if len(paper) == 7 else "#" + "".join(2 * digit for digit in paper[1:]))
        for colour in COLOURS:
            bright, dark = sorted((luminance(colour), ground), reverse=True)
            assert (bright + 0.05) / (dark + 0.05) >= 3, (colour, paper)


def test_plot_separates_equal_curves_and_draws_whiskers(tmp_path: Path) -> None:
    same = [Line(name, [1, 2], [0.5, 0.6], [0.4, 0.5], [0.6, 0.7]) for name in "abc"]
    points = Line("models", [1, 2], [0.5, 0.6], [0.4, 0.5], [0.6, 0.8], points=True, labels=["x", "y"])
    categories = CategoryPlot("C", "value", [Category("one", 0.5, 0.2, 0.6), Category("two", None)], (-1, 1))
    plots = [Plot("A", "n", "mean", same), Plot("B", "n", "mean", [points]), categories]
    page = MadeStudy(title="T", verdict="V", data=[], plots=plots).page(tmp_path / "made").read_text()
    drawn = [json.loads(its) for its in re.findall(r"Plotly.newPlot\(\s*\"plot-\d\",\s*(\[.*?\]),\s*\{", page, re.S)]
    curves = [trace for trace in drawn[0] if "fill" not in trace]
    for what in ("dash", "width"):
        assert len({trace["line"][what] for trace in curves}) == 3
    assert len({trace["marker"]["symbol"] for trace in curves}) == 3
    assert drawn[1][0]["mode"] == "markers+text"
    assert drawn[1][0]["error_y"]["array"] == pytest.approx([0.1, 0.2])
    assert (drawn[2][0]["y"], drawn[2][0]["error_x"]["arrayminus"]) == (["one"], pytest.approx([0.3]))
    assert '"categoryarray":["two","one"]' in page
