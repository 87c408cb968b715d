"""``--model kgprobe`` compared with lm-evaluation-harness's ``hf``: the same requests on the same model in memory.

Two cases from collected Wikidata facts, in the form of the harness's tasks:

- ``endings``: like hellaswag, a paragraph about a subject and four continuations of a sentence or two;
- ``letters``: like MMLU, five common examples, a question with four options, and a letter as answer.

Times ``loglikelihood`` of all requests in one call, including tokenization. ``hf`` computes a part of the questions in
batches of each size of ``BATCHES``, and its fastest is scaled; with the size ``auto`` it would begin with the longest
text that the model accepts, too large for a CPU's memory. Its cache of logits is on, as by default. In fp32, its
softmax over a large vocabulary is off by some 0.00003 for each token, so differences to ``softmax_dtype=float64`` are
reported too.
"""

import csv
import gzip
import json
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks.check_example import COLLECTION
from benchmarks.report import Report, Row, show, versions_of
from kgprobe.cli.options import json_option, seed_option

if TYPE_CHECKING:
    from numpy.random import Generator

BATCHES = (1, 4, 8)
CHOICES = 4
_EXAMPLES = 5
_SENTENCES = 6


@dataclass(frozen=True, slots=True)
class Question:
    """Context, its possible continuations, and the right one."""

    context: str
    choices: Sequence[str]
    right: int


@dataclass(frozen=True, slots=True)
class Collection:
    """Collected facts of subjects.

    Attributes:
        labels, descriptions: by entity id.
        facts: pairs of relation and object, by subject.
        sentences: first sentence with ``[X]`` and ``[Y]``, by relation.
        objects: sorted objects, by relation.
    """

    labels: dict[str, str]
    descriptions: dict[str, str]
    facts: dict[str, list[tuple[str, str]]]
    sentences: dict[str, str]
    objects: dict[str, list[str]]

    def sentence(self, subject: str, relation: str, object_: str) -> str:
        """Return a fact as a sentence."""
        return self.sentences[relation].replace("[X]", self.labels[subject]).replace("[Y]", self.labels[object_])


def read_collection(folder: Path) -> Collection:
    """Return the collected Wikidata facts whose relations have a sentence."""
    with gzip.open(folder / "entities.jsonl.gz", "rt", encoding="utf-8") as lines:
        entities = [json.loads(line) for line in lines]
    labels = {entity["id"]: entity["label"] for entity in entities if entity.get("label")}
    descriptions = {entity["id"]: entity["description"] for entity in entities if entity.get("description")}
    sentences = _first_sentences(folder)
    facts: dict[str, list[tuple[str, str]]] = defaultdict(list)
    objects: dict[str, set[str]] = defaultdict(set)
    with gzip.open(folder / "facts.tsv.gz", "rt", encoding="utf-8", newline="") as rows:
        for row in csv.DictReader(rows, delimiter="\t"):
            subject, relation, object_ = row["subject"], row["relation"], row["object"]
            if relation in sentences and subject in labels and object_ in labels:
                facts[subject].append((relation, object_))
                objects[relation].add(object_)
    return Collection(labels, descriptions, dict(facts), sentences, {key: sorted(ids) for key, ids in objects.items()})


def _first_sentences(folder: Path) -> dict[str, str]:
    sentences = {}
    for line in (folder / "relations.jsonl").read_text(encoding="utf-8").splitlines():
        relation = json.loads(line)
        if relation.get("bear_templates"):
            sentences[relation["id"]] = relation["bear_templates"][0]
    return sentences


def endings_case(collection: Collection, count: int, random: "Generator") -> list[Question]:
    """Return paragraphs about subjects; endings are facts of the subject and of three others."""
    rich = sorted(
        subject
        for subject, pairs in collection.facts.items()
        if subject in collection.descriptions and len(set(pairs)) > _SENTENCES + 1
    )
    questions = []
    for _ in range(count):
        subjects = [str(entity) for entity in random.choice(rich, CHOICES, replace=False)]
        right = int(random.integers(CHOICES))
        subject = subjects[right]
        own_facts = collection.facts[subject]
        shuffled = [own_facts[place] for place in random.permutation(len(own_facts))]
        context = " ".join(collection.sentence(subject, *fact) for fact in shuffled[:_SENTENCES])
        choices = [
            f"{collection.labels[subject]} is {collection.descriptions[entity]}. The best known facts: "
            + collection.sentence(entity, *collection.facts[entity][0]).replace(
                collection.labels[entity], collection.labels[subject]
            )
            for entity in subjects
        ]
        questions.append(Question(f"{collection.labels[subject]}: {context}", choices, right))
    return questions


def letters_case(collection: Collection, count: int, random: "Generator") -> list[Question]:
    """Return questions with four options after five common examples."""
    letters = "ABCD"[:CHOICES]
    subjects = sorted(collection.facts)
    examples: list[tuple[str, int]] = []
    while len(examples) < count + _EXAMPLES:
        subject = str(random.choice(subjects))
        relation, object_ = collection.facts[subject][0]
        others = [
            object_ for object_ in collection.objects[relation] if (relation, object_) not in collection.facts[subject]
        ]
        if len(others) < CHOICES - 1:
            continue
        options = [str(entity) for entity in random.choice(others, CHOICES - 1, replace=False)]
        right = int(random.integers(CHOICES))
        options.insert(right, object_)
        question = collection.sentences[relation].replace("[X]", collection.labels[subject]).replace("[Y]", "____")
        lines = [f"{letter}. {collection.labels[entity]}" for letter, entity in zip(letters, options, strict=True)]
        examples.append(("\n".join([question, *lines, "Answer:"]), right))
    head = "".join(f"{text} {letters[right]}\n\n" for text, right in examples[:_EXAMPLES])
    return [Question(head + text, letters, right) for text, right in examples[_EXAMPLES:]]


def ask(model: Any, questions: Sequence[Question]) -> tuple[float, NDArray[np.float64]]:
    """Return a model's time in seconds and its log-probabilities, shape (questions, choices)."""
    from lm_eval.api.instance import Instance

    requests = [
        Instance("loglikelihood", {}, (question.context, f" {text}"), place)
        for question in questions
        for place, text in enumerate(question.choices)
    ]
    clock = time.perf_counter()
    answers = model.loglikelihood(requests, disable_tqdm=True)
    seconds = time.perf_counter() - clock
    return seconds, np.array([value for value, _ in answers]).reshape(len(questions), -1)


def accuracies(questions: Sequence[Question], values: NDArray[np.float64]) -> tuple[float, float]:
    """Return lm-evaluation-harness's ``acc`` and ``acc_norm``."""
    right = np.array([question.right for question in questions])
    lengths = np.array([[len(text) for text in question.choices] for question in questions])
    return float((values.argmax(1) == right).mean()), float(((values / lengths).argmax(1) == right).mean())


def measure(name: str, ours: Any, theirs: Any, questions: Sequence[Question], part: int) -> list[Row]:
    """Return the rows of a case for both."""
    # Warm up memory and caches.
    ask(ours, questions[:2])
    ask(theirs, questions[:2])
    seconds, values = ask(ours, questions)
    times = {}
    for size in BATCHES:
        theirs.batch_size_per_gpu = size
        times[size], expected = ask(theirs, questions[:part])
    theirs.softmax_dtype = torch.float64
    _, exact = ask(theirs, questions[:part])
    theirs.softmax_dtype = None
    fastest = min(times, key=lambda size: times[size])
    difference = float(np.abs(values[:part] - expected).max())
    case = f"{name}, {len(questions)} questions"
    rows = [
        Row(
            case,
            f"time, the peer's scaled from {part} questions",
            seconds,
            "s",
            peer=f"hf, batch size {fastest}",
            peer_value=times[fastest] * len(questions) / part,
            less_is_better=True,
            max_difference=difference,
        )
    ]
    for measure_, own, theirs_value in zip(
        ("acc", "acc_norm"),
        accuracies(questions[:part], values[:part]),
        accuracies(questions[:part], expected),
        strict=True,
    ):
        rows.append(Row(case, f"{measure_} of {part}", own, "", peer="hf", peer_value=theirs_value))
    rows.append(Row(case, "max. difference, hf's softmax in float64", float(np.abs(values[:part] - exact).max()), ""))
    rows += [Row(case, f"hf, batch size {size}: questions", part / seconds, "/s") for size, seconds in times.items()]
    return rows


@click.command(context_settings={"max_content_width": 100})
@click.option("--model", default="demo", show_default=True, help="demo, a repository of the hub, or a folder.")
@click.option("--questions", default=200, show_default=True, help="Questions in each case.")
@click.option("--part", default=24, show_default=True, help="Questions for the peer.")
@click.option("--device", default="cpu", show_default=True, help="Torch device.")
@click.option("--data", default=COLLECTION, type=click.Path(path_type=Path), help="Folder of the collection.")
@seed_option
@json_option
def main(model: str, questions: int, part: int, device: str, data: Path, seed: int, as_json: bool) -> None:
    """Measure the harness's tasks with kgprobe's model and with hf."""
    from copy import deepcopy

    from lm_eval.models.huggingface import HFLM

    from kgprobe.models.harness.model import KgprobeLM

    collection = read_collection(data)
    ours = KgprobeLM(model, device=device, dtype="float32")
    theirs = HFLM(ours.model, tokenizer=deepcopy(ours.tokenizer))
    rows = []
    for name, case in (("endings", endings_case), ("letters", letters_case)):
        rows += measure(name, ours, theirs, case(collection, questions, np.random.default_rng(seed)), part)
    show(Report("lm_eval", rows, seed, versions_of("torch", "transformers", "lm_eval")), as_json=as_json)


if __name__ == "__main__":
    main()
