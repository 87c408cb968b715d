"""Tasks of lm-evaluation-harness on questions of one's own: no hub, no network."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import lm_eval
import yaml
from lm_eval.tasks import TaskManager

# As its own tasks are written: hellaswag's endings are whole texts, MMLU's choices are letters.
KINDS: Mapping[str, Mapping[str, Any]] = {
    "endings": {
        "output_type": "multiple_choice",
        "doc_to_text": "{{query}}",
        "doc_to_target": "{{label}}",
        "doc_to_choice": "choices",
        "metric_list": [{"metric": "acc"}, {"metric": "acc_norm"}],
    },
    "letters": {
        "output_type": "multiple_choice",
        "doc_to_text": "{{query}}\nA. {{choices[0]}}\nB. {{choices[1]}}\nC. {{choices[2]}}\nD. {{choices[3]}}\nAnswer:",
        "doc_to_target": "{{label}}",
        "doc_to_choice": ["A", "B", "C", "D"],
        "num_fewshot": 3,
        "fewshot_config": {"sampler": "first_n"},
        "metric_list": [{"metric": "acc"}, {"metric": "acc_norm"}],
    },
    "word": {
        "output_type": "loglikelihood",
        "doc_to_text": "{{query}}",
        "doc_to_target": " {{choices[label]}}",
        "metric_list": [{"metric": "acc"}, {"metric": "perplexity"}],
    },
    "document": {
        "output_type": "loglikelihood_rolling",
        "doc_to_text": "",
        "doc_to_target": "{{query}} {{choices|join('. ')}}",
        "metric_list": [{"metric": "word_perplexity"}, {"metric": "bits_per_byte"}],
    },
    "written": {
        "output_type": "generate_until",
        "doc_to_text": "{{query}}",
        "doc_to_target": "{{choices[label]}}",
        "generation_kwargs": {"until": ["\n", "."], "max_gen_toks": 4, "do_sample": False},
        "metric_list": [{"metric": "exact_match"}],
    },
}


def write_tasks(folder: Path, documents: Mapping[str, Sequence[Mapping[str, Any]]]) -> Path:
    """Return a folder with tasks of these kinds, and the documents that each has: query, choices, label."""
    for kind, its in documents.items():
        lines = folder / f"{kind}.jsonl"
        lines.write_text("".join(json.dumps(one) + "\n" for one in its), encoding="utf-8")
        task = {
            "task": f"own_{kind}",
            "dataset_path": "json",
            "dataset_kwargs": {"data_files": {"test": str(lines)}, "cache_dir": str(folder / "cache")},
            "test_split": "test",
            "fewshot_split": "test",
            **KINDS[kind],
        }
        (folder / f"{kind}.yaml").write_text(yaml.safe_dump(task), encoding="utf-8")
    return folder


def evaluate(model: Any, folder: Path, kinds: Sequence[str]) -> tuple[dict[str, Any], dict[str, list[Any]]]:
    """Return what a model reaches in tasks, and its answer to every request, by task."""
    found = lm_eval.simple_evaluate(
        model=model,
        tasks=[f"own_{kind}" for kind in kinds],
        task_manager=TaskManager(include_path=str(folder), include_defaults=False),
        log_samples=True,
        bootstrap_iters=0,
    )
    answers = {
        task: [answer for sample in sorted(its, key=lambda one: one["doc_id"]) for answer in sample["resps"]]
        for task, its in found["samples"].items()
    }
    return found["results"], answers
