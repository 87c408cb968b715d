"""Models of lm-evaluation-harness as models of ours: what probes find with them is what they find with our own."""

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from kgprobe.errors import ArgumentError, KgprobeError, UnknownNameError
from kgprobe.graph.client import Graph
from kgprobe.graph.ingest import load
from kgprobe.models.harness.scorer import HarnessScorer
from kgprobe.models.model import Model, Models, load_model
from kgprobe.models.scoring.scorer import Scorer
from kgprobe.models.spec import load_scoring_model
from kgprobe.probes.outcome import Outcome, Verdict
from kgprobe.probes.register import PROBES, ProbeContext
from kgprobe.records import Entity, Fact, Relation
from kgprobe.sampling.keys import FactKey
from tests.models.exactness import score_tolerance
from tests.models.tiny import save_base
from tests.written_source import WrittenSource

AS_OF = 20200101
CITIES = ["Łódź", "São Paulo", "東京", "New York", "Kyoto</s>", "Zürich"]
ENTITIES = [
    *(Entity(f"c{n}", f"Country {n}", types=("country",)) for n in range(len(CITIES))),
    *(Entity(f"t{n}", name, (f"{name} City",), types=("city",)) for n, name in enumerate(CITIES)),
]
CAPITAL = Relation("capital", "capital", clozes=("The capital of [X] is [Y]", "[X] is ruled from [Y], they say"))
FACTS = [Fact(f"f{n}", f"c{n}", "capital", f"t{n}") for n in range(6)]
KEYS = [FactKey(fact.subject, fact.id) for fact in FACTS]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model")
    save_base(path, "gpt2", n_positions=1024)
    return path


@cache
def allowed(folder: Path, tokens: int = 16) -> float:
    """Return the difference that rounding explains between two scores of so many tokens."""
    return score_tolerance(load_model(f"hf:{folder}", device="cpu").local_scorer().model, tokens)


def of_harness(folder: Path, arguments: str = "dtype=float32,batch_size=8") -> Model:
    return load_model(f"lm-eval:hf,pretrained={folder},{arguments}", device="cpu")


def numbers(value: object) -> list[float]:
    """Return all numbers in an outcome's evidence, in their order."""
    if isinstance(value, dict):
        return [number for one in value.values() for number in numbers(one)]
    if isinstance(value, list):
        return [number for one in value for number in numbers(one)]
    return [float(value)] if isinstance(value, int | float) else []


def plain(outcome: Outcome) -> dict:
    from kgprobe.running.store import encode_line

    return json.loads(encode_line(0, outcome))


@pytest.mark.parametrize(
    ("probe", "options"),
    [
        ("distractors", {"strategy": "random", "distractors": 4}),
        ("distractors", {"strategy": "semantic", "distractors": 4}),
        ("examples", {"examples": 2, "choices": 4}),
        ("examples", {"prompt": "sentences", "choices": 4}),
        ("choices", {"template": None, "reduction": "mean"}),
        ("choices", {"conditional": True}),
    ],
)
def test_outcomes_are_those_of_our_own(
    graph: Graph, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, probe: str, options: dict
) -> None:
    monkeypatch.setenv("KGPROBE_HOME", str(tmp_path))
    load(graph, WrittenSource(ENTITIES, FACTS, [CAPITAL]))
    kind = PROBES.get(probe)
    own, theirs = (
        kind.make(ProbeContext(graph, model, Models(), AS_OF), kind.options_from(options)).ask(KEYS, [1])
        for model in (load_model(f"hf:{folder}", device="cpu", dtype="float32"), of_harness(folder))
    )
    assert {outcome.verdict for outcome in own} <= {Verdict.RIGHT, Verdict.WRONG}
    for one, other in zip(own, theirs, strict=True):
        assert (one.fact, one.verdict, one.prompt, one.reason) == (
            other.fact,
            other.verdict,
            other.prompt,
            other.reason,
        )
        np.testing.assert_allclose(numbers(plain(one)), numbers(plain(other)), atol=allowed(folder), rtol=0)


def test_texts_that_cannot_be_taken_have_the_same_reasons(folder: Path) -> None:
    prompts = ["York is", "York", "\ud800"]
    texts = [["a city", "", "a city", "\ud800"], ["a city " * 400, " "], ["York"]]
    own = load_model(f"hf:{folder}", device="cpu").scorer().score(prompts, texts, eos=True)
    done: list[int] = []
    theirs = of_harness(folder).scorer().score(prompts, texts, eos=True, progress=done.append)
    for one, other in zip(own, theirs, strict=True):
        assert one.reasons == other.reasons
        np.testing.assert_allclose(one.values, other.values, atol=allowed(folder, tokens=1000), rtol=0)
    assert sum(done) == 7


def test_what_needs_the_insides_of_a_model_is_refused(
    graph: Graph, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KGPROBE_HOME", str(tmp_path))
    load(graph, WrittenSource(ENTITIES, FACTS, [CAPITAL]))
    kind, model = PROBES.get("distractors"), of_harness(folder)
    for strategy in ("exact-optimal", "approximate-optimal"):
        probe = kind.make(ProbeContext(graph, model, Models(), AS_OF), kind.options_from({"strategy": strategy}))
        with pytest.raises(KgprobeError, match=r"search for optimal distractors needs .* Use another strategy: random"):
            probe.ask(KEYS[:1], [1])
    with pytest.raises(KgprobeError, match="an API or lm-evaluation-harness gives at most"):
        model.generator()


def test_what_is_no_model_is_said(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match=r"no model of the type 'hg'; it has .*hf"):
        load_scoring_model("lm-eval:hg,pretrained=gpt2")
    with pytest.raises(KgprobeError, match="accepts no token ids"):
        HarnessScorer(object(), name="lm-eval:other")
    with pytest.raises(KgprobeError, match="could not be loaded"):
        load_scoring_model(f"lm-eval:hf,pretrained={tmp_path}", device="cpu")
    spec = f"lm-eval:hf,pretrained={folder},dtype=float32"
    for wrong in ({"dtype": "bfloat16"}, {"revision": "main"}, {"batch_tokens": 9}, {"device": "auto"}):
        with pytest.raises(ArgumentError, match=next(iter(wrong))):
            load_scoring_model(spec, **{"device": "cpu", **wrong})
    with pytest.raises(UnknownNameError):
        load_model("lm-eval:")


def test_model_is_known_by_its_weights(folder: Path) -> None:
    import torch

    model = of_harness(folder)
    before = model.scorer().describe()
    assert not model.refresh()
    with torch.no_grad():
        model.scorer().model.model.transformer.ln_f.weight.mul_(2)
    assert model.refresh()
    assert model.scorer().describe()["weights"] != before["weights"]
    assert not isinstance(model.scorer(), Scorer)
    assert dict(model.scorer().explain())["model"].startswith("HFLM of lm-evaluation-harness")
