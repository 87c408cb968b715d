"""Comparisons of stored results: models on shared facts, forgetting after fine-tuning, gaps between probes."""

from typing import TYPE_CHECKING

from kgprobe.arguments import whole_number
from kgprobe.errors import ArgumentError
from kgprobe.graph.client import Graph
from kgprobe.graph.rows import Rows
from kgprobe.running.runs import get_run

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kgprobe.results.answers import Stored
    from kgprobe.results.comparison import Comparison
    from kgprobe.results.forgetting import Forgetting
    from kgprobe.results.knowledge_gap import KnowledgeGap


def compare(results: "Sequence[Stored]", *, seed: int = 0, families: "Mapping[str, str] | None" = None) -> "Comparison":
    """Compare results on the facts that all of them have answered; no model is loaded.

    Rounds ask each model the facts that it fails on, so that their overall rates are not comparable. On the shared
    facts: accuracies by relation and their correlations, also by family of models; means over relations with the best
    and the worst of them; subsumption (the share of one model's known facts that another knows); and for each pair the
    difference with its test, interval and minimum detectable difference.

    >>> one = kgprobe.measure(graph, "demo", limit=4, distractors=3, sentences=1)
    >>> other = kgprobe.measure(graph, "demo", limit=4, distractors=2, sentences=1)
    >>> compared = kgprobe.compare([one, other])
    >>> compared.to_frame()[["asked", "shared"]].values.tolist()
    [[4, 4], [4, 4]]
    >>> compared.notes
    ('They differ: distractors is 3 and 2.',)

    A measurement of an inverse graph (:func:`kgprobe.reverse_graph`) and one of its original are compared as
    directions: facts pair by their ids, and the facts known in one direction only are listed.

    Cost: reading all answers; one test for each pair of models and relation.

    Args:
        results: at least two measurements or runs, by any probes; :func:`kgprobe.open` opens them.
        seed: seed of the bootstrap of other metrics than accuracy.
        families: family of a model by its spec or name; None takes the part of each name before the size.

    Raises:
        ArgumentError: fewer than two results, or one of them twice.
        KgprobeError: a result has no answers, or no fact is shared by all.
    """
    from kgprobe.results.answers import refuse_repeated
    from kgprobe.results.comparison import compare_results

    seed = whole_number("seed", seed, 0)
    if len(results) < 2:
        raise ArgumentError("results", f"has {len(results)}; expected at least two.")
    refuse_repeated("results", results)
    return compare_results(results, seed, families or {})


def check_forgetting(base: "Stored", tuned: "Stored", *, margin: float = 0.02) -> "Forgetting":
    """Test if a fine-tuned model lost more accuracy than a margin, and list the lost facts.

    The loss is the net loss of accuracy on the facts that both have answered, with one-sided 95% bounds: *lost* if
    the lower bound exceeds the margin, *kept* if the upper bound is within it, else *undecided*.

    >>> base = kgprobe.measure(graph, "demo", limit=4, distractors=3, sentences=1)
    >>> tuned = kgprobe.measure(graph, "demo", limit=4, distractors=3, sentences=1, name="tuned")
    >>> kgprobe.check_forgetting(base, tuned, margin=0.02).verdict.value
    'undecided'

    Cost: reading all answers.

    Args:
        base, tuned: results that differ only in the model and its loading; their lists of facts may differ, too.
        margin: allowed loss, a share in [0, 1): 0.02 is two percentage points.

    Raises:
        ArgumentError: the margin is out of range, or the results are the same one, or differ in graph, probe, options
            or seed.
        KgprobeError: a result has no answers, or no fact is shared.
    """
    from kgprobe.results.forgetting import forgetting_between

    return forgetting_between(base, tuned, check_margin(margin))


def check_margin(margin: float) -> float:
    """Return an allowed loss; raise ArgumentError if it is not a share in [0, 1)."""
    if isinstance(margin, bool) or not isinstance(margin, (int, float)) or not 0 <= margin < 1:
        raise ArgumentError("margin", f"is {margin!r}; expected a share in [0, 1), such as 0.02.")
    return float(margin)


def find_gap(stored: "Stored", said: "Stored") -> "KnowledgeGap":
    """Find the facts that a model knows by one probe and misses by another.

    >>> held = kgprobe.measure(graph, "demo", "distractors", limit=4, distractors=3, sentences=1)
    >>> said = kgprobe.measure(graph, "demo", "questions", limit=4, answer_tokens=4)
    >>> kgprobe.find_gap(held, said).overall.facts
    4

    Cost: reading all answers.

    Args:
        stored: result of a probe that scores, such as ``distractors``.
        said: result of the same model by a probe that generates, such as ``questions``.

    Raises:
        ArgumentError: the models, graphs or dates differ, or the probes are the same.
        KgprobeError: a result has no answers, or no fact is shared.
    """
    from kgprobe.results.knowledge_gap import gap_between

    return gap_between(stored, said)


def compare_runs(graph: Graph, one: str, other: str, *, limit: int = 50) -> Rows:
    """Return the facts on which two runs differ most: answers and *known* of each, the largest difference first.

    >>> run = kgprobe.run_rounds(graph, "demo", name="compared", rounds=1, facts_per_round=3, distractors=3)
    >>> len(kgprobe.compare_runs(graph, "compared", "compared", limit=2).to_frame())
    2

    Cost: a scan of the graph's beliefs.

    Args:
        one, other: names of runs.
        limit: maximum number of facts.

    Raises:
        UnknownNameError: no such run.
        ArgumentError: the limit is below 1.
    """
    limit = whole_number("limit", limit)
    for run in (one, other):
        get_run(graph, run)
    return graph.query("explore/compare_models", one=one, other=other, limit=limit)
