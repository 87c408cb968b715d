"""Scores against their definition: one plain forward pass for each continuation."""

import json
from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kgprobe.base.errors import KgprobeError
from kgprobe.models.scoring import scorer as scorer_module
from kgprobe.models.scoring.batching import Prefixes
from kgprobe.models.scoring.forward import extend
from kgprobe.models.scoring.scorer import Scorer
from tests.cases import rotate, slow_except
from tests.models.exactness import (
    PAIR,
    allowed_difference,
    assert_as_exact,
    assert_exact,
    double_copy,
    reference_scores,
)
from tests.models.tiny import ARCHITECTURES, byte_level, random_model, unigram

PROMPTS = ["The capital of Japan is", "York", "The official language of Switzerland and of some cities in Poland is"]
CONTINUATIONS = [
    ["Tokyo", "Kyoto", "New York City", "New York", "Tokyo", "New Zealand", "New", "T"],
    ["City", "is a city in Brazil", "is a city in Poland", "🙂", "العربية"],
    ["German", "French, Italian and Romansh", "French, Italian", "Łódź"],
]


def expected(model, tokenizer, leading, eos=False, prompts=PROMPTS, continuations=CONTINUATIONS, **others):
    return reference_scores(model, tokenizer, leading, prompts, continuations, eos, **others)


def assert_close(found, wanted):
    assert len(found) == len(wanted)
    for one in found:
        assert one.values.dtype == np.float64
        assert not one.reasons
    assert_exact([one.values for one in found], wanted)


@pytest.fixture(scope="module")
def tokenizer():
    return byte_level(bos=True)


@pytest.fixture(scope="module")
def tiny_models(tokenizer):
    return {name: random_model(name, len(tokenizer)) for name in ARCHITECTURES}


# Every architecture at least once, and both with and without BOS and EOS.
OPTIONS = [(False, False), (True, True), (False, True), (True, False)]
METHODS = [
    pytest.param(name, method, marks=pytest.mark.slow if name != "gpt2" and method in ("packed", "plain") else ())
    for name in ("gpt2", "llama", "gemma3, narrow window", "gpt_neox", "mistral, narrow window")
    for method in ("packed", "branches", "rows", "plain")
]
# One of each method: packed, with a window, with positions from elsewhere, in branches and in rows.
KINDS = ("llama", "gemma3, narrow window", "opt", "bloom", "mamba")


@pytest.mark.parametrize(("name", "bos", "eos"), rotate(ARCHITECTURES, OPTIONS))
@pytest.mark.representatives(4)
def test_scores_are_those_of_plain_forward_passes(name, bos, eos, tokenizer, tiny_models):
    model = tiny_models[name]
    scorer = Scorer(model, tokenizer, name=name, bos=bos)
    assert scorer.describe()["method"] == {"bloom": "branches", "mamba": "rows"}.get(name, "packed")
    wanted = expected(model, tokenizer, [0] if bos else [], eos)
    assert_close(scorer.score(PROMPTS, CONTINUATIONS, eos=eos), wanted)
    # Otherwise hardly anything could go wrong unnoticed.
    assert np.ptp(np.concatenate([one.exact for one in wanted])) > 5


@pytest.mark.parametrize(("name", "method"), METHODS)
@pytest.mark.representatives(3)
def test_every_method_gives_the_same(name, method, tokenizer, tiny_models):
    model = tiny_models[name]
    scorer = Scorer(model, tokenizer, name=name, methods=(method,))
    assert scorer.describe()["method"] == method
    assert_close(scorer.score(PROMPTS, CONTINUATIONS, eos=True), expected(model, tokenizer, [0], True))


@pytest.mark.parametrize("name", ["gpt2", "llama", "gemma3, narrow window", "bloom", "mamba"])
@pytest.mark.representatives(2)
def test_long_prefix_of_many_prompts_is_shared(name, tokenizer, tiny_models):
    examples = "Tokyo is the capital of Japan, and Paris of France. " * 3
    prompts = [examples + prompt for prompt in PROMPTS] + [examples.strip(), "Paris", *PROMPTS]
    continuations = [*CONTINUATIONS, ["Paris", "New York", "New Zealand"], ["is"], *CONTINUATIONS]
    model = tiny_models[name]
    wanted = expected(model, tokenizer, [0], True, prompts, continuations)
    assert_close(Scorer(model, tokenizer, name=name).score(prompts, continuations, eos=True), wanted)


@pytest.mark.parametrize(("name", "unheeded"), [("llama", "position_ids"), ("gpt2", "attention_mask")])
def test_model_that_does_not_heed_its_input_is_not_packed(name, unheeded, tokenizer):
    model = random_model(name, len(tokenizer))
    wanted = expected(model, tokenizer, [0])
    forward = model.base_model.forward
    model.base_model.forward = lambda *args, **others: forward(*args, **{**others, unheeded: None})
    scorer = Scorer(model, tokenizer, name="deaf")
    assert scorer.describe()["method"] != "packed"
    assert unheeded != "position_ids" or scorer.describe()["method"] == "branches"
    assert_close(scorer.score(PROMPTS, CONTINUATIONS), wanted)


def test_projection_of_an_unknown_kind_is_not_guessed(tokenizer):
    def sharpen(model):
        forward = model.forward

        def sharper(*args, **others):
            output = forward(*args, **others)
            output.logits = output.logits * 1.5
            return output

        model.forward = sharper
        return model

    model = random_model("llama", len(tokenizer))
    double = sharpen(double_copy(model))
    scorer = Scorer(sharpen(model), tokenizer, name="sharper")
    assert scorer.describe()["method"] == "plain"
    assert_close(scorer.score(PROMPTS, CONTINUATIONS), expected(model, tokenizer, [0], double=double))


@pytest.mark.parametrize("name", ["llama", "bloom"])
def test_scores_do_not_depend_on_what_else_is_scored(name, tokenizer, tiny_models):
    scorer = Scorer(tiny_models[name], tokenizer, name=name)
    allowed = allowed_difference(expected(scorer.model, tokenizer, [0]), PAIR)
    together = scorer.score(PROMPTS * 3, CONTINUATIONS * 3)
    for number, (prompt, texts) in enumerate(zip(PROMPTS, CONTINUATIONS, strict=True)):
        for place, text in enumerate(texts):
            alone = scorer.score([prompt], [[text]])[0].values[0]
            assert abs(together[number].values[place] - alone) < allowed
    again = scorer.score(PROMPTS * 3, CONTINUATIONS * 3)
    assert all((one.values == other.values).all() for one, other in zip(together, again, strict=True))


@pytest.fixture(scope="module")
def packed(tokenizer, tiny_models):
    return Scorer(tiny_models["gpt2"], tokenizer, name="gpt2", methods=("packed",))


@pytest.fixture(scope="module")
def packed_double(packed):
    return double_copy(packed.model)


ODD = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=12)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(prompt=ODD, texts=st.lists(ODD, min_size=1, max_size=6), eos=st.booleans())
def test_odd_texts(prompt, texts, eos, tokenizer, packed, packed_double):
    model = packed.model
    joined = [prompt + text if prompt[-1].isspace() or text[0].isspace() else f"{prompt} {text}" for text in texts]
    wanted = expected(model, tokenizer, [0], eos, [prompt], [texts], joined=[joined], double=packed_double)
    assert_close(packed.score([prompt], [texts], eos=eos), wanted)


@pytest.mark.parametrize(
    ("make", "bos"),
    [(byte_level, False), (lambda: byte_level(add_prefix_space=True), False), (unigram, True)],
    ids=["byte level", "prefix space", "unigram"],
)
def test_tokenizers_with_and_without_prefix_spaces(make, bos):
    tokenizer = make()
    model = random_model("llama", len(tokenizer))
    scorer = Scorer(model, tokenizer, name="llama")
    assert scorer.describe()["leading_tokens"] == ([0] if bos else [])
    assert_close(scorer.score(PROMPTS, CONTINUATIONS, eos=True), expected(model, tokenizer, [0] if bos else [], True))


def test_empty_prompt_begins_at_bos(tokenizer, tiny_models):
    model = tiny_models["llama"]
    texts = ["Tokyo", "York is"]
    wanted = expected(model, tokenizer, [0], False, [""], [texts], joined=[texts])
    assert_close(Scorer(model, tokenizer, name="llama").score([""], [texts]), wanted)


def test_nothing_to_score_is_no_error(tokenizer, tiny_models):
    scorer = Scorer(tiny_models["llama"], tokenizer, name="llama")
    assert scorer.score([], []) == []
    assert [len(scored.values) for scored in scorer.score(PROMPTS[:2], [[], ["York"]])] == [0, 1]


@pytest.mark.parametrize(
    ("prompt", "texts", "bos", "reasons"),
    [
        (
            "",
            ["is", "a city"],
            False,
            {0: "an empty prompt needs a BOS token", 1: "precedes the continuation 'a c"},
        ),
        ("Tokyo", ["is", "", "a city"], True, {1: "a continuation is empty"}),
        ("York", ["is " * 300, "is"], True, {0: "more than the 256"}),
        ("York " * 300, ["is", "a city"], True, {0: "more than the 256", 1: "more than the 256"}),
        ("York", ["is", "\ud83d"], True, {1: "the text '\\ud83d' is not valid Unicode"}),
        (
            "York \ud83d",
            ["is", "a city"],
            True,
            {0: "'York \\ud83d' is not valid Unicode", 1: "'York \\ud83d' is not valid Unicode"},
        ),
    ],
)
def test_unscorable_text_has_a_reason_others_are_scored(prompt, texts, bos, reasons, tokenizer, tiny_models):
    scorer = Scorer(tiny_models["gpt2"], tokenizer, name="gpt2", bos=bos, remembered=9)
    done = []
    before, found, after = scorer.score(
        ["York", prompt, "York"], [["is", "a city"], texts, ["is"]], progress=done.append
    )
    assert found.reasons.keys() == reasons.keys() == set(np.flatnonzero(np.isnan(found.values)))
    for place, words in reasons.items():
        assert words in found.reasons[place]
        # A clause: it stands behind what was asked, wherever that stood in a batch.
        assert not found.reasons[place].startswith("Prompt")
        assert not found.reasons[place].endswith(".")
    takable = [text for place, text in enumerate(texts) if place not in reasons]
    asked = [["is", "a city"], takable, ["is"]]
    wanted = expected(scorer.model, tokenizer, [0] * bos, False, ["York", prompt, "York"], asked)
    assert not before.reasons
    assert not after.reasons
    assert_exact([before.values, found.values[~np.isnan(found.values)], after.values], wanted)
    assert sum(done) == 3 + len(texts)
    # Also where the others are remembered.
    again = scorer.score([prompt], [texts])[0]
    assert again.reasons == found.reasons
    np.testing.assert_array_equal(again.values, found.values)


def test_list_of_continuations_belongs_to_each_prompt(tokenizer, tiny_models):
    with pytest.raises(KgprobeError, match="1 prompts with 0 lists"):
        Scorer(tiny_models["gpt2"], tokenizer, name="gpt2").score(["York"], [])


def test_longest_input_that_fits_is_scored(tokenizer, tiny_models):
    model = tiny_models["gpt2"]
    limit = model.config.n_positions
    text = "Tokyo " * 20
    while len(tokenizer(f"York {text}", add_special_tokens=False).input_ids) < limit:
        text += "x"
    assert len(tokenizer(f"York {text}", add_special_tokens=False).input_ids) == limit
    scorer = Scorer(model, tokenizer, name="gpt2")
    assert_close(scorer.score(["York"], [[text]]), expected(model, tokenizer, [0], False, ["York"], [[text]]))
    (too_long,) = scorer.score(["York"], [[text]], eos=True)
    assert "more than the 256" in too_long.reasons[0]


def test_eos_needs_an_eos_token(tiny_models):
    scorer = Scorer(tiny_models["gpt2"], byte_level(eos=False), name="endless")
    assert scorer.score(["York"], [["is"]])[0].values[0] < 0
    with pytest.raises(KgprobeError, match="endless has no EOS token"):
        scorer.score(["York"], [["is"]], eos=True)


def test_many_continuations_make_several_trees(tokenizer, tiny_models, monkeypatch):
    monkeypatch.setattr(scorer_module, "_MAX_BRANCH_NODES", 4)
    model = tiny_models["gemma3, narrow window"]
    scorer = Scorer(model, tokenizer, name="gemma3")
    assert_close(scorer.score(PROMPTS, CONTINUATIONS, eos=True), expected(model, tokenizer, [0], True))


def limited(model, most, message="DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes"):
    """Give a model's body too little memory for more than so many tokens at once; returns what it was asked for."""
    forward = model.base_model.forward
    asked = []

    def forward_in_little_memory(input_ids, **others):
        asked.append(input_ids.numel())
        if input_ids.numel() > most:
            raise RuntimeError(message)
        return forward(input_ids=input_ids, **others)

    model.base_model.forward = forward_in_little_memory
    return asked


@pytest.mark.parametrize("name", slow_except(ARCHITECTURES, KINDS))
def test_short_memory_makes_batches_smaller(name, tokenizer):
    model = random_model(name, len(tokenizer))
    examples = "Tokyo is the capital of Japan, and Paris of France. " * 3
    prompts = [examples + prompt for prompt in PROMPTS] + PROMPTS
    wanted = expected(model, tokenizer, [0], True, prompts, CONTINUATIONS * 2)
    scorer = Scorer(model, tokenizer, name=name)
    before = dict(scorer.explain())["tokens at once"]
    # One continuation alone has to fit.
    texts = [f"{prompt} {text}" for prompt in prompts for its in CONTINUATIONS for text in its]
    most = max(len(tokenizer(text).input_ids) for text in texts)
    asked = limited(model, most)
    done = []
    assert_close(scorer.score(prompts, CONTINUATIONS * 2, eos=True, progress=done.append), wanted)
    assert sum(done) == sum(map(len, CONTINUATIONS)) * 2
    assert max(asked) > most
    # It goes on with what fits, and says so.
    assert dict(scorer.explain())["tokens at once"] != before
    refused = sum(size > most for size in asked)
    assert_close(scorer.score(prompts, CONTINUATIONS * 2, eos=True), wanted)
    assert sum(size > most for size in asked) - refused < refused


def test_no_more_tokens_go_through_at_once_than_a_user_allows(tokenizer):
    model = random_model("gpt2", len(tokenizer))
    prompts = [f"{number} is" for number in range(40)]
    continuations = [["one", "more"]] * len(prompts)
    most = {}
    found = {}
    asked = limited(model, 10**9)
    for allowed in (60, None):
        scorer = Scorer(model, tokenizer, name="gpt2", batch_tokens=allowed)
        asked.clear()
        found[allowed] = scorer.score(prompts, continuations)
        most[allowed] = max(asked)
    assert most[60] <= 60 < most[None]
    wanted = expected(model, tokenizer, [0], False, prompts, continuations)
    for each in found.values():
        assert_close(each, wanted)


def test_what_does_not_fit_at_all_is_told(tokenizer):
    model = random_model("llama", len(tokenizer))
    scorer = Scorer(model, tokenizer, name="llama")
    limited(model, 0)
    with pytest.raises(KgprobeError, match=r"Prompt 0 with one continuation .* does not fit into the memory of cpu"):
        scorer.score(PROMPTS[:1], CONTINUATIONS[:1])
    with pytest.raises(KgprobeError, match=r"A prompt's first \d+ tokens do not fit into the memory of cpu"):
        scorer.score(["Tokyo is the capital of Japan. " * 9 + f"{n}" for n in range(99)], [["Tokyo"]] * 99)


def test_other_errors_are_no_lack_of_memory(tokenizer):
    model = random_model("llama", len(tokenizer))
    scorer = Scorer(model, tokenizer, name="llama")
    asked = limited(model, 0, "a fault of another kind")
    with pytest.raises(RuntimeError, match="a fault of another kind"):
        scorer.score(PROMPTS, CONTINUATIONS)
    assert len(asked) == 1


@pytest.mark.parametrize("name", slow_except(ARCHITECTURES, KINDS))
def test_prompt_of_fifty_examples_is_computed_once(name, tokenizer):
    places = ["Tokyo", "Paris", "York", "Łódź", "Zürich", "Kyoto", "Poland", "Brazil"]
    rng = np.random.default_rng(1)
    examples = " ".join(" ".join(rng.choice(places, 2)) for _ in range(50))
    prompts = [f"{examples} {place}" for place in places[:4]] + [
        f"{examples} {examples[:100]} {place}" for place in places[:3]
    ]
    prompts = prompts if name != "mamba" else prompts[:2]
    continuations = [["Tokyo", "New York City", "New York"]] * len(prompts)
    positions = {"gpt2": {"n_positions": 1024}, "bloom": {}, "mamba": {}}
    model = random_model(name, len(tokenizer), **positions.get(name, {"max_position_embeddings": 1024}))
    wanted = expected(model, tokenizer, [0], True, prompts, continuations)
    scorer = Scorer(model, tokenizer, name=name)
    asked = limited(model, 10_000)
    assert_close(scorer.score(prompts, continuations, eos=True), wanted)
    length = len(tokenizer(examples).input_ids)
    assert length > 200
    if name != "mamba":
        assert sum(asked) < 2 * length


@pytest.mark.parametrize("name", slow_except(ARCHITECTURES, KINDS))
@pytest.mark.representatives(2)
def test_beginning_is_computed_once_for_all_calls(name, tokenizer):
    examples = "Tokyo is the capital of Japan, Paris of France, Łódź of nothing at all. " * 5
    model = random_model(name, len(tokenizer))
    scorer = Scorer(model, tokenizer, name=name)
    asked = limited(model, 10_000)
    taken = []
    for prompt, its in zip([examples + one for one in PROMPTS], CONTINUATIONS, strict=True):
        asked.clear()
        found = scorer.score([prompt], [its], eos=True, beginnings=[examples])
        taken.append(sum(asked))
        assert_close(found, expected(model, tokenizer, [0], True, [prompt], [its]))
    length = len(tokenizer(examples).input_ids)
    if name != "mamba":
        assert taken[0] >= length > 120
        assert max(taken[1:]) < length
    # A model that learned in between has other keys and values; and one beginning may do for some prompts only.
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(1.01)
    assert scorer.refresh()
    prompts = [examples + PROMPTS[0], *PROMPTS[1:]]
    found = scorer.score(prompts, CONTINUATIONS, beginnings=[examples, "", "of no prompt"])
    assert_close(found, expected(model, tokenizer, [0], False, prompts, CONTINUATIONS))


def test_beginnings_make_room_where_memory_is_short(tokenizer, monkeypatch):
    examples = [f"{place} is the capital of Japan, and Paris of France. " * 3 for place in ("Tokyo", "York", "Brazil")]
    model = random_model("llama", len(tokenizer))
    scorer = Scorer(model, tokenizer, name="llama", methods=("packed",))
    one = Prefixes(model.device)
    one.get(np.arange(3), partial(extend, model, "packed", None, np.array(tokenizer(examples[0]).input_ids), 1000))
    monkeypatch.setattr(scorer, "prefixes", Prefixes(model.device, most=int(one.taken * 2.5)))
    asked = limited(model, 10_000)
    for round_ in range(2):
        for beginning in examples:
            asked.clear()
            prompt = beginning + PROMPTS[0]
            found = scorer.score([prompt], CONTINUATIONS[:1], beginnings=[beginning])
            assert_close(found, expected(model, tokenizer, [0], False, [prompt], CONTINUATIONS[:1]))
            # Of three there is room for two: the one used longest ago is gone when its turn comes.
            assert sum(asked) > 60, round_
    asked.clear()
    scorer.score([examples[1] + PROMPTS[1]], [CONTINUATIONS[1]], beginnings=[examples[1]])
    assert sum(asked) < 60


def test_beginnings_make_room_before_batches_become_smaller(tokenizer):
    model = random_model("llama", len(tokenizer))
    scorer = Scorer(model, tokenizer, name="llama", methods=("packed",))
    examples = "Tokyo is the capital of Japan, and Paris of France. " * 3
    scorer.score([examples + PROMPTS[0]], CONTINUATIONS[:1], beginnings=[examples])
    before = dict(scorer.explain())["tokens at once"]
    forward, failed = model.base_model.forward, []

    def forward_with_no_room_beside_what_is_kept(input_ids, **others):
        if not failed:
            failed.append(input_ids.numel())
            raise RuntimeError("DefaultCPUAllocator: can't allocate memory")
        return forward(input_ids=input_ids, **others)

    model.base_model.forward = forward_with_no_room_beside_what_is_kept
    found = scorer.score([PROMPTS[1]], CONTINUATIONS[1:2])
    assert_close(found, expected(model, tokenizer, [0], False, PROMPTS[1:2], CONTINUATIONS[1:2]))
    assert failed
    assert dict(scorer.explain())["tokens at once"] == before


def test_there_is_one_beginning_a_prompt(tokenizer, tiny_models):
    with pytest.raises(KgprobeError, match="3 prompts with 1 beginnings"):
        Scorer(tiny_models["llama"], tokenizer, name="llama").score(PROMPTS, CONTINUATIONS, beginnings=["The"])


@pytest.mark.parametrize(
    ("name", "method"), [("llama", "packed"), ("gemma3, narrow window", "packed"), ("bloom", "branches")]
)
def test_half_precision_is_near(name, method, tokenizer):
    model = random_model(name, len(tokenizer)).to(torch.bfloat16)
    scorer = Scorer(model, tokenizer, name=name)
    assert scorer.describe()["method"] == method
    wanted = expected(model, tokenizer, [0], True)
    found = scorer.score(PROMPTS, CONTINUATIONS, eos=True)
    plain, exact = (np.concatenate([getattr(one, kind) for one in wanted]) for kind in ("plain", "exact"))
    assert_as_exact(np.concatenate([one.values for one in found]), plain, exact, multiple=4)
    assert max(one.values.max() for one in found) < 0


def test_broken_weights_are_no_probabilities(tokenizer):
    model = random_model("llama", len(tokenizer))
    with torch.no_grad():
        model.model.norm.weight[0] = torch.nan
    with pytest.raises(KgprobeError, match="not numbers"):
        Scorer(model, tokenizer, name="llama").score(["York"], [["is"]])


def test_description_is_plain_data(tokenizer, tiny_models):
    described = Scorer(tiny_models["llama"], tokenizer, name="hf:./x", revision="abc").describe()
    assert json.loads(json.dumps(described)) == described
    assert described["revision"] == "abc"
    assert described["dtype"] == "float32"


def test_how_a_model_is_computed_and_why_is_told(tokenizer, tiny_models):
    told = dict(Scorer(tiny_models["bloom"], tokenizer, name="bloom").explain())
    assert told["method"].startswith("branches: one row per continuation")
    assert told["method: packed"].startswith(("the model's code fails", "differs from"))
    assert told["method: branches"].startswith("agrees with plain forward passes")
    assert told["precision"] == "float32 on cpu, log-softmax in float32"
    assert told["tokens at once"] == "1,024"
    plain = dict(Scorer(tiny_models["llama"], tokenizer, name="llama", methods=("plain",)).explain())
    assert plain["vocabulary"] == "the model's own logits"
    assert plain["tokens at once"] == "one continuation"


@pytest.mark.parametrize("method", ["packed", "plain"])
def test_scorer_in_training_mode_equals_eval_mode(method, tokenizer):
    model = random_model("gpt2", len(tokenizer), resid_pdrop=0.5, embd_pdrop=0.5, attn_pdrop=0.5)
    wanted = expected(model, tokenizer, [0])
    model.train()
    model.transformer.h[1].eval()
    model.transformer.wte.weight.requires_grad_(False)
    modes = {name: module.training for name, module in model.named_modules()}
    assert set(modes.values()) == {True, False}
    gradients = {name: weight.requires_grad for name, weight in model.named_parameters()}
    scorer = Scorer(model, tokenizer, name="gpt2", methods=(method,))
    assert_close(scorer.score(PROMPTS, CONTINUATIONS), wanted)
    assert_close(scorer.score(PROMPTS, CONTINUATIONS), wanted)
    assert {name: module.training for name, module in model.named_modules()} == modes
    assert {name: weight.requires_grad for name, weight in model.named_parameters()} == gradients
    # It can still be trained.
    model(torch.tensor([[0, 5, 7]]), labels=torch.tensor([[0, 5, 7]])).loss.backward()
    # An error leaves it as it was, too.
    limited(model, 0, "a fault")
    with pytest.raises(RuntimeError, match="a fault"):
        Scorer(model, tokenizer, name="gpt2", methods=("plain",)).score(PROMPTS, CONTINUATIONS)
    assert {name: module.training for name, module in model.named_modules()} == modes
