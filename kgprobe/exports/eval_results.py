"""Evaluation results for a model's page on the Hugging Face hub: ``.eval_results/NAME.yaml``.

The format is that of https://huggingface.co/docs/hub/eval-results: a list of entries with a benchmark data set, a task
and a value. huggingface_hub writes the entries, so that its rules hold.
"""

import re
from pathlib import Path

import yaml
from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml

from kgprobe.errors import ArgumentError
from kgprobe.exports.shares import PublishedShares
from kgprobe.files import make_folder, replacing
from kgprobe.models.spec_forms import can_be_on_hub

FOLDER = ".eval_results"


def write_eval_results(
    published: PublishedShares, folder: Path, dataset: str, *, task: str | None = None, source: str | None = None
) -> Path:
    """Write the share of all facts as a result of a benchmark data set; return the file.

    The value is the share of right answers in percent; the note has its interval, the chance level and the settings.

    Args:
        folder: folder of the model's repository; the file is ``.eval_results/DATASET-TASK.yaml`` in it.
        dataset: id of the benchmark data set on the hub.
        task: task of the data set; None for the name of the probe.
        source: URL of the evaluation, such as of its page.

    Raises:
        ArgumentError: the data set's id has no form of the hub, or the source is not a URL.
        KgprobeError: the file cannot be written.
    """
    if "/" not in dataset or not can_be_on_hub(dataset):
        raise ArgumentError("dataset", f"is {dataset!r}; expected the id of a data set on the hub: owner/name.")
    if source is not None and not re.match(r"https?://[^\s/]+", source):
        raise ArgumentError("source", f"is {source!r}; expected a URL: https://…")
    task = task or published.task
    entry = EvalResultEntry(
        dataset_id=dataset,
        task_id=task,
        value=round(100 * published.all_facts.rate.value, 2),
        date=published.answered.strftime("%Y-%m-%dT%H:%M:%SZ"),
        source_url=source,
        source_name=None if source is None else "kgprobe",
        notes=published.settings,
    )
    make_folder(folder / FOLDER)
    slug = re.sub(r"[^A-Za-z0-9]+", "-", f"{dataset.rpartition('/')[2]}-{task}").strip("-").lower()
    path = folder / FOLDER / f"{slug}.yaml"
    with replacing(path) as unfinished:
        text = yaml.safe_dump(eval_result_entries_to_yaml([entry]), sort_keys=False, allow_unicode=True)
        unfinished.write_text(text, encoding="utf-8")
    return path
