"""What commands that take their time share: a model that is loaded first, and Ctrl-C that loses nothing."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from kgprobe.cli.options import ApiChoice, is_explained

if TYPE_CHECKING:
    from kgprobe.models.api.spending import Usage
    from kgprobe.models.generating.generator import Generator
    from kgprobe.models.scoring.scorer import Scorer
    from kgprobe.probes.registry import Models


# Continuations that a command's model need not be asked about again, some 200 bytes each.
REMEMBERED = 1_000_000


def load_model(spec: str) -> "Scorer":
    """The scorer of a model, with a word on stderr while it loads, and more where the user asked for it."""
    from rich.console import Console

    console = Console(stderr=True)
    with console.status(f"Loading {spec}"):
        from kgprobe.models.spec import load_scorer

        scorer = load_scorer(spec, remembered=REMEMBERED)
    if is_explained():
        explained = scorer.explain()
        width = max(len(name) for name, _ in explained)
        for name, text in explained:
            click.echo(f"{name:{width}}  {text}", err=True)
    return scorer


@contextmanager
def open_models(api: ApiChoice) -> Iterator["Models"]:
    """The models of a command, each loaded when it is first needed; what an API was asked is told at the end."""
    from rich.console import Console

    from kgprobe.models.api.cache import AnswerCache, answer_cache_path
    from kgprobe.models.api.generator import ApiOptions
    from kgprobe.models.api.spending import Prices, Spending
    from kgprobe.models.generating.local import LocalGenerator
    from kgprobe.models.spec import load_generator
    from kgprobe.probes.registry import Models

    if (api.price_in is None) != (api.price_out is None):
        raise click.UsageError("A model has two prices: give both --price-in and --price-out.")
    if api.max_cost is not None and api.price_in is None:
        raise click.UsageError("--max-cost needs to know what tokens cost: --price-in and --price-out.")
    prices = None if api.price_in is None or api.price_out is None else Prices(api.price_in, api.price_out)
    options = ApiOptions(api.concurrency, api.timeout, prices=prices, refresh=api.refresh)
    spending = Spending(max_tokens=api.max_tokens, max_cost=api.max_cost)
    scorers: dict[str, Scorer] = {}
    generators: dict[str, Generator] = {}
    cache: AnswerCache | None = None

    def scorer(spec: str) -> "Scorer":
        if spec not in scorers:
            scorers[spec] = load_model(spec)
        return scorers[spec]

    def generator(spec: str) -> "Generator":
        nonlocal cache
        if spec in generators:
            return generators[spec]
        if not spec.startswith("openai:"):
            generators[spec] = LocalGenerator(scorer(spec))
        else:
            if cache is None:
                cache = AnswerCache(answer_cache_path())
            generators[spec] = load_generator(spec, api=options, spending=spending, cache=cache)
        return generators[spec]

    try:
        yield Models(scorer, generator)
    finally:
        if cache is not None:
            cache.close()
        for name, usage in spending.usage.items():
            Console(stderr=True).print(_used(name, usage), highlight=False, markup=False, soft_wrap=True)


def _used(name: str, usage: "Usage") -> str:
    cost = "" if usage.cost is None else f", {usage.cost:.4f} in money"
    sent = f"{usage.requests:,} requests ({usage.retries:,} of them repeated)"
    return f"{name}: {sent}, {usage.cached:,} answers from before, {usage.tokens:,} tokens{cost}."


@contextmanager
def interruptible(unit: str) -> Iterator[Callable[[], bool]]:
    """Whether Ctrl-C was pressed; pressed twice, it stops at once.

    Args:
        unit: what is finished first.
    """
    pressed = False

    def press(*_: object) -> None:
        nonlocal pressed
        if pressed:
            raise KeyboardInterrupt
        pressed = True
        click.echo(f"Finishing this {unit}; Ctrl-C again stops at once.", err=True)

    before = signal.signal(signal.SIGINT, press)
    try:
        yield lambda: pressed
    finally:
        signal.signal(signal.SIGINT, before)
