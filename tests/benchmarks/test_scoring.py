"""The scoring benchmark: what it asks, and what it says that nobody can do without."""

from benchmarks.scoring.cases import distractors_case, examples_case, options_case, read_example
from benchmarks.scoring.limit import work_of
from tests.models.tiny import tiny_scorer


def test_work_is_every_token_once() -> None:
    scorer = tiny_scorer("llama", name="llama")
    prompts = scorer.tokenize(
        ["The capital of Japan is", "The capital of France is"],
        [["Tokyo", "Tokyo, Japan", "Kyoto"], ["Paris", "Tokyo"]],
        eos=True,
    )
    taken_in, asked = set(), set()
    for prompt in prompts:
        taken_in |= {prompt.context[:end] for end in range(1, len(prompt.context) + 1)}
        for start, tail in zip(prompt.starts, prompt.tails, strict=True):
            asked |= {prompt.context[:start] + tail[:end] for end in range(len(tail))}
    taken_in |= asked
    work = work_of(scorer.model, prompts)
    assert (work.nodes, work.positions) == (len(taken_in), len(asked))
    config = scorer.model.config
    assert work.attention == 4 * config.hidden_size * config.num_hidden_layers * sum(map(len, taken_in))


def test_cases_are_as_large_as_they_say() -> None:
    example = read_example()
    options = options_case(example, lambda name: 1, seed=0)
    assert [len(its) for its in options.continuations] == [60] * 60
    examples = examples_case(example, seed=0)
    assert [len(its) for its in examples.continuations] == [100] * 20
    distractors = distractors_case(example, seed=0)
    assert len(distractors.prompts) == 50
    assert distractors.eos
    assert distractors.size > 50 * 201
    assert distractors_case(example, seed=0) == distractors
    part = distractors.part(3, 7)
    assert (len(part.prompts), part.size, part.eos) == (3, 21, True)
