"""Options that mean the same everywhere, each defined once; those that go together come as one value."""

import sys
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import click

from kgprobe.errors import KgprobeError
from kgprobe.intervals import last_day, today

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from kgprobe.probes.registry import DistractorOptions, QuestionOptions

Command = Callable[..., None]
F = TypeVar("F", bound=Callable[..., Any])


_EXPLAINED = "kgprobe.explained"


def together(
    kind: "type[DataclassInstance]", argument: str, *options: Callable[[Command], Command]
) -> Callable[[Command], Command]:
    """Options that a command gets as one argument.

    Args:
        kind: what their values are put into; a field is named like its option's parameter, and one without an option
            keeps its default.
        argument: its name.
        options: as the help lists them.
    """

    def decorate(command: Command) -> Command:
        @wraps(command)
        def gathered(**values: Any) -> None:
            its = {field.name: values.pop(field.name) for field in fields(kind) if field.name in values}
            command(**values, **{argument: kind(**its)})

        decorated: Command = gathered
        for option in reversed(options):
            decorated = option(decorated)
        return decorated

    return decorate


class _AsOf(click.ParamType[int]):
    name = "date"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        try:
            return last_day(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


def graph_option(command: F) -> F:
    """``--graph``: which graph a command works on."""
    return click.option(
        "--graph",
        "graph",
        envvar="KGPROBE_GRAPH",
        show_envvar=True,
        metavar="ADDRESS|FOLDER",
        help="A server's address (bolt://…, neo4j://…), or the folder of an embedded graph."
        "  [default: a folder of your own, started when needed]",
    )(command)


def seed_option(command: F) -> F:
    """``--seed``: what all random choices follow from."""
    return click.option(
        "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="What all random choices follow from."
    )(command)


def as_of_option(command: F) -> F:
    """``--as-of``: the reference date, as ``yyyymmdd``."""
    return click.option(
        "--as-of", type=_AsOf(), default=today, show_default="today", help="Facts count as current at this date."
    )(command)


def json_option(command: F) -> F:
    """``--json``: machine-readable output on stdout."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON for programs instead of a table.")(command)


def debug_option(command: F) -> F:
    """``--debug``: show the traceback of an error."""
    return click.option("--debug", is_flag=True, expose_value=False, help="Show where an error came from.")(command)


@dataclass(frozen=True, slots=True)
class Common:
    """What means the same in every command that looks at facts.

    Attributes:
        seed: what all random choices follow from.
        as_of: facts count as current at this date, ``yyyymmdd``.
        graph: a server's address or an embedded graph's folder; None for the user's own.
        as_json: whether the output is for programs.
    """

    seed: int
    as_of: int
    graph: str | None
    as_json: bool


def common_options(command: Command) -> Command:
    """``--seed``, ``--as-of``, ``--graph``, ``--json`` and ``--debug``, as ``common``."""
    options = (seed_option, as_of_option, graph_option, json_option, debug_option)
    return together(Common, "common", *options)(command)


def ask_password(prompt: str) -> str:
    """Ask the user for a password, on the terminal and unseen.

    Raises:
        KgprobeError: there is no terminal to ask on.
    """
    if not sys.stdin.isatty():
        raise KgprobeError(f"{prompt}: there is no terminal to ask on. Set KGPROBE_GRAPH_PASSWORD.")
    return str(click.prompt(prompt, hide_input=True, err=True))


def model_option(command: F) -> F:
    """``--model`` with ``--explain``: which model is asked."""
    return click.option(
        "--model",
        required=True,
        metavar="SPEC",
        help="demo, hf:NAME of the Hugging Face hub, or hf:./folder with a model in it.",
    )(explain_option(command))


def explain_option(command: F) -> F:
    """``--explain``: how a model is computed, told when it is loaded; see :func:`is_explained`."""

    def remember(context: click.Context, _: click.Parameter, asked: bool) -> None:
        context.meta[_EXPLAINED] = asked

    return click.option(
        "--explain",
        is_flag=True,
        expose_value=False,
        callback=remember,
        help="Say how the model is computed, and why not in a faster way.",
    )(command)


def is_explained() -> bool:
    """Whether the command at work was given ``--explain``."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(_EXPLAINED))


class _Sentences(click.ParamType[int | None]):
    name = "N|all"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | None:
        if value is None or value == "all":
            return None
        if not str(value).isdecimal() or int(value) == 0:
            self.fail(f"{value!r} is neither a number from 1 on nor 'all'.", param, ctx)
        return int(value)


STRATEGIES = ("random", "semantic", "temporal-semantic", "approximate-optimal", "exact-optimal")


_STRATEGY = click.option(
    "--strategy",
    type=click.Choice(STRATEGIES),
    default="random",
    show_default=True,
    help="Which distractors: any of the object's type; those most like it; the same after former objects;"
    " those that the model finds most plausible, by beam search or by exact search.",
)
_WEIGHTING = click.option(
    "--weighting",
    type=click.Choice(("tf-idf", "bm25")),
    default="tf-idf",
    show_default=True,
    help="How semantic distractors weigh features.",
)
_BUDGET = click.option(
    "--budget",
    type=click.IntRange(min=1),
    default=2_000,
    show_default=True,
    help="Prefixes that exact search may expand for one sentence; beyond, it says how far its proof reaches.",
)


@dataclass(frozen=True, slots=True)
class DistractorChoice:
    """How facts are asked by the distractor measure.

    Attributes:
        distractors: how many stand beside the right object.
        sentences: how many cloze sentences of a relation are asked; None asks all.
        strategy, weighting, budget: see :class:`~kgprobe.probes.distractors.strategies.StrategyOptions`.
    """

    distractors: int
    sentences: int | None
    weighting: str
    budget: int
    strategy: str = "random"

    def probe_options(self, model: str, relations: tuple[str, ...], as_of: int) -> "DistractorOptions":
        """The probe's options with this choice."""
        from kgprobe.probes.registry import DistractorOptions

        return DistractorOptions(
            model, as_of, relations, self.distractors, self.sentences, self.strategy, self.weighting, self.budget
        )


def distractor_options(distractors: int, sentences: str, *, strategy: bool = True) -> Callable[[Command], Command]:
    """``--distractors``, ``--sentences`` and what belongs to the strategy, with these defaults, as ``choice``.

    Args:
        strategy: whether one strategy is chosen; if not, its options are there all the same.
    """
    count = click.option(
        "--distractors",
        "-n",
        type=click.IntRange(min=1),
        default=distractors,
        show_default=True,
        help="Wrong objects that stand beside the right one.",
    )
    asked = click.option(
        "--sentences",
        type=_Sentences(),
        default=sentences,
        show_default=True,
        help="How many cloze sentences of the relation are asked, drawn at random; or all of them.",
    )
    options = (count, asked, *([_STRATEGY] if strategy else []), _WEIGHTING, _BUDGET)
    return together(DistractorChoice, "choice", *options)


@dataclass(frozen=True, slots=True)
class QuestionChoice:
    """How facts are asked by questions; see :class:`~kgprobe.probes.registry.QuestionOptions`."""

    difficulty: str
    judge: str | None
    follow_ups: int
    answer_tokens: int
    with_alias: bool
    writer: str | None

    def probe_options(self, model: str, relations: tuple[str, ...], as_of: int) -> "QuestionOptions":
        """The probe's options with this choice."""
        from kgprobe.probes.registry import QuestionOptions

        return QuestionOptions(
            model,
            as_of,
            relations,
            self.difficulty,
            self.with_alias,
            self.judge,
            follow_ups=self.follow_ups,
            answer_tokens=self.answer_tokens,
            writer=self.writer,
        )


difficulty_option = click.option(
    "--difficulty",
    type=click.Choice(("easy", "hard")),
    default="hard",
    show_default=True,
    help="easy asks yes/no questions alone; hard also who, which and what, where fewer than ten answers are right.",
)
with_alias_option = click.option("--with-alias", is_flag=True, help="Say after the subject what else it is called.")


def question_options(command: Command) -> Command:
    """``--difficulty``, ``--judge``, ``--follow-ups``, ``--answer-tokens`` and others, as ``questions``."""
    options = (
        difficulty_option,
        click.option(
            "--judge",
            metavar="SPEC",
            help="The model that reads answers to who, which and what.  [default: an answer is right if it has a right"
            " name in it]",
        ),
        click.option(
            "--follow-ups",
            type=click.IntRange(min=0),
            default=2,
            show_default=True,
            help="Questions after a mistake, at most, to see whether the model stands by it.",
        ),
        click.option(
            "--answer-tokens",
            type=click.IntRange(min=1),
            default=64,
            show_default=True,
            help="The most tokens of an answer; models that think aloud need many more.",
        ),
        with_alias_option,
        click.option(
            "--writer",
            metavar="SPEC",
            help="The model that words the questions; what does not pass the checks is asked in the words of a"
            " template.  [default: all are]",
        ),
    )
    return together(QuestionChoice, "questions", *options)(command)


@dataclass(frozen=True, slots=True)
class ApiChoice:
    """How models behind an API are asked, and what that may cost.

    Attributes:
        max_tokens, max_cost: the budget; None is no limit.
        price_in, price_out: per million tokens.
        refresh: whether what was answered before is asked again.
    """

    concurrency: int
    timeout: float
    max_tokens: int | None
    max_cost: float | None
    price_in: float | None
    price_out: float | None
    refresh: bool


def api_options(command: Command) -> Command:
    """``--concurrency``, ``--timeout``, ``--max-tokens``, ``--max-cost`` and prices, as ``api``."""
    options = (
        click.option(
            "--concurrency",
            type=click.IntRange(min=1),
            default=32,
            show_default=True,
            help="Requests to an API under way at once, at most.",
        ),
        click.option(
            "--timeout",
            type=click.FloatRange(min=0, min_open=True),
            default=120.0,
            show_default=True,
            metavar="SECONDS",
            help="A request to an API without an answer by then is repeated.",
        ),
        click.option("--max-tokens", type=click.IntRange(min=0), metavar="N", help="Tokens of an API to use, at most."),
        click.option(
            "--max-cost",
            type=click.FloatRange(min=0),
            metavar="MONEY",
            help="What an API may cost, in the currency of the prices; needs both of them.",
        ),
        click.option(
            "--price-in", type=click.FloatRange(min=0), metavar="MONEY", help="Of a million tokens of prompts."
        ),
        click.option(
            "--price-out", type=click.FloatRange(min=0), metavar="MONEY", help="Of a million tokens of answers."
        ),
        click.option(
            "--refresh", is_flag=True, help="Ask an API again for what it has answered before: its model is another."
        ),
    )
    return together(ApiChoice, "api", *options)(command)
