"""Models in vLLM: scores and answers equal those of kgprobe's own computation, and engines that lie are refused.

The tests run on a stand-in for vLLM's interface; ``-m slow`` runs them on vLLM itself, where it is installed.
"""

import importlib
import importlib.util
import json
import multiprocessing
import os
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Lock, Thread
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from kgprobe.base.errors import ArgumentError, KgprobeError, UnknownNameError
from kgprobe.models import model_files
from kgprobe.models.generating.generator import Answer, Request, Unanswered
from kgprobe.models.model import Model, load_model
from kgprobe.models.model_files import find_model_files, whole_digest
from kgprobe.models.scoring.all_trees import build_all_trees
from kgprobe.models.scoring.tokens import TokenizedPrompt
from kgprobe.models.spec import load_scoring_model, load_tokenizer
from kgprobe.models.spec_forms import absolute_spec, check_local, model_name, short_name
from kgprobe.models.vllm_engine import engine as engine_module
from kgprobe.models.vllm_engine import scorer as scorer_module
from kgprobe.models.vllm_engine.engine import EngineSource, ReplicatedEngine, VllmRequest, device_sets
from kgprobe.models.vllm_engine.options import EngineOptions, parse_spec
from tests.models.exactness import score_tolerance
from tests.models.thinker import ALWAYS, HARMONY, NEXT, NO_SWITCH, thinker
from tests.models.tiny import byte_level, random_model

LONGEST = 512
STAND_IN = Path(__file__).parent / "stand_in"
PROMPTS = ["The capital of Japan is", "The capital of France is", "York", "\ud800"]
NAMES = ["Tokyo", "Kyoto", "New York", "Łódź", "東京", "", "York" * 600, *(f"City {n}" for n in range(60))]
REQUESTS = [
    Request(prompt, max_tokens, continuation=continuation)
    for prompt in ("The capital of Japan is", "York\n", "Łódź is", "a " * 500, "\ud800")
    for max_tokens in (3, 16)
    for continuation in (False, True)
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model")
    tokenizer = byte_level(bos=True)
    # More ids than the tokenizer's. vLLM computes heads of at least 32 numbers on CPUs.
    shape = {"hidden_size": 64, "num_attention_heads": 2, "max_position_embeddings": LONGEST}
    random_model("llama", 640, **shape).save_pretrained(path)
    tokenizer.save_pretrained(path)
    return path


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Return the stand-in, which ``import vllm`` finds, also in child processes."""
    monkeypatch.delitem(sys.modules, "vllm", raising=False)
    monkeypatch.syspath_prepend(STAND_IN)
    yield importlib.import_module("vllm")
    sys.modules.pop("vllm", None)


@pytest.fixture(params=["stand-in", pytest.param("vllm", marks=pytest.mark.slow)])
def model(request: pytest.FixtureRequest, folder: Path) -> Model:
    """A model in an engine."""
    if request.param == "vllm":
        return request.getfixturevalue("real")
    request.getfixturevalue("stand_in")
    return load(folder)


@pytest.fixture(scope="module")
def real(folder: Path) -> Iterator[Model]:
    """A model in vLLM itself."""
    pytest.importorskip("vllm")
    model = load(folder, "enforce_eager=yes", "max_num_seqs=64", "kv_cache_memory_bytes=200000000")
    yield model
    model.scorer().engine.close()


def load(folder: Path, *options: str, **others: Any) -> Model:
    return load_model(",".join([f"vllm:{folder}", *options]), dtype="float32", **others)


@cache
def allowed(folder: Path) -> float:
    """Return the difference that rounding explains between two scores of 16 tokens, at least 0.0001."""
    return max(1e-4, score_tolerance(own(folder).local_scorer().model, 16))


@cache
def own(folder: Path) -> Model:
    return load_model(f"hf:{folder}", device="cpu", dtype="float32")


def of_engine(reasons: Mapping[int, str]) -> dict[int, str]:
    """Return reasons with the limit of an engine, which needs room for the token that it generates."""
    return {place: reason.replace(str(LONGEST), str(LONGEST - 1)) for place, reason in reasons.items()}


def expected_answers(folder: Path) -> list[Answer | Unanswered]:
    """Return the answers to REQUESTS by kgprobe's own computation, with the limit of an engine."""
    answers = own(folder).generator().answer(REQUESTS)
    reasons = {place: answer.reason for place, answer in enumerate(answers) if isinstance(answer, Unanswered)}
    for place, reason in of_engine(reasons).items():
        answers[place] = Unanswered(reason)
    return answers


def test_scores_equal_own_scores_within_tolerance(model: Model, folder: Path) -> None:
    done: list[int] = []
    scores = model.scorer().score(PROMPTS, [NAMES] * len(PROMPTS), eos=True, progress=done.append)
    expected = own(folder).scorer().score(PROMPTS, [NAMES] * len(PROMPTS), eos=True)
    for scored, plain in zip(scores, expected, strict=True):
        assert scored.reasons == of_engine(plain.reasons)
        np.testing.assert_allclose(scored.values, plain.values, atol=allowed(folder), rtol=0)
    assert np.isfinite(scores[0].values).sum() == len(NAMES) - 2
    assert sum(done) == len(NAMES) * len(PROMPTS)


def test_edges_node_with_600_children_is_split(model: Model, folder: Path) -> None:
    context, tails = (0, 7, 8, 9), tuple((token,) for token in range(20, 620))
    trees = build_all_trees([TokenizedPrompt(context, (4,) * len(tails), tails)], 1 << 20)
    ((_, values),) = model.scorer().edge_log_probabilities(trees)
    ((_, expected),) = own(folder).local_scorer().edge_log_probabilities(trees)
    np.testing.assert_allclose(values, expected, atol=1e-4, rtol=0)


def test_answers_equal_own_answers(model: Model, folder: Path) -> None:
    done: list[int] = []
    answers = model.generator().answer([*REQUESTS, REQUESTS[0]], done.append)
    assert answers[:-1] == expected_answers(folder)
    assert answers[-1] == answers[0]
    assert sum(done) == len(REQUESTS) + 1


def test_sampled_answers_depend_on_the_seed(model: Model) -> None:
    requests = [Request("York is", 8, temperature=1.5, seed=seed, continuation=True) for seed in range(4)]
    answers = model.generator().answer(requests)
    assert len(set(answers)) > 1
    assert model.generator().answer(requests[::-1]) == answers[::-1]


@pytest.mark.usefixtures("stand_in")
@pytest.mark.parametrize(
    ("template", "following"),
    [
        # The template begins the thought.
        (ALWAYS, {"\n": {"No,": 1}, "Hmm": {"</think>": 1}}),
        (NO_SWITCH, {"Hmm": {"</think>": 1}}),
        # The markers are special tokens; after a channel's name, the model thinks, then answers.
        (HARMONY, {"<|channel|>": {"final": 1}, "<|message|>": {"Yes": 1}, "Yes": {"<|return|>": 1}}),
    ],
)
def test_thought_is_never_an_answer(
    template: str, following: dict[str, dict[str, float]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The engine's tests refuse this model, because most of its tokens are equally probable.
    monkeypatch.setattr(scorer_module, "check_engine", lambda *_, **__: None)
    first = {"assistant": {"No,": 1}, "No,": {"<|end|>": 1}, "<|end|>": {"<|channel|>": 1}, "final": {"<|message|>": 1}}
    words = first | following if template == HARMONY else NEXT | following
    plain = thinker(template, words, positions=LONGEST)
    plain.model.save_pretrained(tmp_path)
    plain.tokenizer.save_pretrained(tmp_path)
    requests = [Request("Is it so?", size, continuation=goes) for size in (2, 3, 16) for goes in (False, True)]
    answers = load(tmp_path).generator().answer(requests)
    assert answers == own(tmp_path).generator().answer(requests)
    short, longer, whole = answers[::2]
    assert (short.text, short.thought_cut, whole.text, whole.ended) == ("", True, "Yes", True)
    assert longer.text == ""
    assert whole.thought.startswith("No,")
    assert whole.thought_tokens > 1
    assert not whole.thought_cut


def test_description_has_engine_version_and_weights(model: Model, folder: Path) -> None:
    described = model.scorer().describe()
    assert described["engine"]["name"] == "vllm"
    assert described["dtype"] == "float32"
    assert described["revision"] == whole_digest(folder)
    assert described["versions"]["vllm"] == sys.modules["vllm"].__version__
    assert described["max_tokens"] == LONGEST - 1
    assert dict(model.scorer().explain())["check: sum of all probabilities"].startswith(("1.000", "0.999"))
    assert model.generator().describe()["end_tokens"] == [1]
    assert not model.refresh()
    json.dumps(described)


@pytest.mark.usefixtures("stand_in")
def test_revision_of_a_folder_is_a_digest_of_whole_weights(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The first and last bytes of the weights that the revision of other models is made of.
    monkeypatch.setattr(model_files, "_SAMPLE", 64)
    assert load(folder).scorer().revision == whole_digest(folder) != find_model_files(f"hf:{folder}").revision


def test_requests_per_call_are_bounded(stand_in: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scorer = load(folder).scorer()
    expected = scorer.score(PROMPTS[:3], [NAMES] * 3)
    stand_in.CALLS.clear()
    monkeypatch.setattr(scorer_module, "_REQUESTS_AT_ONCE", 7)
    scores = scorer.score(PROMPTS[:3], [NAMES] * 3)
    assert max(stand_in.CALLS) <= 7
    assert len(stand_in.CALLS) > 5
    assert max(stand_in.IDS) == 128
    for scored, other in zip(scores, expected, strict=True):
        np.testing.assert_array_equal(scored.values, other.values)


@pytest.mark.parametrize(
    ("lie", "problem"),
    [
        ("stale", r"after a cached beginning.*enable_prefix_caching=no"),
        ("fewer", r"vLLM returned \d+ of \d+ log-probabilities"),
        ("nan", "vLLM returned nan as a log-probability"),
        ("flat", r"sum to 0\.\d+ instead of 1"),
        ("greedy", "The greedy token has a log-probability of"),
        ("processed", "depend on the temperature or on a bias"),
    ],
)
def test_lying_engine_is_refused(stand_in: Any, folder: Path, lie: str, problem: str) -> None:
    stand_in.LIE = lie
    with pytest.raises(KgprobeError, match=rf"cannot score: .*{problem}"):
        load(folder).scorer()


def test_stale_engine_without_prefix_caching_is_accepted(stand_in: Any, folder: Path) -> None:
    stand_in.LIE = "stale"
    assert load(folder, "enable_prefix_caching=no").scorer().score(["York"], [["Tokyo"]])[0].values < 0


def test_plain_check_finds_other_weights(stand_in: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = dict(load(folder, "plain_check=yes").scorer().explain())
    assert float(rows["check: agreement with transformers"].split()[0]) < 1e-4
    original = stand_in.LLM._logits
    monkeypatch.setattr(stand_in.LLM, "_logits", lambda *given: original(*given) * 0.9)
    with pytest.raises(KgprobeError, match="differ from those of transformers"):
        load(folder, "plain_check=yes").scorer()
    load(folder).scorer()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["stand-in", "vllm"])
def test_data_parallel_scores_equal_single_engine(kind: str, request: pytest.FixtureRequest, folder: Path) -> None:
    options = ["data_parallel_size=2"]
    if kind == "vllm":
        pytest.importorskip("vllm")
        options += ["enforce_eager=yes", "max_num_seqs=64", "kv_cache_memory_bytes=200000000"]
    else:
        request.getfixturevalue("stand_in")
    model = load(folder, *options)
    try:
        scores = model.scorer().score(PROMPTS[:3], [NAMES] * 3)
        assert model.generator().answer(REQUESTS) == expected_answers(folder)
    finally:
        engine = model.scorer().engine
        engine.close()
    for scored, plain in zip(scores, own(folder).scorer().score(PROMPTS[:3], [NAMES] * 3), strict=True):
        np.testing.assert_allclose(scored.values, plain.values, atol=allowed(folder), rtol=0)
    with pytest.raises(KgprobeError, match="its engines were ended"):
        engine.forget_prefixes()


@pytest.mark.slow
@pytest.mark.usefixtures("stand_in")
def test_engine_error_in_a_process_is_reported(folder: Path, tmp_path: Path) -> None:
    for file in folder.iterdir():
        if file.suffix == ".json":
            (tmp_path / file.name).write_bytes(file.read_bytes())
    with pytest.raises(KgprobeError, match="could not be loaded by vLLM"):
        load(tmp_path, "data_parallel_size=2").scorer()


@pytest.mark.parametrize("failure", ["refused", "interrupted"])
def test_engines_are_ended_after_a_failed_call(
    stand_in: Any, failure: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original, one_at_a_time = stand_in.LLM.__init__, Lock()

    # transformers replaces functions of its modules while it loads, so threads must not load at the same time.
    def load_alone(llm: Any, **arguments: Any) -> None:
        with one_at_a_time:
            original(llm, **arguments)

    monkeypatch.setattr(stand_in.LLM, "__init__", load_alone)

    def thread(target: Any, args: tuple[Any, ...], daemon: bool) -> Thread:
        # A process has its own copy of the connection.
        copy = Connection(os.dup(args[-1].fileno()))
        return Thread(target=target, args=(*args[:-1], copy), daemon=not daemon)

    threads = SimpleNamespace(Pipe=multiprocessing.Pipe, Process=thread)
    monkeypatch.setattr("multiprocessing.get_context", lambda _: threads)
    engine = ReplicatedEngine(EngineSource("vllm:x", str(folder), None, "float32", EngineOptions(data_parallel_size=2)))
    assert [output.tokens for output in engine.run([])] == []
    processes = list(engine._processes)
    # No token has this id.
    first = VllmRequest((5,), (10**6,) if failure == "refused" else (7,))
    with monkeypatch.context() as patch:
        if failure == "interrupted":
            patch.setattr(engine, "_receive", interrupt)
        with pytest.raises(KgprobeError if failure == "refused" else KeyboardInterrupt):
            engine.run([first, VllmRequest((6,), (7,))])
    assert not any(process.is_alive() for process in processes)
    # The second engine's result of the failed call is not read as one of this call.
    for call in (lambda: engine.run([VllmRequest((8,), (7,)), VllmRequest((9,), (7,))]), engine.forget_prefixes):
        with pytest.raises(KgprobeError, match="engines were ended, because a call failed"):
            call()


def interrupt(_: int) -> None:
    raise KeyboardInterrupt


@pytest.mark.usefixtures("stand_in")
def test_data_parallel_engines_get_gpus_of_their_own(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.device_count", lambda: 6)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "7,6,5,4,3,2")
    source = EngineSource("vllm:a/b", "a/b", None, None, EngineOptions(tensor_parallel_size=2, data_parallel_size=3))
    assert device_sets(source) == ["7,6", "5,4", "3,2"]
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    assert device_sets(source) == ["0,1", "2,3", "4,5"]
    with pytest.raises(KgprobeError, match=r"needs 8 GPUs \(4 engines with 2\); 6 are visible"):
        load(folder, "tensor_parallel_size=2", "data_parallel_size=4").scorer()


@pytest.mark.usefixtures("stand_in")
def test_max_model_len_too_short_for_the_tests_is_refused(folder: Path) -> None:
    with pytest.raises(KgprobeError, match="max_model_len is 9; the tests of the engine need"):
        load(folder, "max_model_len=9").scorer()


def test_local_uses_are_refused_before_loading(folder: Path) -> None:
    with pytest.raises(KgprobeError, match="vLLM gives log-probabilities and texts"):
        load(folder).local_scorer()
    with pytest.raises(KgprobeError, match="is computed by vLLM"):
        load_tokenizer(f"vllm:{folder}")


def test_missing_or_old_vllm_is_explained(stand_in: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stand_in, "SamplingParams", lambda **_: int(what=1))
    with pytest.raises(KgprobeError, match=r"needs vLLM 0\.22 or later.*version 0\.32\.0 is installed"):
        load(folder).scorer()
    monkeypatch.setitem(sys.modules, "vllm", None)
    with pytest.raises(KgprobeError, match=r"needs vLLM .*\.\[vllm\]"):
        load(folder).scorer()


@pytest.mark.parametrize(
    ("spec", "error", "problem"),
    [
        ("vllm:", UnknownNameError, "expected vllm:NAME"),
        ("vllm:a/b,tensor_paralel_size=2", ArgumentError, "did you mean tensor_parallel_size"),
        ("vllm:a/b,trust_remote_code=yes", ArgumentError, "is not an option of vllm:NAME"),
        ("vllm:a/b,load_format=pt", ArgumentError, "is not an option of vllm:NAME"),
        ("vllm:a/b,tensor_parallel_size=two", ArgumentError, "a whole number from 1 is expected"),
        ("vllm:a/b,tensor_parallel_size=0", ArgumentError, "a whole number from 1 is expected"),
        ("vllm:a/b,enforce_eager=maybe", ArgumentError, "True or False is expected"),
        ("vllm:a/b,enforce_eager", ArgumentError, "has no value"),
        ("vllm:a/b,seed=1,seed=1", ArgumentError, "is given twice"),
    ],
)
def test_parse_spec_invalid_names_the_fault(spec: str, error: type[KgprobeError], problem: str) -> None:
    with pytest.raises(error, match=problem):
        check_local(spec)


def test_parse_spec_reads_options() -> None:
    options = parse_spec("vllm:a/b,enable_prefix_caching=no,gpu_memory_utilization=0.5,data_parallel_size=4").options
    assert options.data_parallel_size == 4
    assert options.engine_arguments() == {
        "tensor_parallel_size": 1,
        "pipeline_parallel_size": 1,
        "enable_prefix_caching": False,
        "gpu_memory_utilization": 0.5,
    }


def test_spec_names_and_revision(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert absolute_spec("vllm:./mine,quantization=fp8") == f"vllm:{tmp_path}/mine,quantization=fp8"
    assert absolute_spec("vllm:a/b,quantization=fp8") == "vllm:a/b,quantization=fp8"
    assert short_name("vllm:a/b,quantization=fp8") == "a-b"
    assert model_name("vllm:/models/mine,quantization=fp8") == "mine"
    check_local("vllm:a/b", "main")
    with pytest.raises(ArgumentError, match="revision"):
        check_local(f"vllm:{folder}", "main")
    with pytest.raises(ArgumentError, match="set CUDA_VISIBLE_DEVICES"):
        load_scoring_model(f"vllm:{folder}", device="cuda:1")


@pytest.mark.usefixtures("stand_in")
def test_batch_tokens_given_twice_is_refused(folder: Path) -> None:
    with pytest.raises(ArgumentError, match="already has max_num_batched_tokens"):
        load(folder, "max_num_batched_tokens=64", batch_tokens=64).scorer()
    assert load(folder, batch_tokens=64).scorer().source.options.max_num_batched_tokens == 64


@pytest.mark.slow
def test_stand_in_and_options_exist_in_vllm() -> None:
    vllm = pytest.importorskip("vllm")
    module = importlib.util.spec_from_file_location("stand_in", STAND_IN / "vllm.py")
    stand_in = importlib.util.module_from_spec(module)
    module.loader.exec_module(stand_in)
    arguments = importlib.import_module("vllm.engine.arg_utils").EngineArgs.__dataclass_fields__
    assert set(arguments) >= stand_in.ENGINE_ARGUMENTS
    parameters = set(stand_in.SamplingParams.__dataclass_fields__)
    assert parameters <= {field.name for field in __import__("msgspec").structs.fields(vllm.SamplingParams)}
    limit = importlib.import_module("vllm.sampling_params").MAX_LOGPROB_TOKEN_IDS
    assert limit == stand_in.MAX_LOGPROB_TOKEN_IDS == engine_module.MAX_TARGETS
