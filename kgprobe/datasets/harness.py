"""Export of a data set as a task of lm-evaluation-harness, with the same prompts, choices and verdicts.

``NAME/NAME.yaml`` is the task, ``NAME/facts.jsonl`` contains a prompt and its continuations per line, ``NAME/facts.py``
reads it. The harness joins a prompt and a choice without a separator, so each choice begins with its separator. The
harness takes the first of equally probable choices; here a tie counts as wrong, so the right choice is last.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter
from pathlib import Path

from kgprobe.datasets.folder import ChoiceRow
from kgprobe.models.scoring.contract import TextScorer
from kgprobe.models.scoring.tokens import join
from kgprobe.probes.examples.prompts import ExamplePrompts
from kgprobe.sampling.demonstrations import Demonstration

# Facts whose token boundaries are compared with the harness's; a tokenizer that differs does so early on.
_COMPARED = 1_000

_TASK = """\
task: {name}
custom_dataset: !function facts.load
test_split: test
output_type: multiple_choice
doc_to_text: prompt
doc_to_choice: continuations
doc_to_target: answer
target_delimiter: ""
num_fewshot: 0
metric_list:
- metric: acc
  aggregation: mean
  higher_is_better: true
metadata:
  version: 1.0
"""

_READER = '''\
"""Load the facts next to this file for lm-evaluation-harness."""

import json
from pathlib import Path

import datasets

TEXT, TEXTS = datasets.Value("string"), datasets.Sequence(datasets.Value("string"))
# Explicit types: a string such as 1879-03-14 would be parsed as a timestamp.
FEATURES = {
    "prompt": TEXT,
    "continuations": TEXTS,
    "answer": datasets.Value("int64"),
    "fact_id": TEXT,
    "relation": TEXT,
    "choice_ids": TEXTS,
    "examples": datasets.Value("int64"),
}


def load(**_):
    """Return the facts as the split "test"."""
    with open(Path(__file__).with_name("facts.jsonl"), encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    return {"test": datasets.Dataset.from_list(rows, features=datasets.Features(FEATURES))}
'''


def write_task(
    folder: Path,
    name: str,
    rows: Iterable[ChoiceRow],
    prompts: ExamplePrompts,
    demonstrations: Mapping[str, Sequence[Demonstration]],
    scorer: TextScorer | None,
    on_fact: Callable[[int], None],
) -> tuple[int, list[str]]:
    """Write a task into an existing empty folder.

    Args:
        demonstrations: few-shot examples by relation; a fact without examples is left out.
        scorer: model whose token boundaries are compared with the harness's, for the first facts; None compares none.

    Returns:
        Number of facts, and notes on differences that are possible between the harness and kgprobe.
    """
    left_out = written = short = compared = differ = 0
    separator = prompts.layout.separator
    with open(folder / "facts.jsonl", "w", encoding="utf-8") as file:
        for number, row in enumerate(rows, start=1):
            on_fact(number)
            item = row.item()
            prompt = prompts.prompt(item.fact, demonstrations.get(row.relation, ()), item.labels)
            if not prompt.examples:
                left_out += 1
                continue
            labels = [*item.labels[1:], item.labels[0]]
            line = {
                "prompt": prompt.text,
                # With the separator, as they follow the prompt.
                "continuations": [join(prompt.text, separator, label)[len(prompt.text) :] for label in labels],
                "answer": len(labels) - 1,
                "fact_id": row.fact_id,
                "relation": row.relation,
                "choice_ids": [*map(attrgetter("id"), item.others), row.object_id],
                "examples": prompt.examples,
            }
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
            written += 1
            short += prompt.examples < prompts.count
            if scorer is not None and compared < _COMPARED:
                compared += 1
                differ += cuts_differ(scorer, prompt.ending, labels, separator)
    (folder / f"{name}.yaml").write_text(_TASK.format(name=json.dumps(name)), encoding="utf-8")
    (folder / "facts.py").write_text(_READER, encoding="utf-8")
    notes = []
    if left_out:
        total = left_out + written
        notes.append(f"{left_out:,} of {total:,} facts are left out: no example fits into the context.")
    if short:
        few = f"{short:,} of {written:,} facts have fewer than {prompts.count} examples"
        notes.append(f"{few}: no more exist, or no more fit.")
    if scorer is None:
        notes.append(
            "If a model's context is too short for all examples, the harness keeps the last ones, and kgprobe the"
            " first; `model` fits the prompts to a model."
        )
    if differ:
        notes.append(
            f"{differ:,} of the first {compared:,} facts have a choice that shares a token with the end of its prompt,"
            " so that the harness scores another part of it. A `separator` that ends or begins with a space avoids that"
            " with most tokenizers."
        )
    return written, notes


def cuts_differ(scorer: TextScorer, prompt: str, choices: Sequence[str], separator: str) -> bool:
    """Return True if the harness scores other tokens of a choice.

    The harness skips as many tokens as the prompt has alone. Here the score begins with the first token in which the
    prompt with the choice differs from the prompt alone, so a token that spans both belongs to the choice.
    """
    (tokenized,) = scorer.tokenize([prompt], [choices], separator=separator)
    alone = len(tokenized.context)
    return any(place not in tokenized.reasons and start != alone for place, start in enumerate(tokenized.starts))
