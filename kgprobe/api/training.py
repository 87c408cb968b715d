"""``kgprobe.TrainerCallback``: what a model knows while it is trained, told by its trainer like its loss."""

import logging
import math
import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from datetime import date
from typing import Any

import numpy as np
import torch
import transformers

from kgprobe.arguments import several, whole_number
from kgprobe.dates import as_of_day
from kgprobe.errors import ArgumentError, KgprobeError
from kgprobe.graph.client import Graph
from kgprobe.graph.names import relation_ids
from kgprobe.models.model import Model, Models
from kgprobe.models.scoring.scorer import Scorer
from kgprobe.models.spec import wrap_scorer
from kgprobe.probes.outcome import Outcome, Probe, Verdict
from kgprobe.probes.register import PROBES, ProbeContext
from kgprobe.sampling.keys import FactKey
from kgprobe.sampling.selection import choose_facts
from kgprobe.stats.proportions import share

_log = logging.getLogger(__name__)
# What probing may take of the time of training before a word is said.
_NOTICEABLE = 0.01


class TrainerCallback(transformers.TrainerCallback):
    """Ask a model about the same facts again and again while it is trained, and log how many it knows.

    >>> trainer = transformers.Trainer(net, arguments, train_dataset=texts, processing_class=tokenizer)
    >>> trainer.add_callback(kgprobe.TrainerCallback(trainer, graph, every=500, limit=200))
    >>> trainer.train()

    Asked is before the first step, after every so many steps, and after the last; by the main process alone. The
    trainer logs ``kgprobe/known`` (the share of facts that are known, in [0, 1]), ``kgprobe/known_low`` and
    ``kgprobe/known_high`` (its 95% interval), ``kgprobe/asked`` (how many facts that is a share of) and
    ``kgprobe/seconds``: they stand in ``trainer.state.log_history``, and go wherever else its logs go.

    Training goes on as if nothing had been asked: the modes of modules, the states of random numbers and the tokenizer
    are what they were, and gradients are left alone.

    Cost: each time that of the probe, graph included; see ``most_of_time``.
    """

    def __init__(
        self,
        trainer: transformers.Trainer,
        graph: Graph,
        *,
        every: int = 500,
        probe: str = "distractors",
        limit: int = 200,
        relations: Sequence[str] = (),
        seed: int = 0,
        as_of: int | str | date | None = None,
        most_of_time: float | None = None,
        strict: bool = False,
        name: str = "kgprobe",
        **options: Any,
    ) -> None:
        """To be added to the trainer: ``trainer.add_callback``.

        Args:
            trainer: of transformers or TRL, with a tokenizer as its ``processing_class``.
            graph: stays open while there is training.
            every: steps from one asking to the next.
            probe: how facts are asked, a probe that scores: ``distractors``, ``examples``, ``choices``.
            limit: the most facts that are asked, drawn once.
            relations: the only relations, each by its id or a name; none means all that can be asked.
            seed: what all random choices follow from.
            as_of: facts count as current at this date; None is today.
            most_of_time: the largest share of the time of training that asking may take, such as 0.01; where it would
                take more, ``every`` grows. When is asked then depends on how fast the machine is. None never changes
                ``every``, and says so once where asking takes more than 1%.
            strict: whether an error ends the training; else it is logged as a warning, the first time.
            name: what stands before the names of the figures.
            options: the probe's own, as of :func:`kgprobe.measure`.

        Raises:
            UnknownNameError: there is no such probe or relation.
            ArgumentError: the probe has no such option, or a value cannot be.
            KgprobeError: the probe asks for answers, the trainer has no tokenizer, or no process has the whole model.
        """
        self._kind = PROBES.get(probe)
        if self._kind.asks != "scores":
            raise ArgumentError("probe", f"is {probe!r}, which reads answers; one that scores is expected.")
        if most_of_time is not None and not 0 < most_of_time <= 1:
            raise ArgumentError("most_of_time", f"is {most_of_time}; a share above 0, at most 1, is expected.")
        if not callable(trainer.processing_class):
            raise KgprobeError("The trainer has no tokenizer; Trainer(…, processing_class=tokenizer) gives it one.")
        if trainer.is_deepspeed_enabled or trainer.is_fsdp_enabled:
            raise KgprobeError("With DeepSpeed or FSDP no process has the whole model, so none can ask it.")
        self.every = whole_number("every", every)
        self._options = self._kind.options_from({**self._kind.measured, **options})
        self._relations = relation_ids(graph, several("relations", relations))
        self._limit, self._seed = whole_number("limit", limit), whole_number("seed", seed, 0)
        self._day = as_of_day(as_of)
        self._trainer, self._graph = trainer, graph
        self._most_of_time, self._strict, self._name = most_of_time, strict, name
        self._said: set[str] = set()
        self._asking: _Asking | None = None
        self._next = self._asked_at = 0
        self._done_at = 0.0

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002
        """Draw the facts, and ask for the first time."""
        self._asking = None
        self._next = state.global_step
        self._ask_at(state, control)

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002
        """Ask, where it is time."""
        if state.global_step >= self._next:
            self._ask_at(state, control)

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002
        """Ask for the last time."""
        if state.global_step > self._asked_at:
            self._ask_at(state, control)

    def _ask_at(self, state: Any, control: Any) -> None:
        if not state.is_world_process_zero:
            return
        steps, before = state.global_step - self._asked_at, _clock()
        a_step = (before - self._done_at) / steps if steps > 0 else None
        self._asked_at = state.global_step
        try:
            with _random_numbers_kept(), torch.no_grad():
                figures = self._figures()
        # Whatever goes wrong with a probe, days of training are worth more.
        except Exception as error:
            if self._strict:
                raise
            self._say("error", f"At step {state.global_step} nothing could be asked: {error}")
            figures = {}
        self._done_at = _clock()
        taken = self._done_at - before
        if figures:
            self._tell({**figures, "seconds": taken}, control)
        if a_step is not None:
            self._space_out(taken, a_step)
        self._next = state.global_step + self.every

    def _figures(self) -> dict[str, float]:
        if self._asking is None:
            self._asking = self._made()
        outcomes = self._asking.ask()
        heard = [outcome for outcome in outcomes if outcome.verdict.counts]
        if not heard:
            reason = next((outcome.reason for outcome in outcomes), "there are none")
            raise KgprobeError(f"none of {len(outcomes)} facts can be asked: {reason}.")
        known = share(sum(outcome.verdict is Verdict.RIGHT for outcome in heard), len(heard))
        return {"known": known.value, "known_low": known.low, "known_high": known.high, "asked": len(heard)}

    def _made(self) -> "_Asking":
        # Ours takes special tokens in texts as the texts they are, which the trainer's must not.
        tokenizer: Any = deepcopy(self._trainer.processing_class)
        net: Any = self._trainer.accelerator.unwrap_model(self._trainer.model)
        scorer = wrap_scorer(net, tokenizer)
        setting = ProbeContext(self._graph, Model(scorer.name, scorer=scorer), Models(), self._day, self._relations)
        probe = self._kind.make(setting, self._options)
        chosen = choose_facts(
            self._graph, probe.relations, as_of=self._day, limit=self._limit, seed=self._seed, listed=None
        )
        keys = [chosen.keys[place] for place in range(len(chosen.keys))]
        return _Asking(scorer, probe, keys, self._kind.batch_size, self._seed)

    def _tell(self, figures: dict[str, float], control: Any) -> None:
        # Telling leaves nothing else to be told at this step. Trainers of TRL add to a record what they gathered for
        # the next one, so theirs is not asked.
        due = control.should_log
        transformers.Trainer.log(self._trainer, {f"{self._name}/{key}": value for key, value in figures.items()})
        control.should_log = due

    def _space_out(self, taken: float, a_step: float) -> None:
        """See that asking takes no larger share of the time than it may; or say that it does."""
        wanted = _NOTICEABLE if self._most_of_time is None else self._most_of_time
        enough = max(1, math.ceil(taken / (wanted * a_step))) if a_step > 0 else self.every
        if enough <= self.every:
            return
        takes = f"Asking takes {taken:.1f} s, {taken / (self.every * a_step):.1%} of the time of {self.every} steps"
        if self._most_of_time is None:
            self._say("slow", f"{takes}; `every` of {enough} would make it {wanted:.0%}, `most_of_time` sees to it.")
        else:
            self.every = enough
            self._say("slow", f"{takes}; from now on it is done every {enough} steps, or fewer times (`most_of_time`).")

    def _say(self, kind: str, message: str) -> None:
        if kind not in self._said:
            self._said.add(kind)
            _log.warning("%s: %s", self._name, message)


class _Asking:
    """The facts, and who asks them."""

    def __init__(self, scorer: Scorer, probe: Probe, keys: Sequence[FactKey], batch: int, seed: int) -> None:
        self._scorer, self._probe, self._keys, self._batch, self._seed = scorer, probe, keys, batch, seed

    def ask(self) -> list[Outcome]:
        """One outcome a fact, by the weights as they are now."""
        self._scorer.forget()
        batches = (self._keys[first : first + self._batch] for first in range(0, len(self._keys), self._batch))
        outcomes = [outcome for batch in batches for outcome in self._probe.ask(batch, [self._seed])]
        # What is kept of these weights would only take memory from the training.
        self._scorer.forget()
        return outcomes


@contextmanager
def _random_numbers_kept() -> Iterator[None]:
    """Whatever is drawn within, what is drawn afterwards is what it would have been."""
    own, arrays = random.getstate(), np.random.get_state()
    devices = list(range(torch.cuda.device_count())) if torch.cuda.is_available() else []
    with torch.random.fork_rng(devices=devices):
        try:
            yield
        finally:
            random.setstate(own)
            np.random.set_state(arrays)


_clock: Callable[[], float] = time.perf_counter
