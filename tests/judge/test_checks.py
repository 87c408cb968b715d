"""What is refused before a model is read, with messages that say what to do."""

from collections.abc import Callable
from pathlib import Path

import pytest

import kgprobe
from kgprobe.base.errors import ArgumentError, KgprobeError
from kgprobe.base.files import home
from kgprobe.graph.client import Graph
from kgprobe.graph.ingest import load
from kgprobe.models.model import Model
from kgprobe.models.scoring.scorer import Scorer
from kgprobe.results.judge import TrainedJudge
from kgprobe.results.measurement import Measurement
from tests.api.test_judging import FEW_STEPS, told, world
from tests.models.tiny import byte_level, random_model, tiny_scorer
from tests.probes.true_false.test_probe import Rule

pytestmark = pytest.mark.parametrize("endpoint", ["arcadedb"], indirect=True)

OTHERWISE = "Is it so? Say True, False or Unknown.\nStatement: {statement}\nAnswer:"


class Weighty(Rule):
    """A rule that says of which weights it is."""

    def __init__(self, weights: str, name: str = "tiny") -> None:
        super().__init__(told, name)
        self._weights = weights

    def describe(self) -> dict[str, object]:
        return {"name": self.name, "weights": self._weights, "dtype": "float32"}


@pytest.fixture
def tiny() -> Model:
    return Model("tiny", scorer=tiny_scorer(n_positions=1024))


@pytest.fixture
def label(graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Measurement]:
    """Gives labels of a world's facts by a generator."""
    monkeypatch.setenv("KGPROBE_HOME", str(tmp_path / "home"))
    load(graph, world())

    def ask(generator: Rule, **options: object) -> Measurement:
        options = {"repeats": 1, "as_of": 20200101, **options}
        return kgprobe.measure(graph, Model(generator.name, generator=generator), "true-false", **options)  # type: ignore[arg-type]

    return ask


def trained(labels: Measurement, model: Model, **options: object) -> TrainedJudge:
    return kgprobe.train_judge(labels, model=model, layers=(1,), **{**FEW_STEPS, **options})  # type: ignore[arg-type]


def never() -> Model:
    """Return a model that must not be loaded."""

    def fail() -> Scorer:
        raise AssertionError("the model is loaded")

    return Model("tiny", open_scorer=fail)


@pytest.mark.slow
def test_labels_that_were_asked_in_another_way_are_refused(label: Callable[..., Measurement], tiny: Model) -> None:
    judge = trained(label(Weighty("a")), tiny).judge
    assert kgprobe.evaluate_judge(judge, label(Weighty("a"), limit=60), model=tiny).quality.count
    for others, said in (
        ({"instruction": OTHERWISE}, r"instruction 'Judge each statement.*' for the judge's labels, 'Is it so\?"),
        ({"repeats": 2}, "repeats 1 for the judge's labels, 2 for these"),
        ({"temperature": 0.5}, "temperature 1.0 for the judge's labels, 0.5 for these"),
        ({"answer_tokens": 9}, "answer_tokens 16 for the judge's labels, 9 for these"),
    ):
        with pytest.raises(KgprobeError, match=said):
            kgprobe.evaluate_judge(judge, label(Weighty("a"), limit=30, **others), model=never())
    with pytest.raises(KgprobeError, match="weights 'a' for the judge's labels, 'b' for these"):
        kgprobe.evaluate_judge(judge, label(Weighty("b"), limit=30), model=never())


@pytest.mark.slow
def test_of_long_instructions_the_part_that_differs_is_shown(label: Callable[..., Measurement], tiny: Model) -> None:
    beginning = "Think of it. " * 20
    instructions = [f"{beginning}{word}\nStatement: {{statement}}\nAnswer:" for word in ("Now", "Later")]
    judge = trained(label(Weighty("a"), instruction=instructions[0]), tiny).judge
    with pytest.raises(KgprobeError, match=r"instruction '…\. Think of it\. Now.*'…\. Think of it\. Later"):
        kgprobe.evaluate_judge(judge, label(Weighty("a"), limit=30, instruction=instructions[1]), model=never())


def test_name_is_not_taken_from_another_judge(label: Callable[..., Measurement], tiny: Model) -> None:
    labels = label(Weighty("a"))
    first = trained(labels, tiny, name="mine")
    again = trained(labels, tiny, name="mine")
    assert again.judge.digest() == first.judge.digest()
    with pytest.raises(KgprobeError, match=r"mine has another judge: epochs was 3, is 4.*another `name`"):
        trained(labels, never(), name="mine", epochs=4)
    with pytest.raises(KgprobeError, match="seed was 0, is 1"):
        trained(labels, never(), name="mine", seed=1)
    with pytest.raises(KgprobeError, match="labels generator weights was"):
        trained(label(Weighty("b")), never(), name="mine")
    tokenizer = byte_level(bos=True)
    other = Model("tiny", scorer=Scorer(random_model("llama", len(tokenizer)), tokenizer, name="tiny"))
    with pytest.raises(KgprobeError, match="another judge: reader weights"):
        trained(labels, other, name="mine")
    assert kgprobe.open("mine").digest() == first.judge.digest()


def test_what_is_no_judge_is_not_replaced(label: Callable[..., Measurement]) -> None:
    folder = home() / "judges" / "full"
    folder.mkdir(parents=True)
    (folder / "judge.safetensors").write_bytes(b"something else")
    with pytest.raises(KgprobeError, match="is not a judge"):
        trained(label(Weighty("a")), never(), name="full")


def test_labels_of_an_api_model_need_a_reader_model(label: Callable[..., Measurement]) -> None:
    labels = label(Rule(told, "openai:large"))
    with pytest.raises(ArgumentError, match=r"behind an API without hidden states\. Name a local model"):
        kgprobe.train_judge(labels)


def test_model_that_was_asked_must_still_be_itself(label: Callable[..., Measurement], tiny: Model) -> None:
    labels = label(Weighty("of old"))
    models = kgprobe.models.model.Models()
    models.add(tiny)
    with pytest.raises(KgprobeError, match=r"weights of old\), which has other weights now"):
        kgprobe.train_judge(labels, models=models, layers=(1,), **FEW_STEPS)
    same = label(Weighty(tiny.local_scorer().weights))
    assert kgprobe.train_judge(same, models=models, layers=(1,), **FEW_STEPS).judge.layer == 1


def test_useless_labels_are_refused_before_loading_a_model(
    label: Callable[..., Measurement],
) -> None:
    with pytest.raises(KgprobeError, match="at least 10 each of two answers"):
        trained(label(Rule(lambda *_: "True", "sure")), never())
