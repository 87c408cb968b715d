"""Adapters by spec: scores of the merged model, and messages where an adapter does not fit."""

import json
import shutil
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from kgprobe.base.errors import ArgumentError, KgprobeError, UnknownNameError
from kgprobe.models import model_files
from kgprobe.models.generating.generator import Request
from kgprobe.models.generating.local import LocalGenerator
from kgprobe.models.model import load_model
from kgprobe.models.model_files import find_model_files
from kgprobe.models.spec import load_scorer, load_tokenizer
from tests.models.adapters import save_adapter
from tests.models.exactness import assert_exact, reference_scores
from tests.models.tiny import byte_level, save_base

ASKED = (["York is", "Tokyo is the capital"], [["New York", "a city"], ["of Japan"]])


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A base and an adapter in their folders, and peft's model."""
    folder = tmp_path_factory.mktemp("adapters")
    net = save_adapter(folder / "tuned", folder / "base", save_base(folder / "base"))
    return folder, net


@pytest.fixture
def copied(saved, tmp_path):
    """Copies of the two folders, to be changed."""
    shutil.copytree(saved[0], tmp_path, dirs_exist_ok=True)
    return tmp_path


def spec_of(folder):
    return f"hf:{folder / 'base'}+{folder / 'tuned'}"


def change_json(path, **values):
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | values), encoding="utf-8")


def scores(scorer):
    return np.concatenate([scored.values for scored in scorer.score(*ASKED, eos=True)])


def test_adapter_scores_equal_those_of_peft(saved):
    folder, net = saved
    scorer = load_scorer(spec_of(folder), device="cpu")
    wanted = reference_scores(net.get_base_model(), scorer.tokenizer, [0], *ASKED, eos=True)
    assert_exact([scored.values for scored in scorer.score(*ASKED, eos=True)], wanted)
    base = load_scorer(f"hf:{folder / 'base'}", device="cpu")
    assert np.abs(scores(scorer) - scores(base)).min() > 0.01
    assert scorer.choice.method == "packed"
    (answer,) = LocalGenerator(scorer).answer([Request("York is", 5)])
    assert answer.completion_tokens <= 5


def test_adapter_of_the_demo_model_is_applied_to_it(saved, monkeypatch):
    folder, _ = saved
    for name, value in (("demo_model_folder", folder / "base"), ("demo_revision", "wheel 1")):
        monkeypatch.setattr(model_files, name, lambda value=value: value)
    scorer = load_scorer(f"demo+{folder / 'tuned'}", device="cpu")
    assert (scores(scorer) == scores(load_scorer(spec_of(folder), device="cpu"))).all()
    assert scorer.describe()["adapter"]["merged"]


def test_adapter_differs_from_its_base_by_the_adapter_only(saved):
    folder, _ = saved
    base, tuned = (load_scorer(spec, device="cpu").describe() for spec in (f"hf:{folder / 'base'}", spec_of(folder)))
    assert {key for key in base | tuned if base.get(key) != tuned.get(key)} == {"name", "weights", "adapter"}
    adapter = tuned["adapter"]
    assert (adapter["type"], adapter["merged"], adapter["trained_on"]) == ("LORA", True, str(folder / "base"))
    assert adapter["revision"].startswith("sha256:")
    json.dumps(tuned)


def test_adapter_is_explained(saved):
    explained = dict(load_scorer(spec_of(saved[0]), device="cpu").explain())
    assert "LORA" in explained["adapter"]
    assert "merged into the weights: log-probabilities change by up to" in explained["adapter"]


def test_adapter_alone_finds_its_base(copied, monkeypatch):
    together, alone = (scores(load_scorer(spec, device="cpu")) for spec in (spec_of(copied), f"hf:{copied / 'tuned'}"))
    np.testing.assert_array_equal(together, alone)
    # A relative path is looked up next to the adapter, from any directory.
    change_json(copied / "tuned" / "adapter_config.json", base_model_name_or_path="./base")
    monkeypatch.chdir(copied / "tuned")
    assert load_scorer("hf:.", device="cpu").describe()["adapter"]["trained_on"] == "./base"
    change_json(copied / "tuned" / "adapter_config.json", base_model_name_or_path="./gone")
    with pytest.raises(KgprobeError, match=r"trained on \./gone, which is not a model's folder.*hf:BASE\+"):
        load_scorer(f"hf:{copied / 'tuned'}", device="cpu")
    change_json(copied / "tuned" / "adapter_config.json", base_model_name_or_path=None)
    with pytest.raises(KgprobeError, match=r"does not name the model.*hf:BASE\+"):
        load_scorer(f"hf:{copied / 'tuned'}", device="cpu")


def test_adapter_saved_with_its_base_is_applied(saved, copied):
    shutil.copytree(copied / "tuned", copied / "base", dirs_exist_ok=True)
    scorer = load_scorer(f"hf:{copied / 'base'}", device="cpu")
    assert scorer.describe()["adapter"]["merged"]
    np.testing.assert_array_equal(scores(scorer), scores(load_scorer(spec_of(saved[0]), device="cpu")))


def test_base_with_an_adapter_of_its_own_is_refused(copied):
    shutil.copytree(copied / "tuned", copied / "base", dirs_exist_ok=True)
    for spec in (spec_of(copied), f"hf:{copied / 'tuned'}"):
        change_json(copied / "tuned" / "adapter_config.json", base_model_name_or_path=str(copied / "base"))
        with pytest.raises(KgprobeError, match=r"base .*base has an adapter of its own .* one .*tuned\. Merge"):
            find_model_files(spec)


def test_hub_name_of_a_base_is_no_folder(copied, monkeypatch):
    monkeypatch.setattr("kgprobe.models.model_files._hub_info", lambda *_: None)
    monkeypatch.chdir(copied)
    for name in ("owner/base", "base"):
        change_json(copied / "tuned" / "adapter_config.json", base_model_name_or_path=name)
        shutil.copytree(copied / "base", copied / "owner" / "base", dirs_exist_ok=True)
        with pytest.raises(
            KgprobeError, match=rf"on {name}, .* hub is out of reach.*base is the base.*/{name}\+\./tuned"
        ):
            find_model_files("hf:./tuned")
    # The hub's description is used, whatever folders exist.
    reached = SimpleNamespace(sha="c0ffee", siblings=[SimpleNamespace(rfilename="config.json")])
    monkeypatch.setattr("kgprobe.models.model_files._hub_info", lambda *_: reached)
    files = find_model_files("hf:./tuned")
    assert (files.place, files.revision) == ("base", "c0ffee")
    # No repository has two slashes: a path, from the working directory at last.
    change_json(copied / "tuned" / "adapter_config.json", base_model_name_or_path="models/2024/base")
    shutil.copytree(copied / "base", copied / "models" / "2024" / "base")
    assert find_model_files("hf:./tuned").place == copied / "models" / "2024" / "base"


def test_adapter_of_weights_that_round_it_away_stays_unmerged(tmp_path):
    # Changes far below the rounding of bfloat16 weights, in many places: merging would lose them.
    model = save_base(tmp_path / "base")
    net = save_adapter(tmp_path / "tuned", tmp_path / "base", model, target_modules="all-linear", r=16)
    weights = load_file(tmp_path / "tuned" / "adapter_model.safetensors")
    save_file({name: weight * 0.05 for name, weight in weights.items()}, tmp_path / "tuned/adapter_model.safetensors")
    scorer = load_scorer(spec_of(tmp_path), device="cpu", dtype="bfloat16")
    assert scorer.describe()["adapter"]["merged"] is False
    assert "not merged" in dict(scorer.explain())["adapter"]
    assert scorer.choice.method == "packed"
    assert load_scorer(spec_of(tmp_path), device="cpu").describe()["adapter"]["merged"] is True
    assert net is not None


def test_adapter_that_is_not_lora_stays_unmerged(tmp_path):
    from peft import IA3Config, get_peft_model

    model = save_base(tmp_path / "base")
    config = IA3Config(target_modules=["k_proj", "down_proj"], feedforward_modules=["down_proj"], task_type="CAUSAL_LM")
    net = get_peft_model(model, config).eval()
    with torch.no_grad():
        for name, weight in net.named_parameters():
            if "ia3" in name:
                weight.mul_(1.5)
    net.save_pretrained(tmp_path / "tuned")
    scorer = load_scorer(spec_of(tmp_path), device="cpu")
    assert (scorer.describe()["adapter"]["type"], scorer.describe()["adapter"]["merged"]) == ("IA3", False)
    wanted = reference_scores(net.get_base_model(), scorer.tokenizer, [0], *ASKED, eos=True)
    assert_exact([scored.values for scored in scorer.score(*ASKED, eos=True)], wanted)


def test_adapter_with_new_tokens_resizes_the_vocabulary(tmp_path):
    model = save_base(tmp_path / "base")
    tokenizer = byte_level(bos=True)
    tokenizer.add_tokens(["<fact>", "<source>"])
    tokenizer.chat_template = "{{ messages[0]['content'] }}"
    tokenizer.save_pretrained(tmp_path / "tuned")
    model.resize_token_embeddings(len(tokenizer))
    net = save_adapter(tmp_path / "tuned", tmp_path / "base", model, modules_to_save=["embed_tokens", "lm_head"])
    scorer = load_scorer(spec_of(tmp_path), device="cpu")
    asked = (["York is"], [["<fact> New York"]])
    wanted = reference_scores(net.get_base_model(), tokenizer, [0], *asked)
    assert_exact([scored.values for scored in scorer.score(*asked)], wanted)
    assert scorer.choice.projection.weight.shape[0] == len(tokenizer)
    assert len(load_tokenizer(spec_of(tmp_path))) == len(tokenizer)
    assert LocalGenerator(scorer).chats


@pytest.mark.parametrize(
    ("tied", "whole", "lacking"),
    [
        (False, "embed_tokens", "output layer"),
        (False, "lm_head", "input embeddings"),
        # peft trains a copy of tied embeddings; the output layer keeps the base's.
        (True, "embed_tokens", "output layer"),
    ],
)
def test_adapter_without_rows_for_new_tokens_is_refused(tmp_path, tied, whole, lacking):
    model = save_base(tmp_path / "base", tie_word_embeddings=tied)
    model.resize_token_embeddings(382)
    net = save_adapter(tmp_path / "unsaved", tmp_path / "base", model, modules_to_save=[whole])
    net.save_pretrained(tmp_path / "tuned", save_embedding_layers=False)
    with pytest.raises(KgprobeError, match=rf"382 tokens, more than the 380 .*{lacking} .*save_embedding_layers"):
        load_scorer(spec_of(tmp_path), device="cpu")
    net.save_pretrained(tmp_path / "tuned", save_embedding_layers=True)
    scorer = load_scorer(spec_of(tmp_path), device="cpu")
    wanted = reference_scores(net.get_base_model(), scorer.tokenizer, [0], *ASKED, eos=True)
    assert_exact([scored.values for scored in scorer.score(*ASKED, eos=True)], wanted)


def test_adapter_tokenizer_without_embeddings_is_refused(copied):
    tokenizer = byte_level(bos=True)
    tokenizer.add_tokens(["<fact>"])
    tokenizer.save_pretrained(copied / "tuned")
    with pytest.raises(KgprobeError, match=r"381 tokens, more than the 380 .*save_embedding_layers"):
        load_scorer(spec_of(copied), device="cpu")


def test_adapter_chat_template_without_a_tokenizer_is_used(copied):
    (copied / "tuned" / "chat_template.jinja").write_text("{{ messages[0]['content'] }}", encoding="utf-8")
    assert LocalGenerator(load_scorer(spec_of(copied), device="cpu")).chats
    assert not LocalGenerator(load_scorer(f"hf:{copied / 'base'}", device="cpu")).chats


@pytest.mark.parametrize(
    ("base", "message"),
    [
        ({"hidden_size": 64}, r"does not fit the base \(it was trained on .*base\): size mismatch.*Name the base"),
        ({"kind": "gpt2"}, r"does not fit the base .*Target modules .* not found"),
        ({"num_hidden_layers": 2}, r"does not fit the base .*4 of its weights have no place.*layers\.2\."),
        ({"num_hidden_layers": 4}, r"does not fit the base .*of its weights have no place.*layers\.3\."),
    ],
)
def test_adapter_of_another_base_is_refused(copied, base, message):
    shutil.rmtree(copied / "base")
    save_base(copied / "base", **base)
    with pytest.raises(KgprobeError, match=message):
        load_scorer(spec_of(copied), device="cpu")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"task_type": "SEQ_CLS"}, "task SEQ_CLS; only CAUSAL_LM"),
        ({"peft_type": "PREFIX_TUNING", "num_virtual_tokens": 3}, "PREFIX_TUNING that depends on the prompt"),
        ({"alora_invocation_tokens": [5]}, "LORA that depends on the prompt"),
        ({"peft_type": "NEW_KIND"}, "could not be loaded: .*NEW_KIND"),
    ],
)
def test_adapter_of_another_kind_is_refused(copied, values, message):
    change_json(copied / "tuned" / "adapter_config.json", **values)
    with pytest.raises(KgprobeError, match=message):
        load_scorer(spec_of(copied), device="cpu")


def test_adapter_without_weights_is_refused(copied):
    weights = copied / "tuned" / "adapter_model.safetensors"
    torch.save(load_file(weights), copied / "tuned" / "adapter_model.bin")
    weights.unlink()
    with pytest.raises(KgprobeError, match=r"pickled weights only \(adapter_model\.bin\).*Save it again"):
        load_scorer(spec_of(copied), device="cpu")
    (copied / "tuned" / "adapter_model.bin").unlink()
    with pytest.raises(KgprobeError, match=r"tuned has no weights of an adapter \(adapter_model\.safetensors\)"):
        load_scorer(spec_of(copied), device="cpu")


def test_adapter_config_that_is_damaged_is_named(copied):
    (copied / "tuned" / "adapter_config.json").write_text("{", encoding="utf-8")
    with pytest.raises(KgprobeError, match=r"adapter_config\.json is not valid JSON"):
        load_scorer(spec_of(copied), device="cpu")


def test_adapter_without_peft_says_how_to_install_it(saved, monkeypatch):
    monkeypatch.setitem(sys.modules, "peft", None)
    with pytest.raises(KgprobeError, match=r'needs peft.*pip install -e "\.\[peft\]"'):
        load_scorer(spec_of(saved[0]), device="cpu")


def test_folders_that_are_no_base_or_adapter_are_named(saved):
    folder, _ = saved
    base, tuned = folder / "base", folder / "tuned"
    for spec, message in {
        f"hf:{base}+{base}": r"base is not an adapter's folder.*whole model: name it alone",
        f"hf:{tuned}+{tuned}": r"tuned is an adapter, not a base; name its base: hf:BASE\+",
        f"hf:{base}+{folder}/missing": r"missing is not an adapter's folder: it has no adapter_config\.json",
        f"hf:{folder}/missing+{tuned}": r"missing does not exist",
        f"hf:{folder}": r"neither config\.json nor adapter_config\.json",
    }.items():
        with pytest.raises(KgprobeError, match=message):
            load_scorer(spec, device="cpu")


@pytest.mark.parametrize("spec", ["hf:gpt2+", "hf:./base+", "hf:+./tuned", "hf:+"])
def test_adapter_spec_without_a_side_is_wrong_usage(spec):
    with pytest.raises(UnknownNameError, match=r"the plus sign; expected hf:BASE\+ADAPTER"):
        load_model(spec)


def test_adapter_of_another_repository_is_refused(copied, monkeypatch):
    monkeypatch.setattr("kgprobe.models.model_files._hub_info", lambda *_: None)
    change_json(copied / "tuned" / "adapter_config.json", base_model_name_or_path="owner/other")
    with pytest.raises(KgprobeError, match=rf"trained on owner/other, not on me/gpt2. Use hf:owner/other\+{copied}"):
        load_scorer(f"hf:me/gpt2+{copied / 'tuned'}", device="cpu")
    # A folder can be a copy of any repository.
    assert load_scorer(spec_of(copied), device="cpu").describe()["adapter"]["trained_on"] == "owner/other"


def test_adapter_revision_belongs_to_the_base(saved):
    with pytest.raises(ArgumentError, match=r"`revision` is 'v1'; the base .*base of hf:.* is not a repository"):
        load_model(spec_of(saved[0]), revision="v1")
    assert load_model(f"hf:gpt2+{saved[0] / 'tuned'}", revision="v1").local.revision == "v1"


def test_adapter_names_with_plus_signs_are_found(saved, tmp_path, monkeypatch):
    shutil.copytree(saved[0] / "base", tmp_path / "a+b")
    shutil.copytree(saved[0] / "tuned", tmp_path / "c+d")
    monkeypatch.chdir(tmp_path)
    model = load_model("hf:./a+b+./c+d")
    assert model.name == f"hf:{tmp_path}/a+b+{tmp_path}/c+d"
    monkeypatch.chdir(tmp_path / "a+b")
    assert load_model(model.name).name == model.name
    assert load_scorer(model.name, device="cpu").describe()["adapter"]["merged"]
    assert "adapter" not in load_scorer(f"hf:{tmp_path}/a+b", device="cpu").describe()
