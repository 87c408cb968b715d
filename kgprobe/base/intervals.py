"""Shares, means and differences with their intervals, as people read them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Share:
    """A share, in [0, 1], with its 95% Wilson interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{100 * self.value:.0f}% [{100 * self.low:.0f}, {100 * self.high:.0f}]"


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean with its 95% interval; the ends are None if they are unknown, as for a single value."""

    value: float
    low: float | None
    high: float | None

    def __str__(self) -> str:
        if self.low is None or self.high is None:
            return f"{self.value:.3f}"
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


@dataclass(frozen=True, slots=True)
class Percent:
    """A share without an interval, shown in percent.

    >>> print(Percent(0.716))
    72%
    """

    value: float

    def __str__(self) -> str:
        return f"{self.value:.0%}"


@dataclass(frozen=True, slots=True)
class Points:
    """A difference of two shares, shown in percentage points.

    >>> print(Points(-0.0123, -0.041, 0.02))
    -1.2 [-4.1, +2.0]

    Attributes:
        low, high: the ends of its interval; None without an interval.
    """

    value: float
    low: float | None = None
    high: float | None = None

    def __str__(self) -> str:
        value = f"{100 * self.value:+.1f}"
        if self.low is None or self.high is None:
            return value
        return f"{value} [{100 * self.low:+.1f}, {100 * self.high:+.1f}]"


def percent_text(part: float) -> str:
    """Return a share in percent; a small one that is not zero is not shown as zero.

    >>> percent_text(0.312), percent_text(0.004), percent_text(0)
    ('31%', '< 1%', '0%')
    """
    return "< 1%" if 0 < part < 0.01 else f"{part:.0%}"
