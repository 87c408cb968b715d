"""Change point of right answers over time: an estimate, an interval, and a test for any drop.

docs/methods/cut-off.md. Facts begin at times t, in years. With v, the difficulty of a fact by relation and popularity,

    logit P(right) = a + b v + c t + (d + e v) s,    s = clip((t - τ) / w + 1/2, 0, 1),    d <= 0.

The drop s is 0 before the change point τ and 1 after it; it takes w years, with τ in their middle. A fact whose date
has the precision of a year is anywhere in that year, so w is at least the width of its date. Both τ and w are on a
grid, and the likelihood of τ is the greatest over w and the coefficients (profile likelihood).

The interval has the values of τ whose likelihood ratio is not rejected. For a jump, the ratio has the distribution
(1 - exp(-x/2))² (Hansen 2000, Econometrica 68, theorem 2), and for a gradual drop a smaller one. Answers about one
subject are alike: the ratio is divided by the variance of the drop's score over subjects, relative to that of
independent facts.

Without a drop τ does not exist, and the ratio has another distribution. The test for any drop therefore compares the
largest score over the grid with its simulated distribution: residuals of each subject times random signs (Hansen 1996,
Econometrica 64), and answers drawn from the model without a drop (parametric bootstrap).
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

Floats = NDArray[np.float64]
Int64s = NDArray[np.int64]

# Widths of the drop in years; 0 is a jump.
WIDTHS = (0.0, 1.0, 2.0)
# Fewest facts on each side of a possible change point.
FEWEST = 10
# Facts of rarer groups share an effect.
_RARE = 5
_ITERATIONS = 25
_HALVINGS = 6
_STEP_TOLERANCE = 1e-6
_MOST_CELLS = 4_000_000
# Weak precisions of a, b, c, d and e: without them, coefficients diverge where no answer after the drop is right.
_PRECISIONS = np.array([1e-4, 1e-4, 1e-4, 0.04, 1.0])
# Log-likelihoods this far below the greatest are outside every interval.
_FAR = 30.0
# Approximate number of drops that are tested; neighbours have almost the same score.
_TESTED = 100
# Distance of gradual drops on the grid, in years.
_COARSE = 0.25


@dataclass(frozen=True, slots=True)
class DatedAnswers:
    """Answers to facts that begin at a known time; arrays have one entry per fact.

    Attributes:
        times: middle of the date, in years: 2021.5 for the year 2021.
        widths: width of the date in years: 1 for a year, 1/12 for a month.
        right: share of right answers, in [0, 1].
        predictors: such as log popularity, shape (facts, predictors); NaN where unknown.
        groups: number of the relation.
        clusters: number of the subject.
    """

    times: Floats
    widths: Floats
    right: Floats
    predictors: Floats
    groups: Int64s
    clusters: Int64s

    def __len__(self) -> int:
        return len(self.times)


@dataclass(frozen=True, slots=True)
class ChangePoint:
    """Estimated change point.

    Attributes:
        time: estimate τ, in years.
        low, high: ends of its interval; infinite where the facts give no end.
        width: estimated duration of the drop, in years.
        drop: d, the change of the log-odds for a fact of mean difficulty; at most 0.
        p_value: of the test for any drop, beyond a linear trend; 1 if a rise fits better than every drop.
        p_value_beyond_curve: of the same test, beyond a trend with a square of t.
        overdispersion: variance of the drop's score over subjects, relative to independent facts; at least 1.
        candidates: the grid of τ, shape (candidates,).
        ratios: likelihood ratio of each, divided by the overdispersion, shape (candidates,).
    """

    time: float
    low: float
    high: float
    width: float
    drop: float
    p_value: float
    p_value_beyond_curve: float
    overdispersion: float
    candidates: Floats
    ratios: Floats


def critical_ratio(confidence: float) -> float:
    """Return the critical value of the likelihood ratio of a jump's place (Hansen 2000).

    >>> round(critical_ratio(0.95), 2), round(critical_ratio(0.9), 2)
    (7.35, 5.94)
    """
    return -2 * math.log(1 - math.sqrt(confidence))


def difficulty(answers: DatedAnswers) -> Floats:
    """Return the log-odds of a right answer by group and predictors, centred, shape (facts,).

    A logistic regression with effects of groups, predictors and years. The years' effects are left out of the result:
    facts are compared within years, so that a group of late facts is not taken for a difficult one.
    """
    design = [*_standardised(answers.predictors).T]
    precisions = [0.04] * len(design)
    _, groups = np.unique(answers.groups, return_inverse=True)
    sizes = np.bincount(groups)
    for group in np.flatnonzero(sizes >= _RARE):
        design.append((groups == group).astype(np.float64))
        precisions.append(0.25)
    own = len(design)
    _, years = np.unique(np.floor(answers.times), return_inverse=True)
    for year in range(int(years.max()) + 1):
        design.append((years == year).astype(np.float64))
        precisions.append(0.05)
    columns = np.column_stack(design)
    coefficients = _fit(columns, answers.right, np.array(precisions))
    log_odds: Floats = columns[:, :own] @ coefficients[:own]
    log_odds -= log_odds.mean()
    return log_odds


def find_change(
    answers: DatedAnswers, *, grid: float = 1 / 12, confidence: float = 0.95, draws: int = 499, seed: int = 0
) -> ChangePoint | None:
    """Return the change point of some answers; None if there are no candidates with ``FEWEST`` facts on each side.

    Args:
        grid: distance of the candidates, in years.
        confidence: of the interval, in (0, 1).
        draws: number of simulations of the test for any drop.
        seed: of these.

    Cost: some twenty passes over facts × candidates × widths.
    """
    candidates = possible_changes(answers.times, grid)
    if not len(candidates):
        return None
    centre = float(answers.times.mean())
    v, t = difficulty(answers), answers.times - centre
    without = np.column_stack([np.ones(len(t)), v, t])
    coefficients = _fit(without, answers.right, _PRECISIONS[:3])
    lowest = _penalised(without, coefficients, answers.right)
    shapes = _shapes(candidates)
    fits = _profile(answers, shapes, v, t, coefficients)
    # A rise is no cut-off.
    values = np.where(fits.drops < 0, np.maximum(fits.values, lowest), lowest)
    is_rise = bool(fits.values.max() > values.max())
    profile = _greatest(candidates, shapes, values)
    best = int(values.argmax())
    tested = shapes[:: max(1, len(shapes) // _TESTED)]
    line = _Null(without, special.expit(without @ coefficients))
    dispersion = _overdispersion(answers, shapes[best], line)
    ratios = 2 * (profile.max() - profile) / dispersion
    is_inside = ratios <= critical_ratio(confidence)
    inside = candidates[is_inside]
    curved = np.column_stack([without, (t / max(float(t.std()), 1e-9)) ** 2])
    curve = _Null(curved, special.expit(curved @ _fit(curved, answers.right, _PRECISIONS[[0, 1, 2, 2]])))
    return ChangePoint(
        # The likelihood of a jump is the same between two dates: their middle.
        time=float(np.median(candidates[profile >= profile.max() - 1e-6])),
        low=-math.inf if is_inside[0] else float(inside.min()) - grid / 2,
        high=math.inf if is_inside[-1] else float(inside.max()) + grid / 2,
        width=shapes[best].width,
        drop=float(min(fits.drops[best], 0.0)),
        p_value=1.0 if is_rise else _test_any(answers, tested, line, draws, np.random.default_rng([seed, 0])),
        p_value_beyond_curve=_test_any(answers, tested, curve, draws, np.random.default_rng([seed, 1])),
        overdispersion=dispersion,
        candidates=candidates,
        ratios=ratios,
    )


def possible_changes(times: Floats, grid: float) -> Floats:
    """Return the candidates: multiples of the grid with at least ``FEWEST`` facts before and after each."""
    if len(times) < 2 * FEWEST:
        return np.empty(0)
    ordered = np.sort(times)
    first, last = ordered[FEWEST - 1], ordered[-FEWEST]
    return grid * np.arange(math.ceil(first / grid - 1e-9), math.floor(last / grid + 1e-9) + 1)


@dataclass(frozen=True, slots=True)
class _Shape:
    """A drop: its middle and its width, in years."""

    tau: float
    width: float


@dataclass(frozen=True, slots=True)
class _Profile:
    """Penalised log-likelihood and drop d of each shape; those of far shapes are approximate."""

    values: Floats
    drops: Floats


def _shapes(candidates: Floats) -> list[_Shape]:
    """Return the drops: jumps at all candidates, and gradual ones, whose likelihood is smooth, a quarter year apart."""
    shapes = [_Shape(tau, 0.0) for tau in candidates.tolist()]
    steps = 1 + math.ceil((candidates[-1] - candidates[0]) / _COARSE)
    coarse = np.linspace(candidates[0], candidates[-1], max(2, steps))
    shapes += [_Shape(tau, width) for width in WIDTHS[1:] for tau in coarse.tolist()]
    return shapes


def _greatest(candidates: Floats, shapes: list[_Shape], values: Floats) -> Floats:
    """Return the greatest value over the widths at each candidate; those of gradual drops are interpolated."""
    profile = np.full(len(candidates), -np.inf)
    for width in WIDTHS:
        places = [place for place, shape in enumerate(shapes) if shape.width == width]
        taus = np.array([shapes[place].tau for place in places])
        profile = np.maximum(profile, np.interp(candidates, taus, values[places]))
    return profile


def drop_shape(times: Floats, widths: Floats, tau: float, width: float) -> Floats:
    """Return s, the part of a drop that has happened at each time, in [0, 1].

    >>> drop_shape(np.array([2019.5, 2020.5, 2021.5]), np.array([1.0, 1.0, 1.0]), 2020.5, 0.0).tolist()
    [0.0, 0.5, 1.0]
    """
    spread = np.maximum(np.maximum(widths, width), 1e-6)
    part: Floats = np.clip((times - tau) / spread + 0.5, 0.0, 1.0)
    return part


def _profile(answers: DatedAnswers, shapes: list[_Shape], v: Floats, t: Floats, null: Floats) -> _Profile:
    """Return the greatest penalised log-likelihood of each shape, and its drop.

    Two steps of Newton's method show which shapes are far from the best; only the others are fitted to the end.
    """
    coefficients = np.zeros((len(shapes), 5))
    coefficients[:, :3] = null
    values = np.empty(len(shapes))
    common = np.stack([np.ones_like(v), v, t])
    block = max(1, _MOST_CELLS // max(1, len(t)))
    left = np.arange(len(shapes))
    for iterations in (2, _ITERATIONS):
        for first in range(0, len(left), block):
            part = left[first : first + block]
            s = _shape_columns(answers, [shapes[place] for place in part])
            values[part], coefficients[part] = _fit_drops(answers.right, common, s, coefficients[part], iterations)
        left = np.flatnonzero(values >= values.max() - _FAR)
    return _Profile(values, coefficients[:, 3])


def _shape_columns(answers: DatedAnswers, shapes: list[_Shape]) -> Floats:
    columns = [drop_shape(answers.times, answers.widths, shape.tau, shape.width) for shape in shapes]
    return np.column_stack(columns)


def _fit_drops(right: Floats, common: Floats, s: Floats, start: Floats, iterations: int) -> tuple[Floats, Floats]:
    """Fit the model for many shapes at once by Newton's method with halved steps.

    Args:
        common: 1, v and t, shape (3, facts).
        s: shape (facts, shapes).
        start: coefficients a to e of each shape, shape (shapes, 5).

    Returns:
        The penalised log-likelihood of each shape, and its coefficients.
    """
    count = s.shape[1]
    rows, columns = np.triu_indices(3)
    products = common[rows] * common[columns]
    with_s = np.concatenate([common, common[1] * common])
    coefficients = start
    value, wrong = _evaluate(coefficients, right, common, s)
    for _ in range(iterations):
        weight = wrong * (1 - wrong)
        residual = right[:, None] - (1 - wrong)
        gradient = np.empty((count, 5))
        gradient[:, :3] = (common @ residual).T
        residual *= s
        gradient[:, 3:] = (common[:2] @ residual).T
        gradient -= _PRECISIONS * coefficients
        hessian = np.empty((count, 5, 5))
        hessian[:, rows, columns] = hessian[:, columns, rows] = (products @ weight).T
        weight *= s
        crossed = (with_s @ weight).T
        hessian[:, :3, 3] = hessian[:, 3, :3] = crossed[:, :3]
        hessian[:, :3, 4] = hessian[:, 4, :3] = crossed[:, 3:]
        weight *= s
        squares = (products[[0, 1, 3]] @ weight).T
        hessian[:, 3, 3], hessian[:, 4, 4] = squares[:, 0], squares[:, 2]
        hessian[:, 3, 4] = hessian[:, 4, 3] = squares[:, 1]
        hessian += np.diag(_PRECISIONS)
        step = np.linalg.solve(hessian, gradient[:, :, None])[:, :, 0]
        if float((step * gradient).sum(axis=1).max()) < _STEP_TOLERANCE:
            break
        length = np.ones((count, 1))
        for _ in range(_HALVINGS):
            moved = coefficients + length * step
            reached, wrong = _evaluate(moved, right, common, s)
            worse = reached < value - 1e-9
            if not worse.any():
                break
            length[worse] /= 2
        coefficients, value = moved, reached
    return value, coefficients


def _evaluate(coefficients: Floats, right: Floats, common: Floats, s: Floats) -> tuple[Floats, Floats]:
    """Return the penalised log-likelihood of each shape, and the probabilities of wrong answers (facts, shapes)."""
    log_odds = common.T @ coefficients[:, :3].T
    log_odds += s * (common[:2].T @ coefficients[:, 3:].T)
    wrong: Floats = special.expit(-log_odds)
    value: Floats = right @ log_odds + np.log(np.maximum(wrong, 1e-300)).sum(axis=0)
    value -= 0.5 * (coefficients**2) @ _PRECISIONS
    return value, wrong


@dataclass(frozen=True, slots=True)
class _Null:
    """A fitted model without a drop.

    Attributes:
        columns: shape (facts, coefficients).
        p: probabilities of right answers.
    """

    columns: Floats
    p: Floats


def _test_any(
    answers: DatedAnswers, shapes: list[_Shape], null: _Null, draws: int, generator: np.random.Generator
) -> float:
    """Return the p-value of the test for any drop, beyond a model without one.

    The scores of d at d = 0 over all shapes, in units of their standard deviation; the largest is compared with its
    distribution by random signs of whole subjects, and by answers drawn from the model without a drop. The former holds
    for subjects whose answers are alike, the latter for few and skewed answers after a drop; the larger p-value counts.
    """
    weight, residual = null.p * (1 - null.p), answers.right - null.p
    weighted = null.columns * weight[:, None]
    information = null.columns.T @ weighted + 1e-9 * np.eye(null.columns.shape[1])
    _, clusters = np.unique(answers.clusters, return_inverse=True)
    signs = generator.choice((-1.0, 1.0), size=(draws, int(clusters.max()) + 1))
    drawn = (generator.random((draws, len(answers))) < null.p) - null.p
    # By signs, and by drawn answers.
    largest, simulated = np.full(2, -np.inf), np.full((2, draws), -np.inf)
    block = max(1, _MOST_CELLS // max(1, len(answers)))
    for first in range(0, len(shapes), block):
        s = _shape_columns(answers, shapes[first : first + block])
        # The part of s that the other columns cannot explain.
        s -= null.columns @ np.linalg.solve(information, weighted.T @ s)
        scores = _sums(s * residual[:, None], clusters)
        score = -scores.sum(axis=0)
        scales = np.sqrt(np.maximum([(scores**2).sum(axis=0), weight @ (s * s)], 1e-12))
        largest = np.maximum(largest, (score / scales).max(axis=1))
        for kind, negative in enumerate((signs @ scores, drawn @ s)):
            simulated[kind] = np.maximum(simulated[kind], (-negative / scales[kind]).max(axis=1))
    exceeding = (simulated >= largest[:, None]).sum(axis=1)
    return float((1 + exceeding.max()) / (1 + draws))


def _overdispersion(answers: DatedAnswers, shape: _Shape, null: _Null) -> float:
    """Return the variance of the score of d over subjects, relative to independent facts; at least 1."""
    residual = answers.right - null.p
    weighted = null.columns * (null.p * (1 - null.p))[:, None]
    information = null.columns.T @ weighted + 1e-9 * np.eye(null.columns.shape[1])
    s = drop_shape(answers.times, answers.widths, shape.tau, shape.width)
    terms = (s - null.columns @ np.linalg.solve(information, weighted.T @ s)) * residual
    _, clusters = np.unique(answers.clusters, return_inverse=True)
    by_subject = np.bincount(clusters, weights=terms)
    return max(1.0, float((by_subject**2).sum() / max(float((terms**2).sum()), 1e-12)))


def _sums(values: Floats, clusters: Int64s) -> Floats:
    """Return sums of rows by cluster, shape (clusters, columns)."""
    order = np.argsort(clusters, kind="stable")
    starts = np.flatnonzero(np.diff(clusters[order], prepend=-1))
    summed: Floats = np.add.reduceat(values[order], starts, axis=0)
    return summed


def _fit(columns: Floats, right: Floats, precisions: Floats) -> Floats:
    """Return the coefficients of a logistic regression with normal priors around 0, by Newton's method."""
    coefficients = np.zeros(columns.shape[1])
    value = -math.inf
    for _ in range(_ITERATIONS):
        p = special.expit(columns @ coefficients)
        gradient = columns.T @ (right - p) - precisions * coefficients
        hessian = (columns * (p * (1 - p))[:, None]).T @ columns + np.diag(precisions)
        step = np.linalg.solve(hessian, gradient)
        length = 1.0
        while length > 1e-3:
            moved = coefficients + length * step
            log_odds = columns @ moved
            reached = float(right @ log_odds - np.logaddexp(0, log_odds).sum()) - 0.5 * float(precisions @ moved**2)
            if reached >= value:
                break
            length /= 2
        coefficients, value = moved, reached
        if float(step @ gradient) < _STEP_TOLERANCE:
            break
    return coefficients


def _penalised(columns: Floats, coefficients: Floats, right: Floats) -> float:
    """Return the penalised log-likelihood of the model without a drop."""
    log_odds = columns @ coefficients
    value = float(right @ log_odds - np.logaddexp(0, log_odds).sum())
    return value - 0.5 * float(_PRECISIONS[:3] @ coefficients**2)


def _standardised(predictors: Floats) -> Floats:
    """Return predictors with mean 0 and deviation 1, and 0 where unknown; columns of equal values are left out."""
    columns = []
    for column in predictors.T:
        known = ~np.isnan(column)
        if not known.any() or float(column[known].std()) < 1e-9:
            continue
        columns.append(np.where(known, (column - column[known].mean()) / column[known].std(), 0.0))
        if not known.all():
            columns.append((~known).astype(np.float64))
    return np.column_stack(columns) if columns else np.empty((len(predictors), 0))


@dataclass(frozen=True, slots=True)
class AdjustedShare:
    """Share of right answers in a year, with its 95% interval, if its facts were as difficult as all facts."""

    year: int
    value: float
    low: float
    high: float


def adjusted_shares(answers: DatedAnswers) -> list[AdjustedShare]:
    """Return the share of right answers in each year, adjusted for group and predictors, in order.

    A year has log-odds c with logit P(right) = c + v; the share is the mean of expit(c + v) over the facts of all years
    (direct standardisation). A weak prior, N(0, 3²), keeps c finite where all answers of a year are right or wrong.
    """
    v = difficulty(answers)
    years = np.floor(answers.times).astype(np.int64)
    shares = []
    for year in np.unique(years).tolist():
        own = v[years == year]
        right = answers.right[years == year]
        level = 0.0
        for _ in range(_ITERATIONS):
            p = special.expit(level + own)
            information = float((p * (1 - p)).sum()) + 1 / 9
            step = (float((right - p).sum()) - level / 9) / information
            level += max(-1.0, min(1.0, step))
            if abs(step) < _STEP_TOLERANCE:
                break
        reach = 1.959964 / math.sqrt(information)
        value, low, high = (float(special.expit(c + v).mean()) for c in (level, level - reach, level + reach))
        shares.append(AdjustedShare(year, value, low, high))
    return shares
