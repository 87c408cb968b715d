"""Batches prepared ahead against batches formed one after the other."""

import threading
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgprobe.models.scoring.plan import Stage, batches, batches_ahead

SIZES = st.lists(st.tuples(st.integers(1, 3), st.integers(1, 9)), max_size=8)


def stages_of(sizes):
    return [Stage([(stage, place) for place in range(len(own))], own) for stage, own in enumerate(sizes)]


def threads():
    return [thread for thread in threading.enumerate() if thread.name.startswith("kgprobe-ahead")]


@given(sizes=st.lists(SIZES, max_size=4), limits=st.lists(st.integers(1, 30), min_size=1))
def test_batches_ahead_keep_stages_at_any_limit(sizes, limits):
    stages = stages_of(sizes)

    def changing():
        """Return the limit, which changes after each batch."""
        return limits[len(found) % len(limits)]

    found = []
    for stage, items, prepared in batches_ahead(stages, tuple, changing):
        assert prepared == tuple(items)
        found.append((stage, list(items)))
    seen, found = found, []
    for number, stage in enumerate(stages):
        for items in batches(stage.items, stage.sizes, changing):
            found.append((number, items))
    assert seen == found
    assert not threads()


def test_next_batch_is_prepared_during_the_current_one():
    begun = [threading.Event() for _ in range(3)]
    workers = []

    def prepare(items):
        begun[items[0][1]].set()
        workers.append(threading.current_thread())

    for number, _ in enumerate(batches_ahead(stages_of([[(1, 5)] * 3]), prepare, lambda: 5)):
        # Without the thread, this would wait for ever.
        assert number == 2 or begun[number + 1].wait(timeout=300)
    assert workers[0] is threading.main_thread()
    assert workers[1] is workers[2] is not workers[0]


def test_error_in_preparing_comes_with_its_batch():
    def prepare(items):
        if items[0][1] == 1:
            raise ValueError("second")

    iterator = batches_ahead(stages_of([[(1, 5)] * 3]), prepare, lambda: 5)
    next(iterator)
    with pytest.raises(ValueError, match="second"):
        next(iterator)
    assert not threads()


def test_thread_ends_when_the_caller_fails():
    def compute():
        with closing(batches_ahead(stages_of([[(1, 5)] * 3]), tuple, lambda: 5)) as iterator:
            for _ in iterator:
                assert threads()
                raise RuntimeError("device")

    with pytest.raises(RuntimeError, match="device"):
        compute()
    assert not threads()
