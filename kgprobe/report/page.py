"""Pages from the templates beside this file. Whatever is put into one shows as text."""

from collections.abc import Callable, Mapping
from typing import Any

import jinja2

from kgprobe.texts import visible


def render_page(template: str, filters: Mapping[str, Callable[..., str]], **values: Any) -> str:
    """A page with these values in it.

    Args:
        template: the file's name.
        filters: what it uses besides ``visible``.
    """
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("kgprobe.report", "."),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"visible": visible, **filters}
    return environment.get_template(template).render(**values)
