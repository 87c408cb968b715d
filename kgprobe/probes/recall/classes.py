"""SliCK's four classes of a fact by its right answers, and the classes of a model that guesses.

Gekhman et al. 2024 (2405.05904), section 3; docs/methods/recall.md.
"""

from collections.abc import Mapping

# From the best known to the least known.
CLASSES = ("highly known", "maybe known", "weakly known", "unknown")


def class_of_answers(greedy_right: int, greedy: int, sampled_right: int, sampled: int) -> str | None:
    """Return the class of a fact; None without greedy answers, or if samples would decide and there are none.

    >>> class_of_answers(10, 10, 31, 160), class_of_answers(0, 10, 2, 160)
    ('highly known', 'weakly known')

    Greedy answers are one for each prompt with its own few-shot examples; sampled ones are at a temperature above 0,
    over the same prompts.
    """
    highly, maybe, weakly, unknown = CLASSES
    if not greedy:
        return None
    if greedy_right:
        return highly if greedy_right == greedy else maybe
    if not sampled:
        return None
    return weakly if sampled_right else unknown


def guessed_classes(guess: float, greedy: int, sampled: int) -> Mapping[str, float]:
    """Return the probability of each class for a model whose answers are independent guesses.

    >>> guessed_classes(0.5, 1, 1)
    {'highly known': 0.5, 'maybe known': 0.0, 'weakly known': 0.25, 'unknown': 0.25}

    ``guess`` is the probability that one guess is right, in [0, 1]; at least one answer is greedy.
    """
    all_right, none_right = guess**greedy, (1 - guess) ** greedy
    no_sample = (1 - guess) ** sampled
    shares = (all_right, 1 - all_right - none_right, none_right * (1 - no_sample), none_right * no_sample)
    return dict(zip(CLASSES, shares, strict=True))
