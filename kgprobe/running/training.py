"""``kgprobe.TrainerCallback``: log the share of known facts while a model is trained."""

import logging
import math
import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from datetime import date
from operator import attrgetter
from typing import Any

import numpy as np
import torch
import transformers

from kgprobe.base.arguments import several, whole_number
from kgprobe.base.dates import as_of_day
from kgprobe.base.errors import ArgumentError, KgprobeError
from kgprobe.graph.client import Graph
from kgprobe.graph.names import relation_ids
from kgprobe.models.model import Model, Models
from kgprobe.models.spec import wrap_scorer
from kgprobe.probes.outcome import Outcome, Verdict
from kgprobe.probes.register import PROBES, ProbeContext
from kgprobe.running.sharded_weights import ALTERNATIVE, gather_weights, is_sharded, plain_copy, share_numbers
from kgprobe.sampling.selection import choose_facts
from kgprobe.stats.proportions import share

_log = logging.getLogger(__name__)
# Share of the training time above which a warning is logged.
_NOTICEABLE = 0.01


class TrainerCallback(transformers.TrainerCallback):
    """Probe a model with the same facts while it is trained, and log the share that it knows.

    >>> trainer = transformers.Trainer(net, arguments, train_dataset=texts, processing_class=tokenizer)
    >>> trainer.add_callback(kgprobe.TrainerCallback(trainer, graph, every=500, limit=200))
    >>> trainer.train()

    The main process probes before the first step, every ``every`` steps, and after the last. The trainer logs
    ``kgprobe/known`` (share of known facts, in [0, 1]), ``kgprobe/known_low`` and ``kgprobe/known_high`` (its 95%
    interval), ``kgprobe/asked`` (number of asked facts) and ``kgprobe/seconds``, in ``trainer.state.log_history`` and
    all other logs.

    A model that FSDP shards over processes is gathered for each evaluation into a plain copy in the main process; the
    other processes wait. So that process needs memory for the whole model.

    Probing does not affect training: module modes, random states, tokenizer and gradients are unchanged.

    Cost: that of the probe, including queries of the graph; see ``most_of_time``.
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
        """Prepare a callback for ``trainer.add_callback``.

        Args:
            trainer: trainer of transformers or TRL, with a tokenizer as its ``processing_class``.
            graph: open graph; keep it open during the training.
            every: number of steps between two evaluations.
            probe: name of a probe that scores: ``distractors``, ``examples``, ``choices``.
            limit: maximum number of facts, drawn once.
            relations: ids or names of relations; empty means all that can be asked.
            seed: random seed.
            as_of: date at which facts must be current; None is today.
            most_of_time: maximum share of the training time for probing, such as 0.01: ``every`` is raised to keep it,
                so that the steps depend on the speed of the machine. None never changes ``every``, and logs a warning
                above 1%.
            strict: True to end the training at an error; False to log the first one as a warning.
            name: prefix of the logged names.
            options: options of the probe, as in :func:`kgprobe.measure`.

        Raises:
            UnknownNameError: no such probe or relation.
            ArgumentError: no such option, or a value is out of range.
            KgprobeError: the probe generates, the trainer has no tokenizer, or it uses DeepSpeed.
        """
        self._kind = PROBES.get(probe)
        if self._kind.asks != "scores":
            raise ArgumentError("probe", f"is {probe!r}, which generates; expected a probe that scores.")
        if most_of_time is not None and not 0 < most_of_time <= 1:
            raise ArgumentError("most_of_time", f"is {most_of_time}; expected a share above 0 and at most 1.")
        if not callable(trainer.processing_class):
            raise KgprobeError("The trainer has no tokenizer; set it with Trainer(…, processing_class=tokenizer).")
        if trainer.is_deepspeed_enabled:
            raise KgprobeError(f"With DeepSpeed a model cannot be probed while it is trained. {ALTERNATIVE}")
        self.every = whole_number("every", every)
        self._options = self._kind.options_from(options)
        self._relations = relation_ids(graph, several("relations", relations))
        self._limit, self._seed = whole_number("limit", limit), whole_number("seed", seed, 0)
        self._day = as_of_day(as_of)
        self._trainer, self._graph = trainer, graph
        self._most_of_time, self._strict, self._name = most_of_time, strict, name
        self._said: set[str] = set()
        self._ask: Callable[[], list[Outcome]] | None = None
        self._next = self._asked_at = 0
        self._done_at = 0.0
        self._gathered: dict[str, Any] | None = None

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002
        """Draw the facts, and probe for the first time."""
        self._ask = None
        self._next = state.global_step
        self._ask_at(state, control)

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002
        """Probe if it is due."""
        if state.global_step >= self._next:
            self._ask_at(state, control)

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002
        """Probe for the last time."""
        if state.global_step > self._asked_at:
            self._ask_at(state, control)

    def _ask_at(self, state: Any, control: Any) -> None:
        """Probe in the main process; of a sharded model, all processes gather the weights and wait."""
        model = self._trainer.model_wrapped
        if not is_sharded(model):
            if state.is_world_process_zero:
                self._ask_here(state, control)
            return
        weights = gather_weights(model)
        try:
            if state.is_world_process_zero:
                self._gathered = weights
                self._ask_here(state, control)
        finally:
            self._gathered = None
            # The others must probe at the same steps.
            plan = share_numbers([self.every, self._next, self._asked_at])
            self.every, self._next, self._asked_at = plan

    def _ask_here(self, state: Any, control: Any) -> None:
        steps, before = state.global_step - self._asked_at, _clock()
        a_step = (before - self._done_at) / steps if steps > 0 else None
        self._asked_at = state.global_step
        try:
            with _random_numbers_kept(), torch.no_grad():
                figures = self._figures()
        # An error of the probe must not end days of training.
        except Exception as error:
            if self._strict:
                raise
            self._say("error", f"No facts asked at step {state.global_step}: {error}")
            figures = {}
        self._done_at = _clock()
        seconds = self._done_at - before
        if figures:
            # Trainer.log resets should_log. Trainers of TRL add their pending metrics to a record, so their log is not
            # called.
            due = control.should_log
            figures["seconds"] = seconds
            logged = {f"{self._name}/{key}": value for key, value in figures.items()}
            transformers.Trainer.log(self._trainer, logged)
            control.should_log = due
        if a_step is not None:
            self._space_out(seconds, a_step)
        self._next = state.global_step + self.every

    def _figures(self) -> dict[str, float]:
        if self._ask is None:
            self._ask = self._prepare()
        outcomes = self._ask()
        heard = [outcome for outcome in outcomes if outcome.verdict.counts]
        if not heard:
            reason = next(map(attrgetter("reason"), outcomes), "the graph has none")
            raise KgprobeError(f"none of {len(outcomes)} facts can be asked: {reason}.")
        known = share(sum(outcome.verdict is Verdict.RIGHT for outcome in heard), len(heard))
        return {"known": known.value, "known_low": known.low, "known_high": known.high, "asked": len(heard)}

    def _prepare(self) -> Callable[[], list[Outcome]]:
        """Draw the facts; return a function that asks them with the present weights."""
        # A copy: the scorer reads special tokens in texts as plain text, which the trainer's tokenizer must not.
        tokenizer: Any = deepcopy(self._trainer.processing_class)
        net: Any = self._trainer.accelerator.unwrap_model(self._trainer.model)
        if self._gathered is not None:
            net = plain_copy(net, self._trainer.args.device)
            net.load_state_dict(self._gathered)
        scorer = wrap_scorer(net, tokenizer)
        setting = ProbeContext(self._graph, Model(scorer.name, scorer=scorer), Models(), self._day, self._relations)
        probe = self._kind.make(setting, self._options)
        chosen = choose_facts(
            self._graph, probe.relations, as_of=self._day, limit=self._limit, seed=self._seed, listed=None
        )
        keys = list(map(chosen.keys.__getitem__, range(len(chosen.keys))))

        def ask() -> list[Outcome]:
            if self._gathered is not None:
                net.load_state_dict(self._gathered)
            scorer.forget()
            outcomes: list[Outcome] = []
            for first in range(0, len(keys), self._kind.batch_size):
                outcomes += probe.ask(keys[first : first + self._kind.batch_size], [self._seed])
            # Free the scorer's caches for the training.
            scorer.forget()
            return outcomes

        return ask

    def _space_out(self, seconds: float, a_step: float) -> None:
        """Raise ``every`` to keep the share of time within its limit; or log a warning."""
        limit_share = _NOTICEABLE if self._most_of_time is None else self._most_of_time
        enough = max(1, math.ceil(seconds / (limit_share * a_step))) if a_step > 0 else self.every
        if enough <= self.every:
            return
        takes = (
            f"Probing takes {seconds:.1f} s, {seconds / (self.every * a_step):.1%} of the time of {self.every} steps"
        )
        if self._most_of_time is None:
            self._say(
                "slow", f"{takes}; with `every`={enough} it would take {limit_share:.0%}; `most_of_time` sets a limit."
            )
        else:
            self.every = enough
            self._say("slow", f"{takes}; from now on every {enough} steps or more (`most_of_time`).")

    def _say(self, kind: str, message: str) -> None:
        if kind not in self._said:
            self._said.add(kind)
            _log.warning("%s: %s", self._name, message)


@contextmanager
def _random_numbers_kept() -> Iterator[None]:
    """Restore all random states afterwards."""
    own, arrays = random.getstate(), np.random.get_state()
    devices = list(range(torch.cuda.device_count())) if torch.cuda.is_available() else []
    with torch.random.fork_rng(devices=devices):
        try:
            yield
        finally:
            random.setstate(own)
            np.random.set_state(arrays)


_clock: Callable[[], float] = time.perf_counter
