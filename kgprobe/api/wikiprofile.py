"""Profiles of the facts of WikiProfile."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kgprobe.datasets.wikiprofile import WikiProfileOptions, read_wikiprofile
from kgprobe.errors import ArgumentError
from kgprobe.options import make_options
from kgprobe.progress import OnProgress, no_progress
from kgprobe.results.wikiprofile import WikiProfiles

if TYPE_CHECKING:
    from kgprobe.models.model import Model


def profile_wikiprofile(
    source: Path | str,
    model: "Model | str",
    *,
    limit: int | None = None,
    seed: int = 0,
    on_progress: OnProgress = no_progress,
    **options: Any,
) -> WikiProfiles:
    """Ask a model the questions of WikiProfile, and return the profile of each fact by the paper's rule.

    >>> kgprobe.profile_wikiprofile("wikiprofile.csv", "openai:NAME", thinking="on")  # doctest: +SKIP

    Cost: see :func:`kgprobe.labelling.wikiprofile.profile_facts`.

    Args:
        source: ``wikiprofile.csv`` of ``google/WikiProfile``.
        model: the model under test.
        limit: maximum number of facts, drawn at random by the seed; None for all.
        on_progress: called with the numbers of finished and of all answers.
        options: of :class:`~kgprobe.datasets.wikiprofile.WikiProfileOptions`, by name.

    Raises:
        ArgumentError: the file cannot be read, or lacks a column or a usable row; an option is invalid, or choices are
            asked and the file has none.
        KgprobeError: the model cannot be asked.
    """
    from kgprobe.labelling.wikiprofile import profile_facts
    from kgprobe.models.model import load_model

    given = make_options(WikiProfileOptions, options, "WikiProfile")
    file = read_wikiprofile(Path(source))
    facts = list(file.facts)
    if given.recognition and not any(any(fact.choices.values()) for fact in facts):
        raise ArgumentError("recognition", "needs the columns direct_choices and reverse_choices; the file has none.")
    if limit is not None and limit < len(facts):
        places = np.random.default_rng(seed).choice(len(facts), limit, replace=False)
        facts = [facts[place] for place in sorted(places)]
    opened = load_model(model) if isinstance(model, str) else model
    notes = []
    if file.lacks_context:
        notes.append("The file has no column contextual: a fact is encoded if its completion is right.")
    profiled = profile_facts(facts, opened.generator(), given, seed, on_progress)
    return WikiProfiles(opened.name, profiled, file.skipped, notes=notes)
