"""Loading of scorers, by kgprobe or by lm-evaluation-harness."""

from kgprobe.errors import ArgumentError
from kgprobe.models.scoring.contract import TextScorer
from kgprobe.models.spec_forms import check_local, is_harness


def load_scoring_model(
    spec: str,
    *,
    device: str | None = None,
    dtype: str | None = None,
    revision: str | None = None,
    batch_tokens: int | None = None,
    bos: bool | None = None,
    remembered: int = 0,
) -> TextScorer:
    """Return the scorer of that name, computed by kgprobe or (``lm-eval:…``) by lm-evaluation-harness.

    Args:
        spec: as in :func:`~kgprobe.models.spec.load_scorer`, or as in :mod:`kgprobe.models.harness.scorer`.
        device, dtype, revision, batch_tokens, bos, remembered: as in :func:`~kgprobe.models.spec.load_scorer`.

    Raises:
        ArgumentError: ``batch_tokens`` or ``revision`` is given for a model of lm-evaluation-harness.
        KgprobeError: see :func:`~kgprobe.models.spec.load_scorer`.
    """
    if not is_harness(spec):
        from kgprobe.models.spec import load_scorer

        return load_scorer(
            spec,
            device=device,
            dtype=dtype,
            revision=revision,
            batch_tokens=batch_tokens,
            bos=bos,
            remembered=remembered,
        )
    from kgprobe.models.harness.scorer import load_harness_scorer

    check_local(spec, revision)
    if batch_tokens is not None:
        raise ArgumentError("batch_tokens", f"is {batch_tokens}; for {spec}, pass batch_size=… in its arguments.")
    return load_harness_scorer(spec, device=device, dtype=dtype, bos=bos)
