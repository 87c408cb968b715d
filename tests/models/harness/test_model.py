"""``--model kgprobe`` beside lm-evaluation-harness's own ``hf``: the same answers to every request."""

import json
import subprocess
import sys

import numpy as np
import pytest
from lm_eval.api.instance import Instance
from lm_eval.api.registry import get_model
from lm_eval.models.huggingface import HFLM

import kgprobe.lm_eval
from kgprobe.errors import KgprobeError
from kgprobe.models.harness.model import KgprobeLM
from tests.models.exactness import score_tolerance
from tests.models.harness.tasks import evaluate, write_tasks
from tests.models.tiny import byte_level, random_model, save_base, unigram

PLACES = ["Tokyo", "Kyoto", "New York City", "York", "Łódź", "São Paulo", "Zürich", "New Zealand"]
KINDS = ("endings", "letters", "word", "document", "written")


def documents(count: int = 12):
    drawn = np.random.default_rng(0)
    for number in range(count):
        choices = [f"{PLACES[place]}, far away from {PLACES[place - 1]}" for place in drawn.permutation(8)[:4]]
        query = f"The capital of {PLACES[number % 8]} {number} is"
        yield {"query": query, "choices": choices, "label": int(drawn.integers(4))}


@pytest.fixture(scope="module")
def tasks(tmp_path_factory):
    return write_tasks(tmp_path_factory.mktemp("tasks"), {kind: list(documents()) for kind in KINDS})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("model")
    save_base(path)
    return path


def ask(model, pairs):
    return model.loglikelihood([Instance("loglikelihood", {}, pair, n) for n, pair in enumerate(pairs)], True)


def test_every_answer_and_every_figure_is_that_of_hf(tasks, folder):
    model = random_model("llama", len(byte_level(bos=True)))
    allowed = score_tolerance(model, tokens=24)
    theirs, their_answers = evaluate(HFLM(str(folder), device="cpu", batch_size=8), tasks, KINDS)
    ours, our_answers = evaluate(KgprobeLM(str(folder), device="cpu"), tasks, KINDS)
    assert ours.keys() == theirs.keys() == {f"own_{kind}" for kind in KINDS}
    assert ours["own_written"] == theirs["own_written"]
    assert our_answers["own_written"] == their_answers["own_written"]
    for task in ("own_endings", "own_letters"):
        assert ours[task]["acc,none"] == theirs[task]["acc,none"]
        assert ours[task]["acc_norm,none"] == theirs[task]["acc_norm,none"]
    for task in ("own_endings", "own_letters", "own_word"):
        values, greedy = zip(*np.array(our_answers[task], dtype=object).reshape(-1, 2).tolist(), strict=True)
        wanted, their_greedy = zip(*np.array(their_answers[task], dtype=object).reshape(-1, 2).tolist(), strict=True)
        np.testing.assert_allclose(np.array(values, float), np.array(wanted, float), atol=allowed, rtol=0)
        assert greedy == their_greedy
    assert ours["own_document"]["bits_per_byte,none"] == pytest.approx(
        theirs["own_document"]["bits_per_byte,none"], abs=score_tolerance(model, tokens=1)
    )


@pytest.mark.parametrize(
    ("name", "tokenizer"),
    [
        ("gpt2", byte_level()),
        ("llama", byte_level(bos=True)),
        ("gemma3, narrow window", unigram()),
        ("bloom", unigram(bos=False)),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_odd_requests_are_answered_as_hf_does(name, tokenizer):
    model = random_model(name, len(tokenizer))
    # Its cache mistakes the places of a continuation for those of a longer one that ends in the same texts.
    theirs = HFLM(model, tokenizer=tokenizer, max_length=40, logits_cache=False)
    ours = KgprobeLM(model, tokenizer=tokenizer, max_length=40)
    allowed = score_tolerance(model, tokens=24)
    long = "New York is another place. " * 12
    pairs = [
        ("", "Tokyo"),
        ("", " York"),
        ("York", " is"),
        ("York ", "is"),
        ("York  ", " is a city"),
        ("York\n", "is\n"),
        ("York", "is</s>"),
        ("<s>York", " is"),
        ("York is", " a city"),
        ("York is", " a"),
        ("York is", " a"),
        (long, " York"),
        (long + "The", " capital of Japan"),
    ]
    wanted = ask(theirs, pairs)
    # What the model would go on with, so that something is greedy.
    (likely,) = theirs.generate_until(
        [Instance("generate_until", {}, ("York is", {"until": [], "max_gen_toks": 1}), 0)], True
    )
    pairs, wanted = [*pairs, ("York is", likely)], [*wanted, *ask(theirs, [("York is", likely)])]
    found = ask(ours, pairs)
    np.testing.assert_allclose([one for one, _ in found], [one for one, _ in wanted], atol=allowed, rtol=0)
    assert [greedy for _, greedy in found] == [greedy for _, greedy in wanted]
    rolling = [Instance("loglikelihood_rolling", {}, (text,), 0) for text in (long, "York")]
    np.testing.assert_allclose(
        ours.loglikelihood_rolling(rolling, True),
        theirs.loglikelihood_rolling(rolling, True),
        atol=10 * allowed,
        rtol=0,
    )


def test_some_greedy_continuations_are_found():
    tokenizer = byte_level(bos=True)
    model = random_model("llama", len(tokenizer))
    ours = KgprobeLM(model, tokenizer=tokenizer)
    texts = [tokenizer.decode([token]) for token in range(2, len(tokenizer))]
    found = ask(ours, [("York is", text) for text in texts])
    wanted = ask(HFLM(model, tokenizer=tokenizer, logits_cache=False), [("York is", text) for text in texts])
    assert [greedy for _, greedy in found] == [greedy for _, greedy in wanted]
    assert any(greedy for _, greedy in found)


def test_what_cannot_be_asked_is_said():
    tokenizer = byte_level(bos=True)
    model = KgprobeLM(random_model("llama", len(tokenizer)), tokenizer=tokenizer, max_length=8)
    with pytest.raises(KgprobeError, match=r"' York York.* more than the 8 .*`max_length`"):
        ask(model, [("York", " York" * 40)])
    with pytest.raises(KgprobeError, match="has no tokens"):
        ask(model, [("York", "")])
    with pytest.raises(KgprobeError, match="mixed_precision_dtype"):
        KgprobeLM(random_model("llama", len(tokenizer)), tokenizer=tokenizer, mixed_precision_dtype="bfloat16")


def test_answers_are_kept_as_they_come():
    kept = {}

    class Hook:
        def add_partial(self, kind, request, answer):
            kept[kind, request] = answer

    tokenizer = byte_level(bos=True)
    model = KgprobeLM(random_model("llama", len(tokenizer)), tokenizer=tokenizer)
    model.set_cache_hook(Hook())
    pairs = [("York is", " a city"), ("Tokyo is", " a city")]
    assert ask(model, pairs) == [kept["loglikelihood", pair] for pair in pairs]


@pytest.mark.slow
def test_command_line_knows_the_model(tasks, folder, tmp_path):
    assert get_model(kgprobe.lm_eval.NAME) is KgprobeLM
    command = [sys.executable, "-m", "kgprobe.lm_eval", "run", "--model", "kgprobe", "--device", "cpu"]
    command += ["--model_args", f"pretrained={folder}", "--include_path", str(tasks), "--tasks", "own_letters"]
    done = subprocess.run([*command, "--output_path", str(tmp_path)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    (results,) = tmp_path.rglob("results_*.json")
    found = json.loads(results.read_text())
    theirs, _ = evaluate(HFLM(str(folder), device="cpu"), tasks, ["letters"])
    assert found["results"]["own_letters"]["acc_norm,none"] == theirs["own_letters"]["acc_norm,none"]
