"""The hierarchical model: beliefs about all facts, updated by answers round by round.

docs/methods/learner.md. A round refreshes the asked facts and the answered facts near changed parts: it costs its batch
and the ends of its facts, not the graph. Variances are estimated from all answers each time that their
number has grown by a quarter, so the average cost per answer is constant.

The variance of each kind of parts maximises the probability of the answers (empirical Bayes), with a half-normal prior
of scale 3 on the standard deviation: log odds seldom differ by more than 6. Expectation and maximisation run on the
marginals of :mod:`.messages`. Since EM steps shrink slowly, each step is extrapolated by the ratio of the last two.
Parts without answers do not count.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kgprobe.beliefs.effects import Effects
from kgprobe.beliefs.messages import Messages, Tilted, Variances, settle, with_answers

Floats = NDArray[np.float64]
Positions = NDArray[np.int64]

_PRIOR_SCALE = 3.0

# Steps of log variances: the largest ratio of two steps in the extrapolation, and the largest step.
_MAX_RATIO = 0.9
_MAX_STEP = 1.0
_CONVERGED = 2e-3
_SMALLEST = 1e-4
# Sweeps until both facts and variances converge.
_MOST_LEARNING_SWEEPS = 150


def initial_variances(fixed: Floats) -> Variances:
    """Return initial variances: standard deviations in log odds of 1.5 for parts and 2 for single facts."""
    return Variances(np.where(np.isnan(fixed), 1.5**2, fixed), 4.0)


def learn_variances(messages: Messages) -> int:
    """Alternate between refreshing all answered facts and updating variances until both converge.

    Returns:
        Number of sweeps.

    Cost: linear in the answered facts, for each sweep.
    """
    slots = np.arange(messages.answered)
    touched = np.unique(messages.parts_of(slots))
    kinds_of = messages.effects.kinds_of(touched)
    learned = np.isnan(messages.effects.fixed_variances())
    last = np.zeros(int(learned.sum()) + 1)
    sweep = 0
    for sweep in range(1, _MOST_LEARNING_SWEEPS + 1):
        _, moved = messages.refresh(slots)
        current = np.log(np.append(messages.variances.kinds[learned], messages.variances.own))
        step = np.log(np.append(_of_parts(messages, touched, kinds_of)[learned], _of_facts(messages))) - current
        ratio = np.divide(step, last, out=np.zeros_like(step), where=np.abs(last) > 1e-9)
        last = step
        # The first steps depend more on the sites than on the variances.
        if sweep > 2:
            move = np.clip(step / (1 - np.clip(ratio, 0, _MAX_RATIO)), -_MAX_STEP, _MAX_STEP)
            values = np.maximum(np.exp(current + move), _SMALLEST)
            kinds = messages.variances.kinds.copy()
            kinds[learned] = values[:-1]
            messages.variances = Variances(kinds, float(values[-1]))
            # A variance at its minimum has converged.
            waiting = (np.abs(move) > _CONVERGED) & ~((values <= _SMALLEST) & (move < 0))
            if not waiting.any() and not len(moved):
                break
    return sweep


def _of_parts(messages: Messages, touched: Positions, kinds_of: Positions) -> Floats:
    """Return the best variance of each kind given the marginals of the touched parts, shape (kinds,)."""
    kinds = len(messages.effects.kinds)
    mean, variance = messages.marginals_of(touched)
    squares = np.bincount(kinds_of, mean**2 + variance, kinds).astype(np.float64)
    return _most_probable(squares, np.bincount(kinds_of, minlength=kinds).astype(np.float64))


def _of_facts(messages: Messages) -> float:
    """Return the best variance of the own parts of answered facts."""
    before, variance = messages.before_own(np.arange(messages.answered))
    own = messages.variances.own
    mean, after = with_answers(before, variance, messages.sites)
    share = own / variance
    squares = share**2 * ((mean - before) ** 2 + after) + own * (1 - share)
    return float(_most_probable(np.array([squares.sum()]), np.array([float(messages.answered)]))[0])


def _most_probable(squares: Floats, count: Floats) -> Floats:
    """Return the most probable variance of ``count`` normals with this sum of squares, under the prior."""
    scale = _PRIOR_SCALE**2
    best: Floats = np.maximum(scale / 2 * (np.sqrt(count**2 + 4 * squares / scale) - count), _SMALLEST)
    return best


_GROWTH = 1.25
_MOST_SWEEPS = 30
# Tolerance within a round; when variances are estimated, everything converges to a thousandth.
_ROUND_TOLERANCE = 1e-2
MAX_DEGREE = 1_000


@dataclass(slots=True)
class HierarchicalModel:
    """Beliefs about all facts of a graph.

    Attributes:
        learned_at: number of answers at the last estimation of variances.
    """

    messages: Messages
    answers: int = 0
    learned_at: int = 0

    @classmethod
    def of(cls, effects: Effects, max_degree: int = MAX_DEGREE) -> "HierarchicalModel":
        """Return the model before any answer.

        >>> import numpy as np
        >>> from kgprobe.beliefs.effects import effects_of
        >>> learner = HierarchicalModel.of(effects_of(np.array([0, 0, 1]), np.array([1, 2, 2])))
        >>> _ = learner.learn(np.array([0]), np.array([True]))
        >>> alpha, beta = beta_parameters(learner.posterior(np.array([0, 1])))
        >>> (alpha / (alpha + beta)).round(2).tolist()
        [0.84, 0.75]

        Args:
            max_degree: the facts of a part with more answered facts are not refreshed when the part changes, but when
                they are asked or variances are estimated.
        """
        return cls(Messages(effects, initial_variances(effects.fixed_variances()), max_degree))

    def learn(self, facts: Positions, wrong: NDArray[np.bool_]) -> bool:
        """Update the model by a round: distinct facts, and True for a wrong answer; shape (asked,).

        Returns:
            True if variances were estimated.
        """
        slots = self.messages.add(facts, wrong)
        self.answers += len(facts)
        if len(facts) and self.answers >= _GROWTH * self.learned_at:
            learn_variances(self.messages)
            self.learned_at = self.answers
            return True
        settle(self.messages, slots, _MOST_SWEEPS, _ROUND_TOLERANCE)
        return False

    def posterior(self, facts: Positions) -> Tilted:
        """Return moments of x and theta of some facts, asked or not. Cost: linear in these."""
        return self.messages.posterior(facts)


def beta_parameters(moments: Tilted) -> tuple[Floats, Floats]:
    """Return alpha and beta of the Beta distributions with theta's mean and variance, each of shape (facts,)."""
    total = moments.theta * (1 - moments.theta) / moments.theta_variance - 1
    return moments.theta * total, (1 - moments.theta) * total
