"""What is timed is what a judge of a graph would read: each fact beside a statement that begins alike."""

from itertools import islice

from benchmarks.judging import AFTER, statements
from benchmarks.scoring.cases import read_example


def test_fact_and_its_negative_begin_alike() -> None:
    texts = list(islice(statements(read_example(), 0), 400))
    assert all(text.endswith(AFTER) for text in texts)
    pairs = list(zip(texts[::2], texts[1::2], strict=True))
    assert sum(fact != negative for fact, negative in pairs) > 150
    words = [(fact.split(), negative.split()) for fact, negative in pairs]
    assert sum(fact[0] == negative[0] for fact, negative in words) > 150
    assert texts == list(islice(statements(read_example(), 0), 400))
