"""Options for loading and computing models on this machine."""

from dataclasses import dataclass

from kgprobe.options import option

DTYPES = ("float32", "bfloat16", "float16")


@dataclass(frozen=True, slots=True)
class LocalOptions:
    """Options for loading and computing a model on this machine."""

    device: str | None = option(
        None,
        "Torch device of the model: cpu, cuda, cuda:1.",
        metavar="NAME",
        shown_default="cuda if available",
    )
    dtype: str | None = option(
        None, "Precision of the weights.", choices=DTYPES, shown_default="float32 on a CPU, else bfloat16"
    )
    batch_tokens: int | None = option(
        None,
        "Maximum tokens per forward pass; a longer prompt is still computed. Does not affect results.",
        minimum=1,
        metavar="N",
        shown_default="as memory allows",
    )
    revision: str | None = option(
        None, "Branch, tag or commit of the hub repository.", metavar="NAME", shown_default="newest"
    )
