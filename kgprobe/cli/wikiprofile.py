"""``kgprobe dataset profile``: profiles of the facts of WikiProfile."""

from pathlib import Path
from typing import Any

import click
import cloup

from kgprobe.api.options import ApiLimits
from kgprobe.cli.commands import OptionsFirst, given_options
from kgprobe.cli.options import BEHIND_API, count_option, debug_option, json_option, model_option, seed_option
from kgprobe.cli.rendering import render
from kgprobe.cli.running import counting_bar, open_asked, open_models, require_api
from kgprobe.datasets.wikiprofile import WikiProfileOptions


@cloup.command(cls=OptionsFirst)
@cloup.argument("source", type=click.Path(dir_okay=False, path_type=Path), help="File wikiprofile.csv.")
@model_option(BEHIND_API)
@count_option("--limit", metavar="N", help="Maximum number of facts, drawn at random by --seed.  [default: all]")
@given_options((None, WikiProfileOptions))
@given_options(("Models behind an API", ApiLimits), argument="api")
@seed_option
@json_option
@debug_option
def profile(source: Path, model: str, as_json: bool, api: dict[str, Any], **options: Any) -> None:
    """Profile the facts of WikiProfile: encoded or not, recalled or not, by thinking only.

    SOURCE is wikiprofile.csv of google/WikiProfile on the Hugging Face Hub. Each fact has two tasks with context and
    four questions without. --thinking asks the four again with thinking. Answers are read by the names in them. --json
    prints a row for each fact; unusable rows of the file are counted and skipped.

    \b
    kgprobe dataset profile wikiprofile.csv --model demo --limit 20
    kgprobe dataset profile wikiprofile.csv --model openai:NAME --thinking on
    """  # noqa: D301
    from kgprobe.api.wikiprofile import profile_wikiprofile

    require_api(api, model)
    with open_models(api) as models:
        opened = open_asked(models, model)
        with counting_bar(f"Profiling {model}", "answers") as on_progress:
            result = profile_wikiprofile(source, opened, on_progress=on_progress, **options)
    render(result, as_json)
