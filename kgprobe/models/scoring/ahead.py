"""Batches that are prepared in a thread while the device computes the batch before.

The thread only prepares. Batches are formed by the caller's thread, in order, the next one before the current one is
computed. If the limit has changed in the meantime, because memory was short or there is more of it, the next batch is
formed again. So batches do not depend on the speed of either side.
"""

from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Generic, TypeVar

from kgprobe.models.scoring.plan import Filling

Item = TypeVar("Item")
Prepared = TypeVar("Prepared")


@dataclass(frozen=True, slots=True)
class Stage(Generic[Item]):
    """Items that are computed together, in batches: the largest first, each with its rows and tokens per row."""

    items: Sequence[Item]
    sizes: Sequence[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class _Formed:
    """A batch: the stage's number, the places of its items there, and the limit by which they were chosen."""

    stage: int
    begin: int
    end: int
    limit: int


def batches_ahead(
    stages: Sequence[Stage[Item]], prepare: Callable[[Sequence[Item]], Prepared], limit: Callable[[], int]
) -> Generator[tuple[int, Sequence[Item], Prepared]]:
    """Yield the items of stages in batches, with what is prepared for each; the next batch is prepared meanwhile.

    The batches are those of :func:`.plan.batches` for each stage, one stage after the other. The thread has ended when
    the iterator ends: after the last batch, after an error, and when it is closed.

    Args:
        prepare: called for every batch, in another thread for all but the first. Its error is raised when its batch is
            due.
        limit: returns the maximum padded tokens in a batch of several items.
    """
    fillings = [Filling(stage.sizes) for stage in stages]

    def form(stage: int, begin: int) -> _Formed | None:
        while stage < len(stages) and begin == len(stages[stage].items):
            stage, begin = stage + 1, 0
        if stage == len(stages):
            return None
        most = limit()
        return _Formed(stage, begin, fillings[stage].end(begin, most), most)

    def items_of(batch: _Formed) -> Sequence[Item]:
        return stages[batch.stage].items[batch.begin : batch.end]

    with ThreadPoolExecutor(1, thread_name_prefix="kgprobe-ahead") as pool:
        batch = form(0, 0)
        waiting: Future[Prepared] | None = None
        while batch is not None:
            prepared = prepare(items_of(batch)) if waiting is None else waiting.result()
            following = form(batch.stage, batch.end)
            waiting = None if following is None else pool.submit(prepare, items_of(following))
            yield batch.stage, items_of(batch), prepared
            if following is not None and limit() != following.limit:
                following, waiting = form(batch.stage, batch.end), None
            batch = following
