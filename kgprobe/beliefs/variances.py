"""How far relations, entities and single facts differ: variances learned from the answers themselves.

docs/methods/learner.md. Empirical Bayes: the variance of each kind of parts is the one under which the
answers are most probable, with a half-normal prior of scale 3 on its root, which says that log odds seldom differ by
more than 6. Found by expectation and maximisation on the marginals of :mod:`.messages`. Its steps become small long
before it is there, so that each variance is moved as far as its last steps, going on shrinking as they did, would take
it. Parts that no answer has reached say nothing of their variance, and are left out.
"""

import numpy as np
from numpy.typing import NDArray

from kgprobe.beliefs.messages import Messages, Variances

Floats = NDArray[np.float64]
Positions = NDArray[np.int64]

_PRIOR_SCALE = 3.0

# Steps are of log variances. At most how much of one is still to come, by those that there were; and one step at most.
_STILL_TO_COME = 0.9
_MOST = 1.0
_CONVERGED = 2e-3
_SMALLEST = 1e-4


def initial_variances(fixed: Floats) -> Variances:
    """Before any answer: differences of about one and a half in log odds for parts, and two for single facts."""
    return Variances(np.where(np.isnan(fixed), 1.5**2, fixed), 4.0)


def learn_variances(messages: Messages, most_sweeps: int = 150) -> int:
    """Refresh all answered facts and improve the variances in turn, until neither moves.

    Returns:
        how many sweeps it took.

    Cost: linear in the answered facts, for each sweep.
    """
    slots = np.arange(messages.answered)
    touched = np.unique(messages.parts_of(slots))
    kinds_of = messages.effects.kinds_of(touched)
    learned = np.isnan(messages.effects.fixed_variances())
    last = np.zeros(int(learned.sum()) + 1)
    sweep = 0
    for sweep in range(1, most_sweeps + 1):
        _, moved = messages.refresh(slots)
        current = np.log(np.append(messages.variances.kinds[learned], messages.variances.own))
        step = np.log(np.append(_of_parts(messages, touched, kinds_of)[learned], _of_facts(messages))) - current
        ratio = np.divide(step, last, out=np.zeros_like(step), where=np.abs(last) > 1e-9)
        last = step
        # The first steps say more of the sites than of the variances.
        if sweep > 2:
            taken = np.clip(step / (1 - np.clip(ratio, 0, _STILL_TO_COME)), -_MOST, _MOST)
            values = np.maximum(np.exp(current + taken), _SMALLEST)
            kinds = messages.variances.kinds.copy()
            kinds[learned] = values[:-1]
            messages.variances = Variances(kinds, float(values[-1]))
            # Where a variance runs to its least there is nothing left to wait for.
            waiting = (np.abs(taken) > _CONVERGED) & ~((values <= _SMALLEST) & (taken < 0))
            if not waiting.any() and not len(moved):
                break
    return sweep


def _of_parts(messages: Messages, touched: Positions, kinds_of: Positions) -> Floats:
    """The best variance of each kind, given the marginals of the parts that answers have reached; shape (kinds,)."""
    kinds = len(messages.effects.kinds)
    mean, variance = messages.marginals_of(touched)
    counts = np.bincount(kinds_of, minlength=kinds).astype(np.float64)
    squares = np.bincount(kinds_of, mean**2 + variance, kinds).astype(np.float64, copy=False)
    return _most_probable(squares, counts)


def _of_facts(messages: Messages) -> float:
    """The best variance of what answered facts have of their own."""
    facts = messages.positions
    before, variance = messages.before(facts)
    own = messages.variances.own
    mean, after = messages.marginals(facts)
    share = own / variance
    squares = share**2 * ((mean - before) ** 2 + after) + own * (1 - share)
    return float(_most_probable(np.array([squares.sum()]), np.array([float(len(facts))]))[0])


def _most_probable(squares: Floats, count: Floats) -> Floats:
    """Of v, count normals of variance v whose squares sum up to that, and the prior on its root."""
    scale = _PRIOR_SCALE**2
    best: Floats = np.maximum(scale / 2 * (np.sqrt(count**2 + 4 * squares / scale) - count), _SMALLEST)
    return best
