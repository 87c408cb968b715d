"""The digest of weights: the same for the same, another after whatever training does to them."""

import subprocess
import sys
from copy import deepcopy

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kgprobe.base.errors import KgprobeError
from kgprobe.models import identity
from kgprobe.models.identity import weights_digest
from tests.models.tiny import random_model

_PROCESS = """
from kgprobe.models.identity import weights_digest
from tests.models.tiny import random_model
print(weights_digest(random_model("gpt2", 50)))
"""


@pytest.fixture(params=["whole", "sample"])
def _read(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small models read as a whole, and as if they were large."""
    if request.param == "sample":
        monkeypatch.setattr(identity, "WHOLE_BYTES", 1000)
        monkeypatch.setattr(identity, "SAMPLED_BYTES", 8000)
        monkeypatch.setattr(identity, "BLOCK", 64)


def a_step(model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> None:
    tokens = torch.tensor([[0, 5, 9, 7, 3]])
    model(tokens, labels=tokens).loss.backward()
    optimizer.step()
    optimizer.zero_grad()


@pytest.mark.slow
def test_it_is_the_same_in_every_process() -> None:
    done = subprocess.run([sys.executable, "-c", _PROCESS], capture_output=True, text=True, check=True)
    assert done.stdout.split()[-1] == weights_digest(random_model("gpt2", 50))


@pytest.mark.usefixtures("_read")
@pytest.mark.parametrize("name", ["gpt2", "llama", "bloom", "mamba"])
def test_same_weights_have_the_same_digest(name: str) -> None:
    model = random_model(name, 50)
    found = weights_digest(model)
    assert found == weights_digest(random_model(name, 50)) == weights_digest(deepcopy(model).train())
    with torch.no_grad():
        for weight in model.parameters():
            if weight.dim() == 2:
                # How a tensor lies in memory is nothing of its values.
                weight.set_(weight.detach().t().contiguous().t())
    assert weights_digest(model) == found


@settings(max_examples=20, deadline=None)
@given(
    seed=st.integers(0, 2**16),
    rate=st.sampled_from([1e-6, 1e-5, 1e-3]),
    dtype=st.sampled_from([torch.float32, torch.bfloat16]),
    optimizer=st.sampled_from([torch.optim.SGD, torch.optim.AdamW]),
    sampled=st.booleans(),
)
def test_every_step_of_an_optimizer_changes_it(
    seed: int, rate: float, dtype: torch.dtype, optimizer: type[torch.optim.Optimizer], sampled: bool
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        if sampled:
            patch.setattr(identity, "WHOLE_BYTES", 1000)
            patch.setattr(identity, "SAMPLED_BYTES", 20_000)
            patch.setattr(identity, "BLOCK", 64)
        torch.manual_seed(seed)
        model = random_model("llama", 50).to(dtype)
        stepping = optimizer(model.parameters(), lr=rate)
        seen = [weights_digest(model)]
        for _ in range(4):
            before = [weight.detach().clone() for weight in model.parameters()]
            a_step(model, stepping)
            moved = sum(int((one != other).sum()) for one, other in zip(before, model.parameters(), strict=True))
            # In bfloat16 a small step can be lost in rounding; a sample can miss a step of a few numbers alone.
            if moved > (sum(map(torch.numel, before)) // 20 if sampled else 0):
                seen.append(weights_digest(model))
        assert len(set(seen)) == len(seen)
        assert len(seen) == 5 or dtype == torch.bfloat16 or rate < 1e-4


def test_one_bit_anywhere_changes_it() -> None:
    model = random_model("gpt2", 50)
    seen = {weights_digest(model)}
    generator = torch.Generator().manual_seed(1)
    weights = list(model.parameters())
    for weight in weights:
        flat = weight.detach().view(-1).view(torch.int32)
        place = int(torch.randint(len(flat), (1,), generator=generator))
        for bit in (0, 31):
            flat[place] ^= -(2**31) if bit == 31 else 1
            seen.add(weights_digest(model))
    assert len(seen) == 1 + 2 * len(weights)


def test_signs_and_places_count() -> None:
    model = random_model("gpt2", 50)
    found = weights_digest(model)
    with torch.no_grad():
        model.transformer.wpe.weight.neg_()
        assert weights_digest(model) != found
        model.transformer.wpe.weight.neg_()
        model.transformer.wpe.weight.set_(model.transformer.wpe.weight.flip(0))
        assert weights_digest(model) != found


def test_names_shapes_types_and_saved_buffers_count() -> None:
    def digest(**tensors: torch.Tensor) -> str:
        module = torch.nn.Module()
        for name, tensor in tensors.items():
            module.register_parameter(name, torch.nn.Parameter(tensor, requires_grad=False))
        return weights_digest(module)

    zeros = torch.zeros(4, 6)
    seen = [
        digest(a=zeros),
        digest(b=zeros),
        digest(a=zeros.view(6, 4)),
        digest(a=zeros.half()),
        digest(a=zeros, b=zeros),
    ]
    seen += [digest(a=zeros.view(torch.int32)), digest(a=zeros[:0]), digest(a=torch.zeros(())), digest()]
    module = torch.nn.BatchNorm1d(3)
    seen.append(weights_digest(module))
    module.running_mean += 1
    seen.append(weights_digest(module))
    assert len(set(seen)) == len(seen)
    module.register_buffer("scratch", torch.ones(3), persistent=False)
    assert weights_digest(module) == seen[-1]


def test_what_two_modules_share_counts_once() -> None:
    model = random_model("gpt2", 50)
    assert model.lm_head.weight is model.transformer.wte.weight
    names = [name for name, _ in identity._tensors(model)]
    assert "lm_head.weight" not in names
    assert "transformer.wte.weight" in names


def test_sample_is_of_every_tensor_and_always_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(identity, "WHOLE_BYTES", 1000)
    monkeypatch.setattr(identity, "SAMPLED_BYTES", 2000)
    monkeypatch.setattr(identity, "BLOCK", 64)
    model = random_model("llama", 50)
    seen = {weights_digest(model)}
    for weight in model.parameters():
        with torch.no_grad():
            weight.mul_(1.001)
        seen.add(weights_digest(model))
    assert len(seen) == 1 + len(list(model.parameters()))


@given(st.integers(1, 3000), st.floats(1e-6, 1))
def test_sample_is_spread_evenly(blocks: int, share: float) -> None:
    places = identity.block_places(blocks, share).tolist()
    assert len(places) == len(set(places)) == max(1, round(blocks * share))
    assert places == sorted(places)
    width = blocks / len(places)
    for number, place in enumerate(places):
        assert number * width - 1 < place < (number + 1) * width


def test_weights_that_are_not_there_are_not_guessed() -> None:
    with pytest.raises(KgprobeError, match="The weights of bias are not in memory"):
        weights_digest(torch.nn.Linear(2, 2, device="meta"))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
@pytest.mark.usefixtures("_read")
def test_gpu_gives_the_same() -> None:
    model = random_model("llama", 50)
    assert weights_digest(model) == weights_digest(deepcopy(model).to("cuda"))


def test_adapters_count_and_which_of_them_is_active() -> None:
    peft = pytest.importorskip("peft")
    options = peft.LoraConfig(r=4, target_modules=["q_proj", "v_proj"], init_lora_weights=False)
    model = peft.get_peft_model(random_model("llama", 50), options)
    model.add_adapter("other", options)
    stepping = torch.optim.AdamW([weight for weight in model.parameters() if weight.requires_grad], lr=1e-5)
    seen = [weights_digest(model)]
    a_step(model, stepping)
    seen.append(weights_digest(model))
    model.set_adapter("other")
    seen.append(weights_digest(model))
    with model.disable_adapter():
        seen.append(weights_digest(model))
    assert weights_digest(model) == seen[2]
    assert len(set(seen)) == 4
