"""Models as a user holds them: opened once, asked for either, refreshed after training."""

import doctest
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch
import transformers

from kgprobe.base.errors import KgprobeError, UnknownNameError
from kgprobe.models import identity, model, spec
from kgprobe.models.api.cache import AnswerCache, answer_cache_path
from kgprobe.models.api.generator import ApiGenerator
from kgprobe.models.api.spending import ApiOptions, Prices, Spending
from kgprobe.models.generating.generator import Answer, Request
from kgprobe.models.model import Model, Models, importing_libraries, load_model, wrap_model
from kgprobe.models.scoring import scorer
from kgprobe.models.scoring.scorer import Scorer
from kgprobe.models.spec import wrap_scorer
from kgprobe.models.spec_forms import LocalOptions
from tests.doctests import run_all
from tests.models.api.fault_proxy import FaultProxy
from tests.models.exactness import Reference, assert_exact, reference_scores
from tests.models.tiny import byte_level, random_model, save_base

PROMPTS = ["The capital of Japan is", "York"]
NAMES = [["Tokyo", "Kyoto", "New York"], ["City", "is a city"]]


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of its own for answers, and an environment without keys."""
    monkeypatch.setenv("KGPROBE_HOME", str(tmp_path / "home"))
    for name in list(os.environ):
        if name.startswith(("OPENAI_", "KGPROBE_API_")):
            monkeypatch.delenv(name)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save_base(tmp_path / "llama")
    return tmp_path / "llama"


@pytest.mark.parametrize("module", [identity, model, scorer, spec])
def test_examples_of_the_documentation_are_true(
    module: ModuleType, demo_models: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    models = tmp_path / "home" / "models"
    if models != demo_models:
        # The demo model is elsewhere if an earlier test needed it.
        models.parent.mkdir(exist_ok=True)
        models.symlink_to(demo_models)
    tokenizer = byte_level(bos=True)
    names = {"Request": Request, "Spending": Spending, "tokenizer": tokenizer}
    names |= {"torch": torch, "transformers": transformers}
    examples = doctest.DocTestFinder(exclude_empty=True).find(module)
    for test in examples:
        # An example may change its model.
        net = random_model("llama", len(tokenizer))
        test.globs.update(names | {"net": net, "model": net})
    assert run_all(examples, tiny="tiny" in request.node.callspec.id)


def test_local_model_is_loaded_once_and_when_it_is_needed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    read_model = spec.read_model

    def counted(named: str, *others: object, **options: object):
        read.append(named)
        return read_model(named, *others, **options)

    monkeypatch.setattr(spec, "read_model", counted)
    made = load_model(f"hf:{folder}", device="cpu", bos=False)
    assert (repr(made), made.name) == (f"Model('hf:{folder}')", f"hf:{folder}")
    assert not made.refresh()
    assert read == []
    (answer,) = made.generator().answer([Request("York is", 5)])
    assert isinstance(answer, Answer)
    assert made.scorer() is made.scorer()
    assert made.generator() is made.generator()
    assert made.generator().describe()["weights"] == made.scorer().weights
    assert made.scorer().describe()["leading_tokens"] == []
    assert read == [f"hf:{folder}"]
    with torch.no_grad():
        made.scorer().model.model.norm.weight.mul_(2)
    assert made.refresh()
    assert not made.refresh()


def test_libraries_are_imported_while_a_block_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "library_a.py").write_text("import time\ntime.sleep(0.2)\n")
    (tmp_path / "library_b.py").write_text("import threading\nthread = threading.current_thread()\n")
    monkeypatch.syspath_prepend(tmp_path)
    # The first cannot be imported; the caller's import will say so.
    monkeypatch.setattr(model, "_HEAVY", ("no_library", "library_a", "library_b"))
    with pytest.raises(ValueError, match="no graph"), importing_libraries():
        raise ValueError("no graph")
    assert "library_b" not in sys.modules
    with importing_libraries():
        pass
    assert sys.modules["library_b"].thread is not threading.current_thread()


def test_api_model_scores_only_with_log_probabilities() -> None:
    spending = Spending(max_tokens=1000)
    with FaultProxy() as proxy:
        with load_model(f"openai:m@{proxy.url}", api=ApiOptions(concurrency=2), spending=spending) as made:
            generator = made.generator()
            assert isinstance(generator, ApiGenerator)
            assert generator is made.generator()
            (first,) = generator.answer([Request("Why?", 8)])
            with pytest.raises(KgprobeError, match="does not tokenize"):
                made.scorer()
            assert not made.refresh()
        assert spending.tokens > 0
        # It was kept, and the file is closed.
        with pytest.raises(KgprobeError, match="cannot be read"):
            generator.answer([Request("Why?", 8)])
        kept = AnswerCache(answer_cache_path())
        with load_model(f"openai:m@{proxy.url}", cache=kept) as made:
            (again,) = made.generator().answer([Request("Why?", 8)])
        assert isinstance(again, Answer)
        assert again.cached
        assert again.text == first.text
        assert len(proxy.seen) == 1
        # A file that was given stays open.
        assert len(kept) == 1
        kept.close()


@pytest.mark.parametrize("made", [load_model, Models().open])
def test_folder_goes_by_its_whole_path(
    made: Callable[[str], Model], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder.parent)
    for named in (f"hf:./{folder.name}", f"hf:{folder.name}", f"hf:{folder}/"):
        assert made(named).name == f"hf:{folder}"
    assert made("hf:owner/name").name == "hf:owner/name"


@pytest.mark.parametrize("made", [load_model, Models().open])
def test_what_cannot_be_is_said_at_once(made: Callable[[str], Model]) -> None:
    for named in ("gemma", "hf:", "openai:", ""):
        with pytest.raises(UnknownNameError, match="openai:NAME"):
            made(named)
    with pytest.raises(KgprobeError, match="OPENAI_API_KEY"):
        made("openai:gpt-4o")
    with pytest.raises(KgprobeError, match="holds more than host") as caught:
        made("openai:m@http://user:secret@localhost:1/v1")
    assert "secret" not in str(caught.value)


def test_several_models_share_what_belongs_to_all(folder: Path) -> None:
    loaded: list[str] = []

    def load(named: str, **options: object) -> Scorer:
        loaded.append(named)
        return spec.load_scorer(named, **options)

    named = f"hf:{folder}"
    api = ApiOptions(prices=Prices(1.0, 2.0))
    with (
        FaultProxy() as proxy,
        Models(local=LocalOptions(device="cpu"), api=api, spending=Spending(max_cost=1), load=load) as models,
    ):
        here, there = models.open(named), models.open(f"openai:m@{proxy.url}")
        assert loaded == []
        assert models.scorer(named) is here.scorer()
        assert models.generator(named) is here.generator()
        assert models.open(named) is here
        assert loaded == [named]
        models.generator(there.name).answer([Request("Why?", 8)])
        models.generator(f"{there.name}/").answer([Request("Why?", 8)])
        assert models.spending.usage.keys() == {there.name, f"{there.name}/"}
        assert models.spending.cost > 0
        # The second was answered from the file that both have in common.
        assert len(proxy.seen) == 1
        scores = here.scorer().score(PROMPTS, NAMES)
        with torch.no_grad():
            here.scorer().model.model.norm.weight.mul_(2)
        models.refresh()
        assert here.scorer().score(PROMPTS, NAMES)[0].values[0] != scores[0].values[0]
        models.add(wrap_model(random_model("gpt2", 380), byte_level(bos=True), name="mine"))
        assert models.scorer("mine").name == "mine"


def test_model_of_a_training_loop() -> None:
    tokenizer = byte_level(bos=True)
    net = random_model("llama", len(tokenizer)).train()
    made = wrap_model(net, tokenizer)
    assert made.name == "LlamaForCausalLM"
    stepping = torch.optim.SGD(net.parameters(), lr=0.1)
    described = []
    for _ in range(3):
        made.refresh()
        described.append(made.scorer().describe()["weights"])
        found = [scored.values for scored in made.scorer().score(PROMPTS, NAMES)]
        assert_exact(found, reference_scores(net, tokenizer, [0], PROMPTS, NAMES))
        (answer,) = made.generator().answer([Request("York", 4)])
        assert isinstance(answer, Answer)
        assert net.training
        tokens = torch.tensor([[0, 5, 9, 7, 3]])
        net(tokens, labels=tokens).loss.backward()
        stepping.step()
    assert len(set(described)) == 3


def test_adapters_are_scored_as_they_are_active() -> None:
    peft = pytest.importorskip("peft")
    tokenizer = byte_level(bos=True)
    options = peft.LoraConfig(r=4, target_modules=["q_proj", "v_proj"], init_lora_weights=False, lora_dropout=0.5)
    net = peft.get_peft_model(random_model("llama", len(tokenizer)), options).train()
    frozen = {name: weight.requires_grad for name, weight in net.named_parameters()}
    scorer = wrap_scorer(net, tokenizer, remembered=100)
    assert scorer.describe()["method"] == "packed"

    def wanted() -> list[Reference]:
        net.eval()
        references = reference_scores(net, tokenizer, [0], PROMPTS[:1], NAMES[:1])
        net.train()
        return references

    with_adapter = scorer.score(PROMPTS[:1], NAMES[:1])[0].values
    assert_exact([with_adapter], wanted())
    with net.disable_adapter():
        assert scorer.refresh()
        without = scorer.score(PROMPTS[:1], NAMES[:1])[0].values
        assert_exact([without], wanted())
    assert np.abs(with_adapter - without).max() > 1e-2
    assert net.training
    assert {name: weight.requires_grad for name, weight in net.named_parameters()} == frozen


def test_what_is_no_model_of_ours_is_told() -> None:
    tokenizer = byte_level(bos=True)
    with pytest.raises(KgprobeError, match="Linear is not a model of transformers"):
        wrap_scorer(torch.nn.Linear(2, 2), tokenizer)
    peft = pytest.importorskip("peft")
    options = peft.PromptTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=3)
    net = peft.get_peft_model(random_model("llama", len(tokenizer)), options)
    with pytest.raises(KgprobeError, match="with a learned prompt"):
        wrap_scorer(net, tokenizer)
