"""Cost of in-context estimation including sampling, compared with one pass for each choice.

Times ``kgprobe probe examples`` without its files, on facts of your graph. The peer computes each sequence separately,
one choice at a time, as in the latent-knowledge paper (appendix C); it computes a part of the choices, alternating with
ours, and is scaled.
"""

import time
from typing import TYPE_CHECKING

import click
import numpy as np
import torch

from benchmarks.report import Report, Row, show, versions_of
from kgprobe.cli.options import graph_option, json_option, seed_option
from kgprobe.graph.client import Graph
from kgprobe.graph.names import relation_ids
from kgprobe.models.spec import load_scorer
from kgprobe.probes.examples import PROBE
from kgprobe.probes.examples.evidence import ExampleEvidence
from kgprobe.probes.examples.probe import ExampleProbe
from kgprobe.sampling.selection import choose_facts
from kgprobe.servers.opening import open_graph
from kgprobe.servers.signals import ending_in_order

if TYPE_CHECKING:
    from kgprobe.models.scoring.scorer import Scorer

AS_OF = 20260101
# The peer computes the choices of every n-th fact of a batch.
_PEER_EVERY = 200


def one_pass(scorer: "Scorer", prompt: str, choice: str) -> float:
    """Return the log-probability of a choice after its prompt, by a pass over the whole sequence."""
    (tokenized,) = scorer.tokenize([prompt], [[choice]])
    before, tail = tokenized.context[: tokenized.starts[0]], tokenized.tails[0]
    tokens = torch.tensor([[*before, *tail[:-1]]], device=scorer.model.device)
    with torch.inference_mode():
        logits = scorer.model(input_ids=tokens, use_cache=False).logits[0, len(before) - 1 :]
    return float(logits.float().log_softmax(-1)[range(len(tail)), list(tail)].double().sum())


def measure(graph: Graph, scorer: "Scorer", probe: ExampleProbe, facts: int, batch_size: int, seed: int) -> list[Row]:
    """Return facts per second for us and the peer, and the greatest difference of log-probabilities.

    The first batch is warm-up and draws the examples; its time is reported separately.
    """
    chosen = choose_facts(graph, probe.relations, as_of=AS_OF, limit=facts + batch_size, seed=seed)
    keys = [chosen.keys[place] for place in range(len(chosen.keys))]
    clock = time.perf_counter()
    probe.ask(keys[:batch_size], [seed])
    warm = time.perf_counter() - clock
    ours = theirs = 0.0
    choices = computed = facts_done = 0
    differences = [0.0]
    for first in range(batch_size, len(keys), batch_size):
        clock = time.perf_counter()
        outcomes = probe.ask(keys[first : first + batch_size], [seed])
        ours += time.perf_counter() - clock
        facts_done += len(outcomes)
        each = [
            (outcome.prompt, label, value)
            for outcome in outcomes
            if isinstance(outcome.evidence, ExampleEvidence)
            for label, value in zip(
                [outcome.evidence.object.label, *(other.label for other in outcome.evidence.others)],
                outcome.evidence.log_probabilities.tolist(),
                strict=True,
            )
        ]
        choices += len(each)
        clock = time.perf_counter()
        differences += [abs(one_pass(scorer, *item[:2]) - item[2]) for item in each[::_PEER_EVERY]]
        theirs += time.perf_counter() - clock
        computed += len(each[::_PEER_EVERY])
    if not computed:
        raise click.UsageError("No fact could be asked; name relations with several facts and objects.")
    case = f"{facts_done} facts, {choices / facts_done:.0f} choices each"
    return [
        Row(case, "first batch, the examples drawn", warm, "s", less_is_better=True),
        Row(
            case,
            "facts a second",
            facts_done / ours,
            "/s",
            peer="one pass a choice",
            peer_value=facts_done / (theirs * choices / computed),
            max_difference=float(np.max(differences)),
        ),
    ]


@click.command(context_settings={"max_content_width": 100})
@click.option("--model", default="demo", show_default=True, help="A model on this machine, by its spec.")
@click.option("--relation", "relations", multiple=True, help="Relation to ask; repeatable.  [default: all active]")
@click.option("--facts", default=128, show_default=True, help="Timed facts.")
@click.option("--batch-size", default=PROBE.batch_size, show_default=True, help="Facts in a batch.")
@click.option("--examples", default=50, show_default=True, help="Examples before each fact.")
@graph_option
@seed_option
@json_option
def main(
    model: str,
    relations: tuple[str, ...],
    facts: int,
    batch_size: int,
    examples: int,
    graph: str | None,
    seed: int,
    as_json: bool,
) -> None:
    """Measure in-context estimation including sampling."""
    with ending_in_order(), open_graph(graph) as opened:
        scorer = load_scorer(model)
        options = PROBE.options_from({"examples": examples})
        probe = ExampleProbe(opened, scorer, options, as_of=AS_OF, relations=relation_ids(opened, relations))
        rows = measure(opened, scorer, probe, facts, batch_size, seed)
    show(Report("examples", rows, seed, versions_of("torch", "transformers", "numpy")), as_json=as_json)


if __name__ == "__main__":
    main()
