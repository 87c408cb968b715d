"""``kgprobe.run_rounds`` as a user calls it."""

import pytest

import kgprobe
from kgprobe.asking.watch import Stop, Watch
from kgprobe.errors import ArgumentError, UnknownNameError
from kgprobe.graph.client import Graph
from kgprobe.models.model import Model

OPTIONS = {"batch": 4, "distractors": 3, "as_of": 20240101}


def test_a_run_is_done_shown_and_forgotten(sample_graph: Graph, tiny: Model) -> None:
    run = kgprobe.run_rounds(sample_graph, tiny, run="whole", rounds=2, **OPTIONS)
    assert (run.report.rounds, run.report.stopped, run.model) == (2, Stop.DONE, "tiny")
    frame = run.frame()
    assert len(frame) == 8 == run.report.asked + run.report.unaskable
    finding = run.finding()
    assert finding.asked == run.report.asked
    assert finding.about.rounds == 2
    assert "run whole" in run.summary()
    assert "<table" in run._repr_html_()
    page = run.page().read_text(encoding="utf-8")
    assert "By relation" in page
    listed = kgprobe.runs(sample_graph)
    assert "whole" in set(listed["id"])
    kgprobe.forget_run(sample_graph, "whole")
    assert not run.folder.exists()
    assert "whole" not in set(kgprobe.runs(sample_graph)["id"])
    with pytest.raises(UnknownNameError, match="There is no run 'whole'"):
        kgprobe.resume_rounds(sample_graph, "whole", tiny)


def test_a_run_goes_on_with_the_options_it_was_begun_with(sample_graph: Graph, tiny: Model) -> None:
    whole = kgprobe.run_rounds(sample_graph, tiny, run="one", rounds=3, relations=["P36"], seed=7, **OPTIONS)
    stop = Watch(should_stop=lambda: True)
    parts = kgprobe.run_rounds(
        sample_graph, tiny, run="two", rounds=3, relations=["P36"], seed=7, watch=stop, **OPTIONS
    )
    assert (parts.report.rounds, parts.report.stopped) == (1, Stop.ASKED_TO)
    gone_on = kgprobe.resume_rounds(sample_graph, "two", tiny)
    assert gone_on.report.stopped is Stop.DONE
    assert gone_on.frame().equals(whole.frame())
    longer = kgprobe.resume_rounds(sample_graph, "two", tiny, rounds=4)
    assert (longer.report.rounds, len(longer.frame())) == (4, 16)
    with pytest.raises(ArgumentError, match="`rounds` is 2: 4 rounds are done already"):
        kgprobe.resume_rounds(sample_graph, "two", tiny, rounds=2)
    for name in ("one", "two"):
        kgprobe.forget_run(sample_graph, name)


def test_mistakes_are_told_before_anything_is_asked(sample_graph: Graph, tiny: Model) -> None:
    with pytest.raises(UnknownNameError, match="P999"):
        kgprobe.run_rounds(sample_graph, tiny, run="never", year_relation="P999")
    with pytest.raises(ArgumentError, match="`run` is 'a/b'"):
        kgprobe.run_rounds(sample_graph, tiny, run="a/b", **OPTIONS)
    with pytest.raises(ArgumentError, match="`width` is nan"):
        kgprobe.run_rounds(sample_graph, tiny, run="never", width=float("nan"))
    with pytest.raises(ArgumentError, match="`difficulty` is no option of the probe distractors"):
        kgprobe.run_rounds(sample_graph, tiny, run="never", difficulty="easy")
    assert "never" not in set(kgprobe.runs(sample_graph)["id"])
