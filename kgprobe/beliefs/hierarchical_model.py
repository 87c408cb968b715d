"""The hierarchical model: beliefs about all facts, updated by answers round by round.

docs/methods/learner.md. A round refreshes the asked facts and the answered facts near changed parts: it costs its batch
and the ends of its facts, not the graph. Variances are estimated from all answers each time that their
number has grown by a quarter, so the average cost per answer is constant.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kgprobe.beliefs.effects import Effects
from kgprobe.beliefs.messages import Messages, settle
from kgprobe.beliefs.tilted_moments import Tilted
from kgprobe.beliefs.variances import initial_variances, learn_variances

Floats = NDArray[np.float64]
Positions = NDArray[np.int64]

_GROWTH = 1.25
_MOST_SWEEPS = 30
# Tolerance within a round; when variances are estimated, everything converges to a thousandth.
_ROUND_TOLERANCE = 1e-2
MAX_DEGREE = 1_000


@dataclass(slots=True)
class HierarchicalModel:
    """Beliefs about all facts of a graph.

    Attributes:
        messages: answers, sites, and the marginals of parts.
        answers: total number of answers.
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
