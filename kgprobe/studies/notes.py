"""What was left out, in sentences."""

from collections import Counter
from collections.abc import Iterable


def counted(title: str, messages: Iterable[str]) -> list[str]:
    """One sentence for each different message, with how often it came, the most frequent first."""
    return [f"{title}: {count:,}: {message}." for message, count in Counter(messages).most_common()]
