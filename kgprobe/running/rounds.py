"""Adaptive rounds: draw facts, ask them, update beliefs.

docs/methods/rounds.md. Each round is one transaction guarded by ``Run.round``, and its random choices depend only on
the seed and the round's number. So a killed run resumes to the same beliefs as an uninterrupted one.

The learner updates beliefs: :data:`kgprobe.beliefs.register.LEARNERS`. With every learner a round costs its batch and
the batch's neighbours. Where facts are drawn ahead of the device, a round is written while the next one is asked; the
latter is dropped if the run stops when the former is written.
"""

import dataclasses
import math
import shlex
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from contextlib import closing, contextmanager, suppress
from contextvars import copy_context
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from threading import Event

import msgspec

from kgprobe.answers.callbacks import NO_CALLBACKS, Batch, Callbacks, Start, Stop, why_silent
from kgprobe.answers.settings import differences, keep_device_time
from kgprobe.answers.store import OutcomeStore, read_outcomes, read_rounds
from kgprobe.base.errors import KgprobeError
from kgprobe.base.progress import OnProgress, no_progress, print_message
from kgprobe.beliefs.draw import RoundChoice
from kgprobe.beliefs.register import LEARNERS
from kgprobe.graph.client import Graph, Row
from kgprobe.graph.state import graph_state, state_difference
from kgprobe.models.api.spending import BudgetSpentError
from kgprobe.models.computing import timing_the_device
from kgprobe.probes.outcome import Outcome, Probe, Verdict
from kgprobe.probes.register import ProbeKind
from kgprobe.running.ahead import ask_ahead
from kgprobe.running.learner import COUNTS, Learner, RoundTakenError, Write, counted_answers, counted_as
from kgprobe.running.name_preferences import NamePreferences
from kgprobe.running.plan import Plan, plan_of
from kgprobe.running.runs import RunInUseError, at_start, get_run, locked
from kgprobe.running.view import ViewTakenError, take_view, write_view
from kgprobe.sampling.keys import FactKey

# Rounds over which rates have to stay the same.
CONVERGED_ROUNDS = 5
# Changed sentences in a message.
_SHOWN_SENTENCES = 3
# Wait for the last round to be written after Ctrl-C.
_INTERRUPT_SECONDS = 5.0
_Ask = Callable[[Sequence[FactKey], Sequence[int]], Iterator[list[Outcome]]]


@dataclass(frozen=True, slots=True)
class Round(Batch):
    """A finished round.

    Attributes:
        number: from 1 on.
        touched: number of facts with updated beliefs.
        hubs: labels of entities that were excluded from propagation, by their ids.
        width: mean width of the credible interval of theta after it, over all facts that can be asked.
        seconds: of its parts.
    """

    number: int
    touched: int
    hubs: dict[str, str]
    width: float
    seconds: dict[str, float]


@dataclass(frozen=True, slots=True)
class RunReport:
    """Progress of a run after a call.

    Attributes:
        facts: number of facts that can be asked; None if unknown.
        rounds: number of rounds in total.
        asked: number of answers in total.
        unaskable, unanswered: number of facts that could not be asked, and of questions without an answer, in total.
        seconds: duration of the call.
        stopped: reason for which it stopped. A round that exceeds the budget, or gets no answer at all, is not counted;
            its answers are cached for the next call.
        reason: details, as a sentence; None if there are none.
        hubs: labels of entities that were excluded from propagation, by their ids.
    """

    run: str
    facts: int | None
    rounds: int
    asked: int
    unaskable: int
    unanswered: int
    seconds: float
    stopped: Stop
    reason: str | None = None
    hubs: dict[str, str] = field(default_factory=dict)


def continue_run(
    graph: Graph,
    probe: Probe,
    plan: Plan,
    callbacks: Callbacks = NO_CALLBACKS,
    *,
    kind: ProbeKind | None = None,
    batch: int | None = None,
    view: bool = True,
    on_progress: OnProgress = no_progress,
) -> RunReport:
    """Resume a run up to the last round of the plan, which may be later than the one it was begun with.

    Args:
        view: True to bring the run into view (:mod:`kgprobe.running.view`), unless another process brings another one
            into view at the same time; False leaves the view as it is.
        on_progress: called while the beliefs of another run are removed, and while this run's are written at its end.
        callbacks: ``on_batch`` gets a :class:`Round`.
        kind: of the probe; None if it is not registered: then preferred names are not counted.
        batch: number of facts that are drawn together, while the facts before them are computed, see :mod:`.ahead`;
            None to draw and compute each round as a whole. Does not affect the answers.

    Raises:
        KgprobeError: another process uses the run; the probe differs from the run's; the file of its answers is
            missing; or more rounds are done than planned.
    """
    started = time.monotonic()
    with locked(get_run(graph, plan.run)) as folder:
        # Read again: only now can no other process change it.
        run = get_run(graph, plan.run)
        changes = differences(msgspec.json.decode(run["config"]), probe.describe())
        if changes:
            raise KgprobeError(
                f"Run {plan.run!r} was begun with other settings: {'; '.join(changes)}. Begin a new run."
            )
        if plan.options.rounds < run["round"]:
            raise KgprobeError(
                f"Run {plan.run!r} has {run['round']} rounds already, more than `rounds`, {plan.options.rounds}."
            )
        if plan.options.rounds != run["rounds"]:
            graph.write("beliefs/extend_run", id=plan.run, rounds=plan.options.rounds)
        with OutcomeStore(folder) as store:
            store.cut_to(counted_answers(run), run["round"])
            if view:
                view = _came_into_view(graph, plan.run, on_progress)
            state = graph_state(graph)
            learner = _open_learner(graph, plan, run)
            changed = ""
            if state != run["graph"]:
                changed = "; ".join(
                    [state_difference(run["graph"], state), *at_start(graph, run)[1][:_SHOWN_SENTENCES]]
                )
            callbacks.on_start(
                Start(len(learner.keys), run["round"], plan.options.rounds, changed, batch=plan.options.facts_per_round)
            )
            preferences = NamePreferences(kind)
            if kind is not None:
                preferences.learn(read_outcomes(store.path, kind.evidence()))
            writer = _Writer(callbacks, behind=batch is not None)
            with timing_the_device() as timed, _asking(probe, writer.callbacks, batch) as ask:
                report = _do_rounds(ask, plan, run, store, learner, preferences, writer)
            keep_device_time(folder, timed)
            _settle(graph, run, learner, report.rounds, state)
            if not write_view(graph, plan.run, learner, report.rounds, state, on_progress) and view:
                print_message(
                    f"Run {plan.run!r} is not in view any more: another process has changed the view."
                    f" {_how_to_show(plan.run)}"
                )
    return dataclasses.replace(report, seconds=time.monotonic() - started)


def show_run(graph: Graph, run: str, on_progress: OnProgress = no_progress) -> int:
    """Bring a run into view, and write its beliefs about all facts that it can ask; return the number of these facts.

    An interrupted call is continued.

    Raises:
        KgprobeError: another process uses the run.
        ViewTakenError: another process has brought another run into view meanwhile.

    Cost: opening the run's learner; a credible interval and a write for each fact.
    """
    with locked(get_run(graph, run)):
        properties = get_run(graph, run)
        state = graph_state(graph)
        learner = _open_learner(graph, plan_of(properties), properties)
        take_view(graph, run, on_progress)
        _settle(graph, properties, learner, properties["round"], state)
        if not write_view(graph, run, learner, properties["round"], state, on_progress):
            raise ViewTakenError(f"Run {run!r} is not in view any more: another process has changed the view.")
        return len(learner.keys)


def settle_run(graph: Graph, run: str) -> None:
    """Write the last beliefs of a run whose process was killed, as its end would have; nothing while a process uses it.

    Raises:
        KgprobeError: the file of its answers is missing.

    Cost: two look-ups; opening the run's learner if it was killed.
    """
    if _is_settled(get_run(graph, run)):
        return
    with suppress(RunInUseError), locked(get_run(graph, run)):
        properties = get_run(graph, run)
        if not _is_settled(properties):
            state = graph_state(graph)
            learner = _open_learner(graph, plan_of(properties), properties)
            _settle(graph, properties, learner, properties["round"], state)


def _is_settled(run: Row) -> bool:
    return bool(run["round"] == run.get("settled", 0))


def _settle(graph: Graph, run: Row, learner: Learner, number: int, state: str) -> None:
    """Write all beliefs after a round, unless this was done in this state of the graph."""
    if (run.get("settled"), run.get("settled_graph")) != (number, state):
        learner.finish()
        graph.write("beliefs/learned", id=run["id"], learned={"settled": number, "settled_graph": state})


def _came_into_view(graph: Graph, run: str, on_progress: OnProgress) -> bool:
    """Bring a run into view; report it and return False if another process brings another run into view."""
    try:
        take_view(graph, run, on_progress)
    except ViewTakenError as error:
        print_message(f"{error} The run continues without the view. {_how_to_show(run)}")
        return False
    return True


def _how_to_show(run: str) -> str:
    return f"To show its beliefs: kgprobe beliefs apply {shlex.quote(run)}"


def _open_learner(graph: Graph, plan: Plan, run: Row) -> Learner:
    names = {row["id"]: row["label"] for row in graph.read("sample/relations")}
    labels = {relation: names.get(relation) or relation for relation in run["relations"]}
    learner: Learner = LEARNERS[plan.options.learner].load()(graph, plan, run, labels)
    return learner


@contextmanager
def _asking(probe: Probe, callbacks: Callbacks, batch: int | None) -> Iterator[_Ask]:
    """Yield a function that asks the facts of a round with a seed, and yields the outcomes of one batch after another.

    Args:
        batch: number of facts per batch, which is drawn ahead; None to ask a round as one batch.
    """
    waiting: deque[Callable[[], list[Outcome]]] = deque()

    def ask_batch(facts: Sequence[FactKey], seed: Sequence[int], before: int) -> list[Outcome]:
        with callbacks.hearing(len(facts), before):
            return probe.ask(facts, seed)

    with closing(ask_ahead(lambda: waiting.popleft() if waiting else None, ahead=batch is not None)) as answers:

        def ask(facts: Sequence[FactKey], seed: Sequence[int]) -> Iterator[list[Outcome]]:
            size = batch or max(len(facts), 1)
            starts = range(0, max(len(facts), 1), size)
            waiting.extend(partial(ask_batch, facts[start : start + size], seed, start) for start in starts)
            return islice(answers, len(starts))

        yield ask


def _do_rounds(
    ask: _Ask,
    plan: Plan,
    run: Row,
    store: OutcomeStore,
    learner: Learner,
    preferences: NamePreferences,
    writer: "_Writer",
) -> RunReport:
    counts = Counter({name: run[name] for name in COUNTS})
    done, stopped, reason = run["round"], Stop.DONE, None
    rates = _RunningRates(plan.options.stop_at_change, store, counts.total())
    with writer:
        while done < plan.options.rounds:
            if (end := _end_of(plan, learner, rates)) is not None:
                stopped = end
                break
            clock = time.monotonic()
            chosen = learner.choose(done + 1)
            seconds = {"draw": time.monotonic() - clock}
            clock = time.monotonic()
            facts = list(map(learner.keys.__getitem__, chosen.positions.tolist()))
            outcomes: list[Outcome] = []
            try:
                for batch in ask(facts, [plan.seed, done + 1]):
                    outcomes += batch
                    if writer.stops():
                        break
            except BudgetSpentError as error:
                stopped, reason = Stop.BUDGET_SPENT, str(error)
                break
            seconds["ask"] = time.monotonic() - clock
            if writer.stops(wait=True):
                break
            reason = why_silent(outcomes)
            if reason is not None:
                stopped, reason = Stop.NO_ANSWERS, f"{reason} The round was not counted."
                break
            done += 1
            write = learner.apply(done, outcomes)
            writer.write(
                partial(_write, store, preferences, done, counts.total(), outcomes, chosen, write, learner, seconds)
            )
            counts.update(map(counted_as, outcomes))
            rates.add((outcome.fact.fact, outcome.verdict) for outcome in outcomes)
            if writer.stops():
                break
    if writer.stops() and done < plan.options.rounds:
        stopped, reason = Stop.ASKED_TO, None
    return RunReport(
        plan.run,
        len(learner.keys),
        done,
        **counts,
        seconds=0.0,
        stopped=stopped,
        reason=reason,
        hubs=writer.hubs,
    )


def _end_of(plan: Plan, learner: Learner, rates: "_RunningRates") -> Stop | None:
    """Return the reason for which a run ends before its next round; None if it goes on."""
    if plan.options.stop_at_width and learner.width() <= plan.options.stop_at_width:
        return Stop.SURE_ENOUGH
    if rates.have_converged():
        return Stop.CONVERGED
    return None if learner.has_askable() else Stop.NOTHING_LEFT


class _RunningRates:
    """Win rate and zero-sense rate of the asked facts after each round; nothing is counted without a threshold."""

    def __init__(self, change: float, store: OutcomeStore, answers: int) -> None:
        """Count the answers of the rounds so far.

        Args:
            change: largest change of both rates in the last rounds that is convergence; 0 for none.
            answers: number of stored answers.
        """
        self._change = change
        self._right: Counter[str] = Counter()
        self._wrong: Counter[str] = Counter()
        self._rates: list[tuple[float, float]] = []
        for draws in read_rounds(store.path, answers) if change and answers else ():
            self.add((draw.fact, draw.verdict) for draw in draws)

    def add(self, answers: Iterable[tuple[str, Verdict]]) -> None:
        """Count the answers of a round, by fact. Cost: the asked facts."""
        if not self._change:
            return
        for fact, verdict in answers:
            if verdict.counts:
                (self._right if verdict is Verdict.RIGHT else self._wrong)[fact] += 1
        facts = self._right.keys() | self._wrong.keys()
        won = sum(self._right[fact] > self._wrong[fact] for fact in facts)
        senseless = sum(not self._right[fact] for fact in facts)
        self._rates.append((won / max(len(facts), 1), senseless / max(len(facts), 1)))

    def have_converged(self) -> bool:
        """Return True if both rates have changed by no more than the threshold in the last rounds."""
        last = self._rates[-1 - CONVERGED_ROUNDS :]
        return len(last) > CONVERGED_ROUNDS and all(
            max(rate) - min(rate) <= self._change for rate in zip(*last, strict=True)
        )


class _Writer:
    """Writes the rounds of a run and reports them; a context manager that ends with the last one.

    Attributes:
        hubs: labels of entities that were excluded from propagation, by their ids.
        callbacks: get no progress of a round before the last one is reported.
    """

    def __init__(self, callbacks: Callbacks, *, behind: bool) -> None:
        """Write each round at once, or ``behind``: in a thread, while the next round is chosen and asked."""
        self.callbacks = dataclasses.replace(callbacks, on_part=self._report_part)
        self.hubs: dict[str, str] = {}
        self._callbacks, self._behind = callbacks, behind
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="kgprobe-behind")
        self._written: Future[Round] | None = None
        self._stops = False

    def write(self, write: Callable[[Callable[[], None]], Round]) -> None:
        """Write a round, after the one before it was reported, at least until it calls that the next can be chosen."""
        if not self._behind:
            self._report(write(lambda: None))
            return
        can_choose = Event()
        self._written = self._pool.submit(copy_context().run, write, can_choose.set)
        self._written.add_done_callback(lambda _: can_choose.set())
        can_choose.wait()

    def stops(self, *, wait: bool = False) -> bool:
        """Report the last round once it is written; return True if a callback has stopped the run.

        Args:
            wait: True to wait until it is written.
        """
        if self._written is not None and (wait or self._written.done()):
            done = self._written.result()
            self._written = None
            self._report(done)
        return self._stops

    def _report_part(self, facts: float) -> None:
        if self._written is None:
            self._callbacks.on_part(facts)

    def _report(self, done: Round) -> None:
        self.hubs |= done.hubs
        self._callbacks.on_batch(done)
        self._stops = self._callbacks.should_stop()

    def __enter__(self) -> "_Writer":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._pool.shutdown(wait=False)
        if self._written is not None:
            if kind is None or issubclass(kind, Exception):
                self.stops(wait=True)
            else:
                wait_for([self._written], _INTERRUPT_SECONDS)


def _write(
    store: OutcomeStore,
    preferences: NamePreferences,
    number: int,
    before: int,
    outcomes: Sequence[Outcome],
    chosen: RoundChoice,
    write: Write,
    learner: Learner,
    seconds: dict[str, float],
    can_choose: Callable[[], None],
) -> Round:
    """Store a round's outcomes after ``before`` earlier ones, and let the learner write its beliefs."""
    inclusions = [None if math.isnan(chance) else chance for chance in chosen.probabilities.tolist()]
    smallest = None if math.isnan(chosen.smallest) else chosen.smallest
    store.append(range(before, before + len(outcomes)), outcomes, number, inclusions, smallest)
    preferences.learn(outcomes)
    try:
        applied = write(list(map(preferences.chance, outcomes)), can_choose)
    except RoundTakenError:
        store.cut_to(before, number - 1)
        raise
    return Round(outcomes, number, number, applied.touched, applied.hubs, learner.width(), seconds | applied.seconds)
