"""What a user chooses of how models on this machine are loaded and computed."""

from dataclasses import dataclass

from kgprobe.options import option

DTYPES = ("float32", "bfloat16", "float16")


@dataclass(frozen=True, slots=True)
class LocalOptions:
    """How a model on this machine is loaded and computed."""

    device: str | None = option(
        None,
        "Where the model is computed, as torch names it: cpu, cuda, cuda:1.",
        metavar="NAME",
        shown_default="cuda where there is any",
    )
    dtype: str | None = option(
        None,
        "Precision of its weights.",
        choices=DTYPES,
        shown_default="float32 on a CPU, else bfloat16",
    )
    batch_tokens: int | None = option(
        None,
        "Tokens that go through it at once, as far as one prompt takes no more; has no say in what is found.",
        minimum=1,
        metavar="N",
        shown_default="what memory holds",
    )
    revision: str | None = option(
        None, "A branch, tag or commit of its repository on the hub.", metavar="NAME", shown_default="its newest"
    )
