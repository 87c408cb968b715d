"""Beliefs of a run as labels."""

from pathlib import Path

import pytest

from kgprobe.base.errors import ArgumentError, UnknownNameError
from kgprobe.base.records import Fact
from kgprobe.graph.client import Graph
from kgprobe.labelling.exports.labels import labels_of_run, labels_of_table
from kgprobe.labelling.exports.retrieval import facts_to_retrieve
from kgprobe.labelling.exports.retrieval_options import RetrievalOptions
from kgprobe.labelling.exports.write_back import AMBIGUOUS, NOT_LABELLED, LabelIndex
from kgprobe.labelling.table import write_label_table
from tests.graph.query_world import build_world
from tests.labelling.test_table import CHAD, CONFIG, FRANCE


def test_labels_of_table_need_evidence_and_classes(tmp_path: Path) -> None:
    for filled, facts in ((None, ["f1"]), ("beliefs", ["f1", "f2"])):
        table = write_label_table(tmp_path / str(filled), CONFIG | {"filled": filled}, [FRANCE, CHAD])
        labels = labels_of_table(table)
        assert [row.fact for row in labels.rows()] == facts
        assert labels.choose_scheme(None) == ("slick", "")
    unclassified = labels_of_table(write_label_table(tmp_path / "few", CONFIG, [CHAD]))
    assert unclassified.choose_scheme(None) == (
        "belief",
        "few has no class of slick or profile: the classes are those of belief.",
    )
    with pytest.raises(ArgumentError, match="is slick, of which few has no class; it has classes of belief"):
        unclassified.choose_scheme("slick")


@pytest.mark.parametrize("endpoint", ["arcadedb"], indirect=True)
def test_beliefs_of_a_run_are_labels(graph: Graph) -> None:
    build_world(graph)
    list(graph.run_text("MATCH (r:Run {id: 'second'}) SET r.probe = 'distractors'", {})[1])
    unanswered = "MATCH (b:Belief {id: 'second/l1'}) SET b.alpha = 1.0, b.beta = 1.0, b.right = 0, b.wrong = 0"
    list(graph.run_text(unanswered, {})[1])
    labels = labels_of_run(graph, "second")
    by_fact = {row.fact: row for row in labels.rows()}
    capital, border = by_fact["c1"], by_fact["b4"]
    assert (capital.subject_name, capital.relation_name, capital.object_name) == ("France", "capital", "Paris")
    assert (capital.known, capital.known_low, capital.known_high) == pytest.approx((5 / 6, 0.55, 0.98))
    assert (capital.basis, capital.answers) == ("asked", {"distractors": (4, 4)})
    # Reached by propagation only.
    assert (border.basis, border.answers, border.belief) == ("predicted", {}, "leans known")
    # Predictions of other facts are those of the run in view.
    assert list(labels.predictions()) == []
    statement = "MATCH (r:Run {id: 'second'}) SET r.inView = true"
    list(graph.run_text(statement, {})[1])
    statement = "MATCH ()-[f:FACT]->() WHERE f.id IN ['b1', 'b4', 'l2'] SET f.theta = 0.75, f.low = 0.5, f.high = 1.0"
    list(graph.run_text(statement + ", f.belief = CASE f.id WHEN 'b1' THEN 'leans known' ELSE 'not asked' END", {})[1])
    (unasked,) = labels.predictions()
    assert (unasked.fact, unasked.basis, unasked.known, unasked.belief) == ("l2", "predicted", 0.25, "leans unknown")
    # Facts that cannot be asked, or got no answer, have no label.
    assert not {"b6", "k4", "l1"} & by_fact.keys()
    assert (labels.model, labels.choose_scheme(None)) == ("m2", ("belief", ""))
    with pytest.raises(ArgumentError, match="second is a run, which has belief only"):
        labels.choose_scheme("slick")
    with pytest.raises(ArgumentError, match="has unknown; second is a run, which has belief only"):
        next(facts_to_retrieve(labels, lambda fact: fact.fact, RetrievalOptions(classes=("unknown",))))
    with pytest.raises(UnknownNameError, match="Unknown run 'third'"):
        labels_of_run(graph, "third")

    index = LabelIndex.of(labels.rows(), "belief")
    facts = [Fact(row.fact, row.subject, row.relation, row.object) for row in labels.rows()]
    by_id, _ = index.find(facts)
    assert by_id.tolist() == list(range(len(facts)))
    assert [index.class_of(place) for place in by_id.tolist()] == [row.belief for row in labels.rows()]
    # The id counts with its subject.
    assert index.find([Fact("c1", "de", "capital", "pa")])[0].tolist() == [NOT_LABELLED]
    doubled = LabelIndex.of([*labels.rows(), *labels.rows()], "belief")
    assert set(doubled.find(facts)[1].tolist()) == {AMBIGUOUS}
