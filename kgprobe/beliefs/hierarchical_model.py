"""The learner: answers come in, round by round; what is known of any fact comes out.

docs/methods/learner.md. Between the rounds in which variances are learned anew, a round refreshes the facts
that it asked and the answered ones around whatever moved: it costs its batch and the ends of it, whatever the size of
the graph. Variances are learned when the answers are a quarter more than they were the last time, over all of them; so
this costs each answer the same on average, however many there will be.
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
# Within a round what moves by less waits until variances are learned, when all is settled to a thousandth.
_ROUND_TOLERANCE = 1e-2
MAX_DEGREE = 1_000


@dataclass(slots=True)
class HierarchicalModel:
    """What is known of all facts of a graph.

    Attributes:
        messages: answers, sites, and the marginals of parts.
        answers: how many there have been in all.
        learned_at: how many there were when variances were last learned.
    """

    messages: Messages
    answers: int = 0
    learned_at: int = 0

    @classmethod
    def of(cls, effects: Effects, max_degree: int = MAX_DEGREE) -> "HierarchicalModel":
        """Before any answer.

        >>> import numpy as np
        >>> from kgprobe.beliefs.effects import effects_of
        >>> learner = HierarchicalModel.of(effects_of(np.array([0, 0, 1]), np.array([1, 2, 2])))
        >>> _ = learner.learn(np.array([0]), np.array([True]))
        >>> alpha, beta = beta_parameters(learner.posterior(np.array([0, 1])))
        >>> (alpha / (alpha + beta)).round(2).tolist()
        [0.84, 0.75]

        Args:
            max_degree: a part of more answered facts does not pass on at once what it learned; these facts follow when
                they are asked, or when variances are learned.
        """
        return cls(Messages(effects, initial_variances(effects.fixed_variances()), max_degree))

    def learn(self, facts: Positions, wrong: NDArray[np.bool_]) -> bool:
        """Take over one round: facts, all different, and whether each was answered wrong; shape (asked,).

        Returns:
            whether variances were learned anew.
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
        """Moments of x and theta of some facts, asked or not. Cost: linear in these."""
        return self.messages.posterior(facts)


def beta_parameters(known: Tilted) -> tuple[Floats, Floats]:
    """The alpha and beta of the Beta distributions that have theta's mean and variance, each of shape (facts,)."""
    total = known.theta * (1 - known.theta) / known.theta_variance - 1
    return known.theta * total, (1 - known.theta) * total
