"""``kgprobe.study_templates``: generic against hand-written templates."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import date
from typing import TYPE_CHECKING, Any

from kgprobe.api.study_measurements import folders_of, measure_to_the_end, same_facts
from kgprobe.base.arguments import several
from kgprobe.base.errors import ArgumentError, KgprobeError
from kgprobe.base.options import make_options
from kgprobe.graph.client import Graph
from kgprobe.graph.names import relation_ids
from kgprobe.models.model import Model, Models
from kgprobe.papers.studies.options import TemplatesOptions
from kgprobe.papers.studies.study import Study
from kgprobe.papers.studies.templates import QUESTIONS, SENTENCES, templates_study
from kgprobe.running.callbacks import NO_CALLBACKS, Callbacks
from kgprobe.verbalize.askable_relations import askable_relations

if TYPE_CHECKING:
    from kgprobe.sampling.selection import Listed


def study_templates(
    graph: Graph,
    model: Model | str,
    *,
    limit: int | None = None,
    facts: "Listed | None" = None,
    relations: Sequence[str] = (),
    balance: str | None = None,
    with_former: bool = False,
    seed: int = 0,
    as_of: int | str | date | None = None,
    models: Models | None = None,
    callbacks: Callbacks = NO_CALLBACKS,
    **options: Any,
) -> Study:
    """Compare generic templates, made of labels, with hand-written ones on the same facts and distractors.

    >>> result = kgprobe.study_templates(graph, "demo", relations=["P36"], limit=4, probes=["distractors"])
    >>> result.to_frame()["templates"].unique().tolist()[-1]
    'generic sentence'

    Cost: two measurements for each probe, stored as in :func:`study_examples`.

    Args:
        relations: relations without hand-written templates are left out.
        options: fields of :class:`~kgprobe.papers.studies.options.TemplatesOptions`.

    Other arguments and errors as in :func:`study_examples`.
    """
    chosen = make_options(TemplatesOptions, options, "a study of templates")
    probes = list(dict.fromkeys(chosen.probes))
    if not probes:
        raise ArgumentError("probes", "is empty; choose from distractors, questions.")
    common, missing = same_facts(
        graph,
        _written_relations(graph, probes, relations),
        limit=limit,
        facts=facts,
        balance=balance,
        with_former=with_former,
        seed=seed,
        as_of=as_of,
        models=models,
    )
    # Kind of template, options, and the name of the option with the origin.
    settings: dict[str, tuple[str, Mapping[str, Any], str]] = {
        "distractors": (SENTENCES, {"distractors": chosen.distractors}, "templates"),
        "questions": (QUESTIONS, {}, "wording"),
    }
    measurements, outcomes = {}, {}
    for probe in probes:
        kind, given, origin_option = settings[probe]
        for origin in ("hand", "generic"):
            title = f"{kind}, {origin}"
            measurement = measure_to_the_end(
                graph, model, probe, callbacks, title, **common, **given, **{origin_option: origin}
            )
            measurements[title], outcomes[kind, origin] = measurement, measurement.outcomes
    config = folders_of(measurements, common["seed"]) | asdict(chosen)
    return templates_study(outcomes, chosen.distractors, measurement.model, config).save(missing)


def _written_relations(graph: Graph, probes: Sequence[str], relations: Sequence[str]) -> list[str]:
    """Return the ids of the relations with hand-written templates for all of these probes.

    Raises:
        KgprobeError: there are none.
    """
    kinds = [{"distractors": "clozes", "questions": "yes_no_questions"}[probe] for probe in probes]
    written = []
    for relation, row in askable_relations(graph, ids=relation_ids(graph, several("relations", relations))).items():
        if all(row[kind] for kind in kinds):
            written.append(relation)
    if not written:
        raise KgprobeError("No relation has hand-written templates to compare with; `kgprobe load example` has some.")
    return written
