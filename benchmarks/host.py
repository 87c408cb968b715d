"""Names per second that the host alone prepares: the scorer with a device that takes no time.

The tokenizer and the kinds of masks are the demo model's. Layers and the projection to the vocabulary return zeros, and
all operations of the device are on torch's device ``meta``, which computes nothing. What is left is the work of the
host: tokenization, tries, batches, arrays, sums. With ``--device cpu``, the masks are made, too, as a CPU has to.

Cases, from the example graph, as in ``benchmarks.scoring``:

- ``distractors``: 50 facts with 200 distractors, all names of each scored with EOS;
- ``examples``: 20 questions with 100 options each, after a common prompt of 50 examples.

``first`` is a call with empty caches, ``again`` the fastest of several with the same names and prompts. Their rate per
second of the process's time on all cores, ``per core``, depends less on what else the machine does.
"""

import cProfile
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from benchmarks.report import Report, Row, show, versions_of
from benchmarks.scoring.cases import Case, distractors_case, examples_case, read_example
from kgprobe.cli.options import json_option, seed_option
from kgprobe.models.scoring.projection import VocabularyProjection

if TYPE_CHECKING:
    import torch

    from kgprobe.models.scoring.scorer import Scorer

CASES = {"distractors": distractors_case, "examples": examples_case}
REPEATS = 5
# One layer of each kind: masks are made for each.
_LAYERS = ("sliding_attention", "full_attention")


@dataclass(frozen=True, slots=True)
class ZeroProjection(VocabularyProjection):
    """A projection that takes no time: every probability is 1."""

    def log_probabilities(self, hidden: "torch.Tensor", sources: Any, targets: Any, at_once: int) -> "torch.Tensor":
        """Return zeros, shape (edges, 2)."""
        import torch

        del hidden, sources, at_once
        return torch.zeros((len(targets), 2))


def idle_scorer(device: str, batch_tokens: int) -> "Scorer":
    """Return a scorer with the demo model's tokenizer and masks, whose layers and projection return zeros.

    Args:
        device: ``meta``, where operations take no time, or ``cpu``.
        batch_tokens: padded tokens per forward pass.
    """
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

    from kgprobe.models.demo import demo_model_folder
    from kgprobe.models.scoring.scorer import Scorer

    folder = demo_model_folder()
    config = AutoConfig.from_pretrained(folder)
    width = config.hidden_size
    config.num_hidden_layers = len(_LAYERS)
    config.layer_types = list(_LAYERS)
    for name in ("hidden_size", "intermediate_size", "head_dim", "num_attention_heads", "num_key_value_heads"):
        setattr(config, name, 2)
    model = AutoModelForCausalLM.from_config(config)
    scorer = Scorer(model, AutoTokenizer.from_pretrained(folder), name="idle")
    if scorer.choice.way != "packed":
        raise RuntimeError(f"the demo model is scored in the way {scorer.choice.way}, not packed")
    setattr(model, model.base_model_prefix, idle_body())
    model.to(device)
    # The plan depends on the width of the layers.
    weight = torch.zeros((1, 1)).expand(config.vocab_size, width)
    scorer.choice = replace(scorer.choice, projection=ZeroProjection(weight, None, 1.0, None))
    scorer.limits.tokens = batch_tokens
    return scorer


def idle_body() -> "torch.nn.Module":
    """Return a model's body whose states are zeros, of width 1."""
    import torch
    from transformers.modeling_outputs import BaseModelOutputWithPast

    class Idle(torch.nn.Module):
        """Layers that return zeros."""

        def forward(
            self, input_ids: "torch.Tensor", cache: Any = None, use_cache: bool = False, **_: Any
        ) -> BaseModelOutputWithPast:
            zero = torch.zeros(1, device=input_ids.device)
            if use_cache:
                keys = zero.expand(1, 1, input_ids.shape[1], 1)
                cache.update(keys, keys, 0)
            return BaseModelOutputWithPast(last_hidden_state=zero.expand(*input_ids.shape, 1))

    return Idle()


def measure(scorer: "Scorer", case: Case) -> list[Row]:
    """Return the rows of a case."""
    seconds, on_cores, tokenizing = [], [], []
    for _ in range(REPEATS):
        clock, own = time.perf_counter(), time.process_time()
        scored = scorer.score(case.prompts, case.continuations, eos=case.eos)
        seconds.append(time.perf_counter() - clock)
        on_cores.append(time.process_time() - own)
        if any(np.any(each.values) for each in scored):
            raise RuntimeError("a device that returns zeros has log-probabilities of zero")
    for _ in range(REPEATS):
        clock = time.perf_counter()
        scorer.tokenize(case.prompts, case.continuations, eos=case.eos)
        tokenizing.append(time.perf_counter() - clock)
    return [
        Row(case.name, "names", case.size, ""),
        Row(case.name, "first", case.size / seconds[0], "names/s"),
        Row(case.name, "again", case.size / min(seconds[1:]), "names/s"),
        Row(case.name, "again, per core", case.size / min(on_cores[1:]), "names/s"),
        Row(case.name, "of it tokenization", 100 * min(tokenizing) / min(seconds[1:]), "%"),
    ]


@click.command(context_settings={"max_content_width": 100})
@click.option(
    "--case",
    "cases",
    type=click.Choice(tuple(CASES)),
    multiple=True,
    default=tuple(CASES),
    show_default=True,
    help="Case to measure; repeatable.",
)
@click.option(
    "--device",
    type=click.Choice(("meta", "cpu")),
    default="meta",
    show_default=True,
    help="Device of the masks; meta takes no time.",
)
@click.option("--batch-tokens", default=8192, show_default=True, help="Padded tokens per forward pass.")
@click.option("--profile", type=click.Path(dir_okay=False), help="File for the profile of a call (cProfile).")
@seed_option
@json_option
def main(cases: tuple[str, ...], device: str, batch_tokens: int, profile: str | None, seed: int, as_json: bool) -> None:
    """Measure the names per second that the host prepares for a device that takes no time."""
    example = read_example()
    scorer = idle_scorer(device, batch_tokens)
    rows: list[Row] = []
    for name in cases:
        case = CASES[name](example, seed)
        rows += measure(scorer, case)
        if profile is not None:
            with cProfile.Profile() as profiler:
                scorer.score(case.prompts, case.continuations, eos=case.eos)
            profiler.dump_stats(profile)
    show(Report("host", rows, seed, versions_of("torch", "transformers", "tokenizers")), as_json=as_json)


if __name__ == "__main__":
    main()
