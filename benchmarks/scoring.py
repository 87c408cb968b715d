"""The scorer beside lm-pub-quiz and lm-evaluation-harness: one process, the same model, the same inputs.

Three cases, made of the names and sentences of the sample graph:

- ``options``: 60 questions with 60 options of one to three tokens each;
- ``examples``: 20 questions with 100 options each, behind a prompt of 50 examples that all questions share;
- ``distractors``: 50 facts with 200 distractors, entities of several names that are all scored, and with each the EOS
  token; those of the object's type first, as the distractor measure has them.

The peers run on the loaded demo model, as each is fastest there. lm-evaluation-harness: all requests in one call, which
it sorts by length; its cache of logits, as by default, answers all continuations of one token behind a context at once.
lm-pub-quiz: its scores of answers, conditional on the template, summed by its own reduction, a template at a time as
its interface has it; it leaves special tokens out, so it gets the distractors without EOS, which spares it a token
each, and is compared with our scores without. Both in batches of so many continuations as ``BATCHES`` says, found by
trying 1, 8 and more. They need hours for all questions, so they get a part of them (``--questions``), and their time
is scaled by the number of continuations, as the table says; ours is never scaled.

The arithmetic limit is how long the matrix products alone would take that nobody can do without: every token of the
tries of all questions once through the linear layers (with its attention to the tokens before it), and every position
that something is asked of once through the vocabulary. They are counted from the layers' shapes, and timed on products
of just these shapes in the same run, the vocabulary in pieces of a width that suits the processor's cache. Our time is
that of ``Scorer.score``, tokenization included.

``--shape 7b`` takes random weights of a Llama 7B's shape instead, for GPUs, and a small tokenizer made from the names;
no peer runs there.
"""

import os
import random
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click
import numpy as np
from numpy.typing import NDArray

from benchmarks.report import Report, Row, describe_machine, show, versions_of
from kgprobe.cli.options import json_option, seed_option
from kgprobe.records import Entity, Fact, Placed, Relation
from kgprobe.sources import Source, get_loader
from kgprobe.verbalize.sentences import Cloze

if TYPE_CHECKING:
    from transformers import PreTrainedModel

    from kgprobe.models.scorer import Scorer
    from kgprobe.models.tokens import TokenizedPrompt

Floats = NDArray[np.float64]
# What the peers get by default: so many questions, and so many continuations of each.
PARTS = {"options": (6, 60), "examples": (1, 20), "distractors": (1, 256)}
# Continuations that go through a model together.
BATCHES = {
    "lm-evaluation-harness": {"options": 16, "examples": 4, "distractors": 16},
    "lm-pub-quiz": {"options": 60, "examples": 4, "distractors": 64},
}
WITHOUT_EOS = {"lm-pub-quiz"}
SHAPES: Mapping[str, Mapping[str, int]] = {
    "7b": {
        "vocab_size": 32_000,
        "hidden_size": 4096,
        "intermediate_size": 11_008,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "num_key_value_heads": 32,
        "max_position_embeddings": 4096,
    },
    "tiny": {
        "vocab_size": 4_000,
        "hidden_size": 256,
        "intermediate_size": 688,
        "num_hidden_layers": 4,
        "num_attention_heads": 4,
        "num_key_value_heads": 4,
        "max_position_embeddings": 4096,
    },
}
# About as many different tokens as give a name four of them.
TOKENS = 2_000
REPEATS = 3


@dataclass(frozen=True, slots=True)
class Case:
    """Prompts with their continuations.

    Attributes:
        name: one of those above.
        prompts: the questions.
        continuations: for each of them its options.
        eos: whether EOS is scored behind each.
    """

    name: str
    prompts: Sequence[str]
    continuations: Sequence[Sequence[str]]
    eos: bool = False

    def part(self, questions: int, continuations: int | None = None) -> "Case":
        """The first questions, with their first continuations or with all."""
        return Case(
            self.name,
            self.prompts[:questions],
            [its[:continuations] for its in self.continuations[:questions]],
            self.eos,
        )

    @property
    def size(self) -> int:
        """How many continuations there are."""
        return sum(map(len, self.continuations))


@dataclass(frozen=True, slots=True)
class Sample:
    """The sample graph's records, by id."""

    entities: Mapping[str, Entity]
    relations: Mapping[str, Relation]
    facts: Sequence[Fact]

    def cloze(self, fact: Fact, generator: random.Random) -> Cloze:
        """One of the fact's sentences."""
        return Cloze(generator.choice(self.relations[fact.relation].clozes), self.label(fact.subject))

    def label(self, entity: str) -> str:
        """An entity's name."""
        return self.entities[entity].label or entity


def read_sample() -> Sample:
    """The records of the sample that kgprobe brings along."""
    source: Source = get_loader("sample").open()
    return Sample(
        {one.id: one for one in _records(source.entities(), Entity)},
        {one.id: one for one in _records(source.relations(), Relation)},
        list(_records(source.facts(), Fact)),
    )


R = TypeVar("R")


def _records(stream: Iterator[Placed], kind: type[R]) -> Iterator[R]:
    for placed in stream:
        if isinstance(placed.record, kind):
            yield placed.record


def options_case(sample: Sample, tokens: Callable[[str], int], seed: int) -> Case:
    """60 questions, each with the right object and 59 others of its relation, of three tokens at most."""
    generator = random.Random(seed)
    prompts, continuations = [], []
    for fact in generator.sample(sample.facts, len(sample.facts)):
        cloze = sample.cloze(fact, generator)
        objects = sorted({one.object for one in sample.facts if one.relation == fact.relation})
        names = dict.fromkeys(name for one in objects for name in cloze.continuations([sample.label(one)]))
        (right,) = cloze.continuations([sample.label(fact.object)])
        short = [name for name in names if name != right and tokens(name) <= 3]
        if tokens(right) <= 3 and len(short) >= 59:
            prompts.append(cloze.prompt)
            continuations.append([right, *generator.sample(short, 59)])
        if len(prompts) == 60:
            break
    return Case("options", prompts, continuations)


def examples_case(sample: Sample, seed: int) -> Case:
    """20 countries with 100 capitals each, behind 50 countries with theirs."""
    generator = random.Random(seed)
    current = {fact.subject: fact for fact in sample.facts if fact.relation == "P36" and fact.end is None}
    pairs = [(sample.label(fact.subject), sample.label(fact.object)) for fact in current.values()]
    generator.shuffle(pairs)
    examples = " ".join(f"{country} {capital}" for country, capital in pairs[:50])
    capitals = sorted({capital for _, capital in pairs})
    asked = pairs[50:70]
    return Case(
        "examples",
        [f"{examples} {country}" for country, _ in asked],
        [[right, *generator.sample([one for one in capitals if one != right], 99)] for _, right in asked],
    )


def distractors_case(sample: Sample, seed: int) -> Case:
    """50 facts with 200 distractors each, all names of all of them, and EOS."""
    generator = random.Random(seed)
    several = [entity for entity in sample.entities.values() if entity.label and entity.aliases]
    prompts, continuations = [], []
    for fact in generator.sample(sample.facts, 50):
        cloze = sample.cloze(fact, generator)
        right = sample.entities[fact.object]
        others = [entity for entity in generator.sample(several, len(several)) if entity.id != right.id]
        others.sort(key=lambda entity: set(right.types).isdisjoint(entity.types))
        prompts.append(cloze.prompt)
        continuations.append(
            [name for one in (right, *others[:200]) for name in cloze.continuations([one.label, *one.aliases])]
        )
    return Case("distractors", prompts, continuations, eos=True)


@dataclass(frozen=True, slots=True)
class Work:
    """What has to be computed, whatever the way.

    Attributes:
        nodes: different token sequences that the model has to take in, counted by their last tokens.
        positions: those of them that something is asked of.
        attention: floating-point operations of all layers' attention, each node to itself and all before it.
    """

    nodes: int
    positions: int
    attention: float


def work_of(model: "PreTrainedModel", prompts: Sequence["TokenizedPrompt"]) -> Work:
    """The tries of all prompts as one, counted."""
    places: dict[tuple[int, int], int] = {}
    depths: list[int] = []
    asked: set[int] = set()

    def step(node: int, token: int, depth: int) -> int:
        place = places.setdefault((node, token), len(places))
        if place == len(depths):
            depths.append(depth)
        return place

    for prompt in prompts:
        context = [-1]
        for depth, token in enumerate(prompt.context):
            context.append(step(context[-1], token, depth))
        for start, tail in zip(prompt.starts, prompt.tails, strict=True):
            node = context[start]
            asked.add(node)
            for depth, token in enumerate(tail[:-1], start=start):
                node = step(node, token, depth)
                asked.add(node)
    config = model.config.get_text_config()
    width = config.num_attention_heads * getattr(config, "head_dim", config.hidden_size // config.num_attention_heads)
    before = np.array(depths) + 1
    kinds = getattr(config, "layer_types", None) or ["full_attention"] * config.num_hidden_layers
    near = np.minimum(before, config.sliding_window) if "sliding_attention" in kinds else before
    seen = sum(int((near if kind == "sliding_attention" else before).sum()) for kind in kinds)
    # A product with the keys and one with the values, each of a multiplication and an addition.
    return Work(len(depths), len(asked), 4.0 * width * seen)


@dataclass(frozen=True, slots=True)
class Products:
    """How long the model's matrix products take, at their fastest.

    Attributes:
        node: seconds a token for all linear layers but the vocabulary.
        position: seconds a token for the vocabulary.
        rate: floating-point operations a second over the linear layers.
    """

    node: float
    position: float
    rate: float

    def seconds(self, work: Work) -> float:
        """The arithmetic limit: how long nothing but the necessary products would take."""
        return work.nodes * self.node + work.positions * self.position + work.attention / self.rate


def time_products(model: "PreTrainedModel", repeats: int) -> Products:
    """The linear layers one after the other with their own weights, and the vocabulary in pieces."""
    import torch
    from torch.nn.functional import linear

    device, dtype = model.device, model.dtype
    rows = 8192 if device.type == "cuda" else 1024
    layers = [one.weight for one in model.base_model.modules() if isinstance(one, torch.nn.Linear)]
    head = model.get_output_embeddings().weight  # type: ignore[no-untyped-call]
    inputs = {
        size: torch.randn(rows, size, device=device).to(dtype) for size in {one.shape[1] for one in [*layers, head]}
    }

    def fastest(weights: Sequence[torch.Tensor]) -> float:
        def once() -> float:
            clock = time.perf_counter()
            for weight in weights:
                linear(inputs[weight.shape[1]], weight)
            if device.type == "cuda":
                torch.cuda.synchronize(device)
            return time.perf_counter() - clock

        return min(once() for _ in range(repeats))

    with torch.inference_mode():
        node = fastest(layers) / rows
        share = min(len(head), 1 << 16)
        position = min(fastest(head[:share].split(width)) for width in (1024, 4096, 16_384)) / rows / share * len(head)
    return Products(node, position, 2 * sum(one.numel() for one in layers) / node)


def harness_scores(scorer: "Scorer", case: Case) -> Floats:
    """The case by lm-evaluation-harness."""
    from lm_eval.api.instance import Instance
    from lm_eval.models.huggingface import HFLM

    peer = HFLM(
        pretrained=scorer.model,
        tokenizer=deepcopy(scorer.tokenizer),
        batch_size=BATCHES["lm-evaluation-harness"][case.name],
    )
    end = scorer.tokenizer.eos_token if case.eos else ""
    requests = [
        Instance("loglikelihood", {}, (prompt, f" {text}{end}"), number)
        for prompt, texts in zip(case.prompts, case.continuations, strict=True)
        for number, text in enumerate(texts)
    ]
    return np.array([score for score, _ in peer.loglikelihood(requests, disable_tqdm=True)])


def quiz_scores(scorer: "Scorer", case: Case) -> Floats:
    """The case by lm-pub-quiz, without EOS."""
    from lm_pub_quiz import CausalLMEvaluator

    # It leaves settings of its own in it; and padded on the left, it would miss the BOS token and add another.
    tokenizer = deepcopy(scorer.tokenizer)
    tokenizer.padding_side = "right"
    peer = CausalLMEvaluator.from_model(
        scorer.model,
        tokenizer=tokenizer,
        model_type="CLM",
        conditional_score=True,
        model_name="model",
        capitalize=False,
        device=scorer.model.device,
    )
    scores: list[float] = []
    for prompt, texts in zip(case.prompts, case.continuations, strict=True):
        scores += peer.score_answers(
            template=f"{prompt} [Y]",
            answers=list(texts),
            reduction="sum",
            batch_size=BATCHES["lm-pub-quiz"][case.name],
        )
    return np.array(scores)


PEERS: Mapping[str, Callable[["Scorer", Case], Floats]] = {
    "lm-evaluation-harness": harness_scores,
    "lm-pub-quiz": quiz_scores,
}


def measure(scorer: "Scorer", case: Case, peers: Sequence[str], questions: int | None) -> list[Row]:
    """A case by us, beside its arithmetic limit, and by the peers."""
    tokenized = scorer.tokenize(case.prompts, case.continuations, eos=case.eos)
    work = work_of(scorer.model, tokenized)
    # The first time, memory is got and caches are filled.
    warm = case.part(2, 20)
    scorer.score(warm.prompts, warm.continuations, eos=case.eos)
    before = time_products(scorer.model, REPEATS)
    clock = time.perf_counter()
    scorer.score(case.prompts, case.continuations, eos=case.eos)
    ours = time.perf_counter() - clock
    clock = time.perf_counter()
    scorer.tokenize(case.prompts, case.continuations, eos=case.eos)
    tokenizing = time.perf_counter() - clock
    after = time_products(scorer.model, REPEATS)
    products = Products(
        min(before.node, after.node), min(before.position, after.position), max(before.rate, after.rate)
    )
    limit = products.seconds(work)
    rows = [
        Row(case.name, "continuations", case.size, ""),
        Row(case.name, "tokens of the tries", work.nodes, ""),
        Row(case.name, "positions through the vocabulary", work.positions, ""),
        Row(case.name, "rate of the linear layers' products", products.rate / 1e9, "GFLOP/s"),
        Row(case.name, "arithmetic limit", limit, "s"),
        Row(case.name, "share of the arithmetic limit", 100 * limit / ours, "%"),
        Row(case.name, "time", ours, "s"),
        Row(case.name, "of it tokenization", tokenizing, "s"),
        Row(case.name, "questions", len(case.prompts) / ours, "/s"),
    ]
    part = case.part(questions) if questions else case.part(*PARTS[case.name])
    for name in peers:
        print(f"{case.name}: {name} on {part.size} of {case.size} continuations", file=sys.stderr)
        clock = time.perf_counter()
        theirs = PEERS[name](scorer, part)
        seconds = time.perf_counter() - clock
        own = np.concatenate(scorer.score(part.prompts, part.continuations, eos=part.eos and name not in WITHOUT_EOS))
        rows.append(
            Row(
                case.name,
                f"time, the peer's scaled from {part.size} continuations",
                ours,
                "s",
                peer=name,
                peer_value=seconds * case.size / part.size,
                less_is_better=True,
                max_difference=float(np.abs(own - theirs).max()),
            )
        )
    return rows


def random_scorer(shape: str, sample: Sample, device: str, dtype: str, seed: int) -> "Scorer":
    """A Llama of this shape with random weights, and a tokenizer made from the sample's names."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    from kgprobe.models.scorer import Scorer

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=TOKENS,
        special_tokens=["<s>", "</s>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    names = (f" {name}" for entity in sample.entities.values() for name in (entity.label, *entity.aliases))
    tokenizer.train_from_iterator(names, trainer)
    torch.manual_seed(seed)
    options: dict[str, Any] = {**SHAPES[shape], "bos_token_id": 0, "eos_token_id": 1}
    config = LlamaConfig(**options)
    standard = torch.get_default_dtype()
    torch.set_default_dtype(getattr(torch, dtype))
    try:
        with torch.device(device):
            model = LlamaForCausalLM(config)
    finally:
        torch.set_default_dtype(standard)
    ends = {"bos_token": "<s>", "eos_token": "</s>"}
    wrapped = PreTrainedTokenizerFast(tokenizer_object=tokenizer, **ends)  # type: ignore[no-untyped-call]
    return Scorer(model, wrapped, name=shape, bos=True)


@click.command(context_settings={"max_content_width": 100})
@click.option(
    "--case",
    "cases",
    type=click.Choice(tuple(PARTS)),
    multiple=True,
    default=tuple(PARTS),
    show_default=True,
    help="Measure this one; repeatable.",
)
@click.option(
    "--questions",
    type=click.IntRange(min=1),
    help="How many questions of a case a peer gets, whole.  [default: 6, a part of one, a part of one]",
)
@click.option(
    "--peer",
    "peers",
    type=click.Choice((*PEERS, "none")),
    multiple=True,
    default=tuple(PEERS),
    show_default=True,
    help="Compare with this one; repeatable.",
)
@click.option("--shape", type=click.Choice(tuple(SHAPES)), help="Random weights of this shape; no peers.")
@click.option("--device", default="cpu", show_default=True, help="As torch names it.")
@click.option("--dtype", default="float32", show_default=True, help="float32, bfloat16 or float16.")
@seed_option
@json_option
def main(
    cases: tuple[str, ...],
    questions: int | None,
    peers: tuple[str, ...],
    shape: str | None,
    device: str,
    dtype: str,
    seed: int,
    as_json: bool,
) -> None:
    """What scoring costs, beside the peers and beside what the matrix products alone would take."""
    from kgprobe.models.spec import load_scorer

    sample = read_sample()
    machine = {**describe_machine(), "load": round(os.getloadavg()[0], 2)}
    if shape is None:
        scorer = load_scorer("demo", device=device, dtype=dtype)
    else:
        scorer, peers = random_scorer(shape, sample, device, dtype, seed), ()
    for name, text in scorer.explain():
        print(f"{name}: {text}", file=sys.stderr)

    def tokens(name: str) -> int:
        return len(scorer.tokenizer(f" {name}", add_special_tokens=False)["input_ids"])

    made = {
        "options": lambda: options_case(sample, tokens, seed),
        "examples": lambda: examples_case(sample, seed),
        "distractors": lambda: distractors_case(sample, seed),
    }
    rows: list[Row] = []
    for name in cases:
        rows += measure(scorer, made[name](), [peer for peer in peers if peer != "none"], questions)
    versions = versions_of("torch", "transformers", *(["lm-eval", "lm-pub-quiz"] if peers else []))
    show(Report("scoring", rows, seed, versions, machine), as_json=as_json)


if __name__ == "__main__":
    main()
