"""What the study of sampling strategies says of replays, against the replays."""

import csv
import dataclasses
import functools
import json
import re
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from benchmarks.replay.metrics import ReplayMetrics, replay_all
from benchmarks.replay.study import Band, Replays, ReplayStudy, replay_study
from benchmarks.replay.synthetic import Synthetic, likeness, synthetic
from kgprobe.papers.studies.study import DATA, WHOLE
from kgprobe.running.replays import LEARNED_STRATEGIES, SAMPLING_STRATEGIES

NAMES = [strategy.name for strategy in SAMPLING_STRATEGIES]
REFERENCES = [synthetic(Synthetic(300, 0.7), [seed]) for seed in range(3)]


def standing(requests: int, **values: float) -> ReplayMetrics:
    names = [field.name for field in dataclasses.fields(ReplayMetrics) if field.name != "requests"]
    return ReplayMetrics(requests, **{name: values.get(name, 0.5) for name in names})


def study_of(replays: dict[str, list[list[ReplayMetrics]]], shown: list[int]) -> ReplayStudy:
    return replay_study(Replays.of(replays, shown), REFERENCES, "made-up facts", {"seed": 1}, hardest=20)


@functools.cache
def real_replays() -> dict[str, list[list[ReplayMetrics]]]:
    return replay_all(REFERENCES, 1, checkpoints=[1, 2, 5, 10, 19], batch=16, hardest=20)


def note(study: ReplayStudy, beginning: str) -> str:
    return next(each for each in study.notes if each.startswith(beginning))


def test_where_the_learner_errs_less_is_told() -> None:
    values = dict.fromkeys(NAMES, (0.2, 0.3, 0.6)) | {
        "sequential": (0.1, 0.4, 0.7),
        "information + hierarchical": (0.05, 0.5, 0.9),
        "thompson + hierarchical": (0.15, 0.3, 0.88),
    }
    replays = {
        name: [
            [standing(100 * place, mse_all=error, hardest_found=found, coverage=covered) for place in (1, 2)]
            for _ in range(2)
        ]
        for name, (error, found, covered) in values.items()
    }
    told = note(study_of(replays, [0, 1]), "The learner")
    both = "has a lower error over all facts than the best of the paper's five"
    finds = "finds as many of the hardest as the best of them"
    assert (
        f"information + hierarchical {both} throughout and {finds} throughout; at the end its 90% intervals hold θ of"
        " 90%" in told
    )
    end = "at the end its 90% intervals hold θ of 88%"
    assert f"thompson + hierarchical {both} nowhere and {finds} nowhere; {end}" in told
    assert "70% by sequential" in told


def test_bands_are_t_intervals_over_repeats_with_values() -> None:
    values = np.array([[1.0, 2.0, np.nan, 4.0], [2.0, np.nan, np.nan, 4.0], [4.0, 5.0, np.nan, np.nan]])
    band = Band.of(values)
    for column in (0, 1):
        known = values[:, column][~np.isnan(values[:, column])]
        low, high = stats.t.interval(0.95, len(known) - 1, known.mean(), stats.sem(known))
        assert (band.mean[column], band.low[column], band.high[column]) == pytest.approx((known.mean(), low, high))
    assert np.isnan([band.mean[2], band.low[2], band.high[2]]).all()
    assert (band.mean[3], band.low[3], band.high[3]) == (4, 4, 4)
    alone = Band.of(values[2:])
    assert (alone.mean[0], np.isnan(alone.low[0])) == (4, True)


def test_papers_order_is_told_where_it_is_there() -> None:
    # Thompson is below uniform at the first three checkpoints, uniform below sequential at all but the first.
    errors = {
        "thompson + propagation": [0.1, 0.1, 0.1, 0.3, 0.3],
        "thompson": [0.3] * 5,
        "uniform + propagation": [0.2] * 5,
        "uniform": [0.2] * 5,
        "sequential": [0.1, 0.3, 0.3, 0.3, 0.3],
        **{strategy.name: [0.4] * 5 for strategy in LEARNED_STRATEGIES},
    }
    replays = {
        name: [
            [standing(100 * (place + 1), mse=error + noise) for place, error in enumerate(its)]
            for noise in (0.0, 0.05, -0.05)
        ]
        for name, its in errors.items()
    }
    study = study_of(replays, [0, 4])
    told = note(study, "Whole graph, over all facts asked so far, with propagation")
    assert "sequential is significant at 200–300 requests" in told
    assert "Thompson + propagation is surely below uniform + propagation at 100–300 requests" in told
    assert "surely above it at 400–500 requests" in told
    assert "is -0.1000 [-0.1000, -0.1000] at 100, +0.1000 [+0.1000, +0.1000] at 500." in told
    assert "Uniform + propagation is surely below sequential at 200–500 requests, surely above it at 100" in told
    assert "sequential is significant nowhere" in note(
        study, "Whole graph, over all facts asked so far, without propagation"
    )


@pytest.mark.slow
def test_differences_are_paired_by_repetition() -> None:
    replays = real_replays()
    study = study_of(replays, [1, 4])
    told = note(study, "Whole graph, over all facts asked so far, without propagation")
    for place, requests in ((1, 32), (4, 304)):
        first, second = ([run[place].mse for run in replays[name]] for name in ("thompson", "uniform"))
        test = stats.ttest_rel(first, second)
        low, high = test.confidence_interval(0.95)
        mean = np.mean(first) - np.mean(second)
        assert f"{mean:+.4f} [{low:+.4f}, {high:+.4f}] at {requests}" in told


@pytest.mark.parametrize(("shares", "reached"), [((0.2, 0.6, 1.0), True), ((0.0, 0.0, 0.4), False)])
def test_when_half_of_the_hardest_are_examined_is_told(shares: tuple[float, ...], reached: bool) -> None:
    slower = (0.0, 0.4, 0.6)
    replays = {
        name: [
            [
                standing(requests, hardest_examined=its)
                for requests, its in zip((100, 200, 300), shares if name == NAMES[0] else slower, strict=True)
            ]
            for _ in range(2)
        ]
        for name in NAMES
    }
    # Between 200 and 300 requests, 0.4 becomes 0.6: half is at 250; between 100 and 200, 0.2 becomes 0.6: at 175.
    study = study_of(replays, [0, 2])
    halves = note(study, "Half of the 20 hardest facts")
    assert "250 requests by sequential" in halves
    compared = note(study, "The hardest facts, thompson + propagation against thompson")
    if not reached:
        assert "no number of requests by thompson + propagation (never in 2 repetitions)" in halves
        assert "in too few repetitions to compare" in compared
    else:
        assert "175 requests by thompson + propagation" in halves
        assert "half of them are examined earlier, -75 [-75, -75] requests" in compared


@pytest.mark.slow
def test_study_is_two_tables_of_equal_numbers_and_plots(tmp_path: Path) -> None:
    replays = real_replays()
    study = study_of(replays, [1, 4])
    assert [(row["requests"], row["strategy"]) for row in study.table] == [
        (n, name) for n in (32, 304) for name in NAMES
    ]
    assert len(study.data) == 5 * len(NAMES)
    for row in study.table:
        runs = [run[1 if row["requests"] == 32 else 4] for run in replays[row["strategy"]]]
        assert row["MSE"] == pytest.approx(np.mean([run.mse for run in runs]))
        assert row["MSE, own answers"] == pytest.approx(np.mean([run.mse_own for run in runs]))
        assert row["hardest found"] == pytest.approx(np.mean([run.hardest_found for run in runs]))
        data = next(
            each for each in study.data if (each["requests"], each["strategy"]) == (row["requests"], row["strategy"])
        )
        assert data["mse_low"] < data["mse"] == row["MSE"] < data["mse_high"]
    assert [plot.title for plot in study.plots[:6:5]] == [
        "The whole graph: all facts asked so far",
        "The 20 hardest facts",
    ]
    for plot in study.plots:
        assert [line.name for line in plot.lines] == NAMES
        assert all(len(line.low) == len(line.high) == len(line.x) > 0 for line in plot.lines)
    line = study.plots[0].lines[1]
    assert line.y == pytest.approx([np.mean([run[place].mse for run in replays["thompson"]]) for place in range(5)])

    study.write_files(tmp_path)
    whole = json.loads((tmp_path / WHOLE).read_text(), parse_constant=lambda name: pytest.fail(name))
    assert len(whole["data"]) == 5 * len(NAMES)
    with (tmp_path / DATA).open() as file:
        assert {row["strategy"] for row in csv.DictReader(file)} == set(NAMES)
    page = study.page(tmp_path / "study").read_text()
    assert re.findall("<h2>(.*?)</h2>", page) == [*(plot.title for plot in study.plots), "Notes"]
    # Each plot has a place of its own; the script that all of them need is asked for once.
    assert [page.count(f'id="plot-{place}"') for place in range(8)] == [1] * 7 + [0]
    assert page.count('<script src="../plotly-') == 1


def test_both_readings_of_examined_are_told() -> None:
    # Over all facts so far uniform is best; over those asked lately Thompson is.
    lately = {"thompson": 0.1, "uniform": 0.2, "sequential": 0.3}
    replays = {
        name: [
            [standing(600, mse=0.5 - lately.get(name, 0.05), mse_lately=lately.get(name, 0.4) + noise)]
            for noise in (0.0, 0.01)
        ]
        for name in NAMES
    }
    study = study_of(replays, [0])
    far, near = (
        note(study, f"Whole graph, {reading}, without propagation")
        for reading in ("over all facts asked so far", "over those asked in the last 10 rounds")
    )
    assert "Thompson below uniform below sequential is significant nowhere" in far
    assert "Thompson below uniform below sequential is significant throughout" in near
    assert [row["MSE, lately"] for row in study.table if row["strategy"] == "thompson"] == [pytest.approx(0.105)]
    assert "After 600 requests, 2 a fact, the error of E[θ] is least over all facts asked so far with sequential" in (
        study.verdict
    )
    assert "over those asked in the last 10 rounds with thompson (0.1050)" in study.verdict


@pytest.mark.slow
def test_what_a_reference_is_like_is_told() -> None:
    study = study_of(real_replays(), [4])
    told = note(study, "Each repetition has its own reference")
    theta = np.array([reference.theta for reference in REFERENCES])
    assert f"mean θ {theta.mean():.2f}; θ is one half or more for {(theta >= 0.5).mean():.0%}" in told
    assert f"is {np.mean([likeness(reference) for reference in REFERENCES]):.2f}." in told
    replays = Replays.of(real_replays(), [4])
    same = replay_study(replays, [REFERENCES[0]] * 3, "a run", {}, hardest=1_000)
    assert note(same, "The reference has 300 facts")
    assert same.plots[5].title == "The 300 hardest facts"
