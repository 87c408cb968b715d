"""The models of a command, with their loading and their API usage on stderr."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from kgprobe.api.options import ApiLimits
from kgprobe.cli.options import is_explained, local_given
from kgprobe.options import make_options

if TYPE_CHECKING:
    from kgprobe.models.api.spending import Usage
    from kgprobe.models.model import Model, Models
    from kgprobe.models.scoring.contract import TextScorer


@contextmanager
def open_models(api: Mapping[str, Any] | None = None) -> Iterator["Models"]:
    """Yield the models of a command, each loaded at first use; print the API usage at the end.

    Args:
        api: options of :class:`~kgprobe.api.options.ApiLimits`, by name.
    """
    from kgprobe.api.models import models_within

    limits = make_options(ApiLimits, api or {}, "models behind an API")
    with models_within(limits, _load, replace(local_given(), revision=None)) as models:
        try:
            yield models
        finally:
            for name, usage in models.spending.usage.items():
                click.echo(_usage_line(name, usage), err=True)


def open_asked(models: "Models", spec: str) -> "Model":
    """Return the model of ``--model`` with the options for local models; they do not apply to other models."""
    return models.open(spec, local_given())


def _load(spec: str, **options: Any) -> "TextScorer":
    from kgprobe.progress import waiting

    with waiting(f"Loading {spec}", remembered=True):
        from kgprobe.models.spec import load_scoring_model

        scorer = load_scoring_model(spec, **options)
    if is_explained():
        lines = scorer.explain()
        width = max(len(name) for name, _ in lines)
        for name, text in lines:
            click.echo(f"{name:{width}}  {text}", err=True)
    return scorer


def _usage_line(name: str, usage: "Usage") -> str:
    cost = "" if usage.cost is None else f", {usage.cost:.4f} in money"
    sent = f"{usage.requests:,} requests ({usage.retries:,} of them repeated)"
    return f"{name}: {sent}, {usage.cached:,} answers from before, {usage.tokens:,} tokens{cost}."
