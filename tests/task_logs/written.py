"""Logs as both tools write them, of small models and without a network."""

import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np


def harness_documents(count: int) -> list[dict[str, Any]]:
    """Return documents with four choices of equal length, of which a drawn one is right."""
    drawn = np.random.default_rng(0)
    places = ["Tokyo", "Kyoto", "Paris", "Delhi", "Milan", "Quito", "Dakar", "Sofia"]
    documents = []
    for number in range(count):
        choices = [places[place] for place in drawn.permutation(8)[:4]]
        documents.append({"query": f"City {number} is", "choices": choices, "label": int(drawn.integers(4))})
    return documents


def write_harness_logs(folder: Path, seeds: Mapping[str, int], kinds: Sequence[str], count: int = 60) -> dict[str, Any]:
    """Run lm-evaluation-harness on a random model for each seed; return its results by name.

    The logs of each name are in ``folder / name``, as ``--output_path`` and ``--log_samples`` write them.
    """
    import lm_eval
    import torch
    from lm_eval.loggers import EvaluationTracker
    from lm_eval.models.huggingface import HFLM
    from lm_eval.tasks import TaskManager

    from tests.models.tiny import byte_level, random_model
    from tests.task_logs.tasks import write_tasks

    tasks = folder / "tasks"
    tasks.mkdir(parents=True)
    write_tasks(tasks, {kind: harness_documents(count) for kind in kinds})
    tokenizer = byte_level(bos=True)
    net = random_model("llama", len(tokenizer))
    results = {}
    for name, seed in seeds.items():
        torch.manual_seed(seed)
        with torch.no_grad():
            for weights in net.parameters():
                weights.add_(torch.randn_like(weights) * 0.5 * seed)
        tracker = EvaluationTracker(output_path=str(folder / name))
        found = lm_eval.simple_evaluate(
            model=HFLM(net, tokenizer=tokenizer, batch_size=8),
            tasks=[f"own_{kind}" for kind in kinds],
            task_manager=TaskManager(include_path=str(tasks), include_defaults=False),
            log_samples=True,
            bootstrap_iters=0,
            evaluation_tracker=tracker,
        )
        samples = found.pop("samples")
        tracker.save_results_aggregated(results=found, samples=samples)
        for task, its in samples.items():
            tracker.save_results_samples(task_name=task, samples=its)
        results[name] = found["results"]
    return results


def write_lines(path: Path, values: Sequence[float], *, metric: str = "acc", **changes: Any) -> Path:
    """Write a log of lm-evaluation-harness with these values of its documents."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = []
    for number, value in enumerate(values):
        line = {
            "doc_id": number,
            "doc_hash": f"hash {number}",
            "filter": "none",
            "metrics": [metric],
            "arguments": {"gen_args_0": {"arg_0": f"Question {number}", "arg_1": " yes"}},
            "target": f"Answer {number}",
            "prompt_hash": f"prompt {number}",
            metric: value,
            **changes,
        }
        lines.append(json.dumps(line))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def write_inspect_log(
    folder: Path,
    wrong: Collection[int],
    *,
    log_format: str = "eval",
    epochs: Any = None,
    name: str = "own",
    **task: Any,
) -> Any:
    """Run Inspect on a model that says each number, but not those that are ``wrong``; return its log."""
    from inspect_ai import Task
    from inspect_ai import eval as evaluate
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import ChatMessageUser, GenerateConfig, ModelAPI, ModelOutput, ModelUsage, get_model, modelapi
    from inspect_ai.scorer import includes, match
    from inspect_ai.solver import generate

    class Counting(ModelAPI):
        """A model that repeats the last word; it counts tokens without a tokenizer from the network."""

        def __init__(self, model_name: str, **settings: Any) -> None:
            super().__init__(model_name, config=settings.get("config", GenerateConfig()))

        async def count_text_tokens(self, text: str) -> int:
            return len(text.split())

        async def generate(self, input: Any, tools: Any, tool_choice: Any, config: Any) -> Any:  # noqa: A002, ARG002
            said = input[-1].text.split()[-1]
            output = ModelOutput.from_content(self.model_name, "no" if int(said) in wrong else said)
            output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
            return output

    modelapi(name="counting")(Counting)
    samples = [Sample(input=[ChatMessageUser(content=f"Say {n}")], target=str(n)) for n in range(40)]
    (log,) = evaluate(
        Task(dataset=MemoryDataset(samples), solver=generate(), scorer=[match(), includes()], name=name),
        model=get_model("counting/numbers", memoize=False),
        log_dir=str(folder),
        log_format=log_format,
        epochs=epochs,
        display="none",
        **task,
    )
    return log
