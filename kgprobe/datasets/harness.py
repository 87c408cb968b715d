"""A data set as a task of lm-evaluation-harness: the very prompts and choices, so that it says the same of each fact.

``NAME/NAME.yaml`` is the task, ``NAME/facts.jsonl`` has a prompt and its continuations a line, ``NAME/facts.py`` reads
it. The harness joins a prompt and a choice without anything between, so a choice is written with its separator in
front. It takes the first of equally probable choices, and here a tie is no knowledge: the right choice stands last.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from kgprobe.datasets.rows import ChoiceRow
from kgprobe.models.scoring.contract import TextScorer
from kgprobe.models.scoring.tokens import join
from kgprobe.probes.examples.prompts import ExamplePrompts
from kgprobe.sampling.demonstrations import Demonstration

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
"""Gives lm-evaluation-harness the facts that lie beside this file."""

import json
from pathlib import Path

import datasets

TEXT, TEXTS = datasets.Value("string"), datasets.Sequence(datasets.Value("string"))
# Said and not guessed: a text such as 1879-03-14 is no point in time.
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
    """The facts as the split "test"."""
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
    on_fact: Callable[[ChoiceRow, str, Sequence[str]], None] = lambda row, prompt, choices: None,
) -> tuple[int, int]:
    """Write a task into a folder, which is there and empty.

    Args:
        name: what the harness calls the task.
        rows: facts to ask.
        demonstrations: by relation; a fact that has no example is left out.
        on_fact: called with each fact, its prompt and its choices.

    Returns:
        how many facts are in it, and how many have fewer examples than were wanted.
    """
    written = short = 0
    with open(folder / "facts.jsonl", "w", encoding="utf-8") as file:
        for row in rows:
            item = row.item()
            prompt = prompts.prompt(item.fact, demonstrations.get(row.relation, ()), item.labels)
            if not prompt.examples:
                continue
            labels = [*item.labels[1:], item.labels[0]]
            line = {
                "prompt": prompt.text,
                "continuations": [_behind(prompt.text, prompts.layout.separator, label) for label in labels],
                "answer": len(labels) - 1,
                "fact_id": row.fact_id,
                "relation": row.relation,
                "choice_ids": [*(other.id for other in item.others), row.object_id],
                "examples": prompt.examples,
            }
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
            on_fact(row, prompt.ending, labels)
            written += 1
            short += prompt.examples < prompts.count
    (folder / f"{name}.yaml").write_text(_TASK.format(name=json.dumps(name)), encoding="utf-8")
    (folder / "facts.py").write_text(_READER, encoding="utf-8")
    return written, short


def cuts_differ(scorer: TextScorer, prompt: str, choices: Sequence[str], separator: str) -> bool:
    """Whether the harness begins to count elsewhere for one of the choices.

    It counts the tokens behind as many as the prompt has alone; here they count from the first in which the prompt with
    the choice differs from the prompt alone, so that a token that spans both belongs to the choice.
    """
    (tokenized,) = scorer.tokenize([prompt], [choices], separator=separator)
    alone = len(tokenized.context)
    return any(place not in tokenized.reasons and start != alone for place, start in enumerate(tokenized.starts))


def _behind(prompt: str, separator: str, choice: str) -> str:
    """A choice as it stands behind a prompt, with what separates them."""
    return join(prompt, separator, choice)[len(prompt) :]
