"""``kgprobe.export_eval_results`` and ``kgprobe.export_every_eval_ever``: measurements in formats for publication."""

from pathlib import Path

from kgprobe.exports.eval_results import write_eval_results
from kgprobe.exports.every_eval_ever import THIRD_PARTY, write_record
from kgprobe.exports.shares import published_shares
from kgprobe.results.measurement import Measurement


def export_eval_results(
    measurement: Measurement,
    folder: str | Path,
    *,
    dataset: str,
    task: str | None = None,
    source: str | None = None,
    model_id: str | None = None,
) -> Path:
    """Write a measurement for the model's page on the Hugging Face hub: ``.eval_results/DATASET-TASK.yaml``.

    >>> made = kgprobe.measure(graph, "demo", limit=4, distractors=3, sentences=1)
    >>> file = kgprobe.export_eval_results(made, "page", dataset="me/capitals", model_id="me/model")  # doctest: +SKIP

    Args:
        folder: folder of the model's repository.
        dataset: id of the benchmark data set on the hub: ``owner/name``.
        task: task of the data set; None for the name of the probe.
        source: URL of the evaluation.
        model_id: ``owner/name`` of the model; None for a model of the hub.

    Raises:
        ArgumentError: an id or the source has another form, or the model is not of the hub and has no id.
        KgprobeError: the measurement has no answers, or the file cannot be written.
    """
    return write_eval_results(published_shares(measurement, model_id), Path(folder), dataset, task=task, source=source)


def export_every_eval_ever(
    measurement: Measurement,
    folder: str | Path,
    *,
    organization: str,
    relationship: str = THIRD_PARTY,
    benchmark: str | None = None,
    dataset: str | None = None,
    model_id: str | None = None,
) -> tuple[Path, Path]:
    """Write a measurement in the schema of Every Eval Ever: a record, and a file with one line per fact.

    >>> made = kgprobe.measure(graph, "demo", limit=4, distractors=3, sentences=1)
    >>> record, answers = kgprobe.export_every_eval_ever(  # doctest: +SKIP
    ...     made, "records", organization="Me", model_id="me/model"
    ... )

    Args:
        folder: folder in which ``data/BENCHMARK/OWNER/MODEL`` is made.
        organization: organization that publishes the record.
        relationship: its relation to the model's developer: ``first_party``, ``third_party``, ``collaborative`` or
            ``other``.
        benchmark: name of the evaluation; None for ``kgprobe-`` with the probe's name.
        dataset: repository of the facts on the Hugging Face hub.
        model_id: ``owner/name`` of the model; None for a model of the hub.

    Raises:
        ArgumentError: an id or a name has another form, or the model is not of the hub and has no id.
        KgprobeError: the measurement has no answers, or a file cannot be written.
    """
    return write_record(
        published_shares(measurement, model_id),
        Path(folder),
        organization,
        relationship=relationship,
        benchmark=benchmark,
        dataset=dataset,
    )
