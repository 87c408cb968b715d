"""``kgprobe.estimate_rates`` as a user calls it."""

from collections.abc import Iterator

import pytest

import kgprobe
from kgprobe.answers.callbacks import Callbacks, Stop
from kgprobe.base.errors import ArgumentError, KgprobeError, UnknownNameError
from kgprobe.graph.client import Graph
from kgprobe.models.model import Model
from kgprobe.results.measurement import Run
from kgprobe.stats.proportions import answers_for_width

OPTIONS = {"facts_per_round": 32, "distractors": 1, "as_of": 20240101, "relations": ["P36"], "aim": "estimate"}


@pytest.fixture
def run(example_graph: Graph, tiny: Model) -> Iterator[Run]:
    yield kgprobe.run_rounds(example_graph, tiny, name="to-estimate", rounds=2, **OPTIONS)
    kgprobe.delete("to-estimate", example_graph)


def test_rates_speak_of_the_whole_graph(example_graph: Graph, run: Run) -> None:
    found = kgprobe.estimate_rates(example_graph)
    assert (found.run["id"], found.model, found.stopped) == ("to-estimate", "tiny", None)
    assert found.overall.width == found.overall.right.high - found.overall.right.low
    frame = found.to_frame()
    assert list(frame.columns) == list(found.columns)
    assert frame["by"][0] == "all"
    assert (frame["facts"][0], frame["drawn"][0]) == (found.facts, 64)
    assert set(frame["by"]) <= {"all", "relation", "type", "popularity", "year"}
    of_relation = frame[frame["by"] == "relation"].iloc[0]
    # All facts are of one relation.
    assert (of_relation["group"], of_relation["right"]) == ("P36", pytest.approx(frame["right"][0]))
    assert found.summary().startswith(f"tiny is right on {found.overall.right} of the graph's {found.facts} facts")
    # Its facts were drawn uniformly, and are few: it is the interval of the plain share, and no prediction is used.
    assert found.run["sampling"] == "uniform"
    assert found.summary().endswith(" facts that can be asked, estimated from 64 answers, without predictions.")
    assert (found.uniform_answers, found.overall.expected) == (64, None)
    assert all("expected" not in row for table in found.tables() for row in table.rows)
    assert found.to_dict()["rates"] == found.rows()
    # The finding leads with the same rate, and has the same tables.
    finding = run.finding()
    assert finding.over_graph is not None
    assert finding.over_graph.overall == found.overall
    said = (
        f"tiny is right on {found.overall.right} of the graph's {found.facts} facts that can be asked; guessing 50%: "
    )
    assert finding.headline == f"{said}no more than guessing can be told"
    assert finding.headline in finding.summary()
    # The facts that it expects are those without answers in the view, with their E[theta].
    unasked = "MATCH (:Entity)-[f:FACT]->(:Entity) WHERE f.belief = 'not asked'"
    view = example_graph.query(f"{unasked} RETURN count(*) AS facts, sum(1 - f.theta) AS known").to_frame()
    facts, known = view.iloc[0]
    assert finding.whole is not None
    assert (finding.whole.unasked, len(finding.whole.expected)) == (facts, facts)
    assert finding.whole.expected_known == pytest.approx(known)
    assert facts + finding.overall.facts == found.facts
    assert sum(link.facts for link in finding.whole.links) == found.facts
    assert sum(link.asked for link in finding.whole.links) == finding.overall.facts
    page = run.page(finding).read_text(encoding="utf-8")
    assert "By relation, estimated over the graph" in page
    # The only relation has an estimate; it needs no rate of its asked facts.
    assert "By relation, of the facts asked" not in page


def test_page_of_large_graph_lists_unasked_neighbours(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = run.finding().whole
    monkeypatch.setattr("kgprobe.results.believed_graph.LISTED_FACTS", 5)
    finding = run.finding()
    fewer = finding.whole
    assert whole is not None
    assert fewer is not None
    assert (fewer.unasked, fewer.expected_known, fewer.links) == (whole.unasked, whole.expected_known, whole.links)
    ends = set(finding.facts["subject"]) | set(finding.facts["object"])
    assert 0 < len(fewer.expected) <= 5
    assert all(row.subject in ends or row.object in ends for row in fewer.expected.itertuples())
    assert set(fewer.expected["subject"]) <= set(fewer.types)


@pytest.mark.usefixtures("run")
def test_it_asks_until_the_interval_is_as_narrow_as_wanted(example_graph: Graph, tiny: Model) -> None:
    before = kgprobe.estimate_rates(example_graph, "to-estimate")
    as_it_is = kgprobe.estimate_rates(example_graph, "to-estimate", precision=before.overall.width / 2)
    assert (as_it_is.stopped, as_it_is.reason, as_it_is.run["round"]) == (Stop.SURE_ENOUGH, None, 2)
    done = []
    narrower = kgprobe.estimate_rates(
        example_graph,
        "to-estimate",
        precision=0.35 * before.overall.width,
        model=tiny,
        callbacks=Callbacks(on_batch=lambda batch: done.append(batch)),
    )
    assert narrower.stopped is Stop.SURE_ENOUGH
    assert narrower.reason == "A 95% interval that stops its own run contains the share in 92% of runs."
    assert narrower.overall.width <= 0.7 * before.overall.width
    assert narrower.run["round"] == 2 + len(done) > 2
    # Groups are estimated as without a precision.
    assert narrower.rows() == kgprobe.estimate_rates(example_graph, "to-estimate").rows()
    assert len(narrower.rows()) > 1


@pytest.mark.slow
@pytest.mark.usefixtures("run")
def test_it_ends_where_it_may_not_go_on(example_graph: Graph, tiny: Model) -> None:
    most = kgprobe.estimate_rates(example_graph, "to-estimate", precision=0.0005, rounds=3, model=tiny)
    assert (most.stopped, most.run["round"]) == (Stop.DONE, 3)
    assert most.reason == f"The interval is ±{most.overall.width / 2:.3f} after all 3 rounds; --rounds allows more."
    stop = Callbacks(should_stop=lambda: True)
    stopped = kgprobe.estimate_rates(example_graph, "to-estimate", precision=0.0005, model=tiny, callbacks=stop)
    assert (stopped.stopped, stopped.run["round"]) == (Stop.ASKED_TO, 4)
    assert len(stopped.rows()) > 1


@pytest.mark.slow
@pytest.mark.usefixtures("run")
def test_another_run_is_told_by_name(example_graph: Graph, tiny: Model) -> None:
    kgprobe.run_rounds(example_graph, tiny, name="other", rounds=1, **OPTIONS)
    found = kgprobe.estimate_rates(example_graph, "to-estimate", predictors=["other"])
    assert found.to_dict()["predictors"] == ["other"]
    with pytest.raises(ArgumentError, match="has 'to-estimate', the run itself"):
        kgprobe.estimate_rates(example_graph, "to-estimate", predictors=["to-estimate"])
    kgprobe.delete("other", example_graph)


@pytest.mark.usefixtures("run")
def test_what_cannot_be_is_said(example_graph: Graph, tiny: Model) -> None:
    with pytest.raises(UnknownNameError, match="Unknown run 'nobody'"):
        kgprobe.estimate_rates(example_graph, "nobody")
    with pytest.raises(UnknownNameError, match="Unknown run 'nobody'"):
        kgprobe.estimate_rates(example_graph, "to-estimate", predictors=["nobody"])
    for precision in (0.0, 0.5, -1.0, float("nan")):
        with pytest.raises(ArgumentError, match=r"a share above 0 below 0\.5 is expected"):
            kgprobe.estimate_rates(example_graph, "to-estimate", precision=precision)
    with pytest.raises(ArgumentError, match=r"limits the questions for a `precision`"):
        kgprobe.estimate_rates(example_graph, "to-estimate", rounds=3)
    with pytest.raises(ArgumentError, match="rounds"):
        kgprobe.estimate_rates(example_graph, "to-estimate", precision=0.25, rounds=0)
    in_turn = {**OPTIONS, "sampling": "sequential"}
    kgprobe.run_rounds(example_graph, tiny, name="in-turn", rounds=1, **in_turn)
    with pytest.raises(
        KgprobeError, match=r"gives no estimate for the whole graph.*sampling=sequential.*--aim estimate"
    ):
        kgprobe.estimate_rates(example_graph, "in-turn")
    kgprobe.delete("in-turn", example_graph)


@pytest.mark.usefixtures("run")
def test_precision_is_forecast_in_questions(example_graph: Graph) -> None:
    found = kgprobe.estimate_rates(example_graph, "to-estimate")
    more, fresh = found.questions_for(found.overall.width / 4)
    # Half the width takes four times the answers.
    assert more == 3 * 64
    assert fresh == answers_for_width(found.overall.right.value, found.overall.width / 2)
    assert found.questions_for(found.overall.width)[0] == 0
