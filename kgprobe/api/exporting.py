"""``kgprobe.export_sft``: training sets from label tables."""

from datetime import date
from pathlib import Path
from typing import Any

from kgprobe.api.stored import open_label_table
from kgprobe.base.arguments import whole_number
from kgprobe.base.dates import as_of_day
from kgprobe.base.errors import ArgumentError
from kgprobe.base.options import make_options
from kgprobe.graph.client import Graph
from kgprobe.labelling.exports.sft import SftOptions
from kgprobe.labelling.exports.sft.making import TrainingSet, make_training_set
from kgprobe.labelling.table import LabelTable


def export_sft(
    graph: Graph,
    table: LabelTable | str | Path,
    output: str | Path,
    *,
    controls: str | Path | None = None,
    seed: int = 0,
    as_of: int | str | date | None = None,
    **options: Any,
) -> TrainingSet:
    """Write a training set for supervised fine-tuning, from the facts of chosen classes of a label table.

    The folder has ``train.jsonl``, ``test.jsonl`` with held-out facts, ``roles.jsonl`` with the role of each fact,
    files for axolotl and LLaMA-Factory, and ``manifest.json``. The same call writes the same bytes.

    No training example is about a held-out fact or a control, in either direction, or has the prompt of one.

    Cost: a pass over the table, and two walks from each subject. Memory: the facts of the chosen classes.

    Args:
        table: a label table, its folder or its name.
        output: new or empty folder, or that of an equal training set.
        controls: file of roles with control facts, which are appended to the roles and never in training.
        seed: of all random choices.
        as_of: reference date of right answers; None is that of the label table, or today.
        options: see :class:`~kgprobe.labelling.exports.sft.SftOptions`: ``teach`` (required), ``limit``, ``form``,
            ``format``, ``wordings``, ``known_share``, ``weights``, ``refuse``, ``refusal``, ``held_out``,
            ``held_out_by``.

    Raises:
        ArgumentError: an option is not allowed, a class has no facts, there are too few known facts for their share,
            a control is not in the graph, or the folder has something else.
        KgprobeError: the table does not exist, or all facts to teach are left out.
    """
    given = make_options(SftOptions, options, "export_sft")
    if "held_out_by" in options and not given.held_out:
        raise ArgumentError("held_out_by", "has no effect with `held_out` 0. Leave out one of them.")
    labels = table if isinstance(table, LabelTable) else open_label_table(table)
    day = as_of_day(labels.config.get("as_of") if as_of is None else as_of)
    file = None if controls is None else Path(controls)
    return make_training_set(graph, labels, Path(output), given, file, whole_number("seed", seed, 0), day)
