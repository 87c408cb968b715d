"""Measurements made of random numbers, for tests of what is computed from them."""

from typing import Any

import numpy as np

from kgprobe.analysis.curves import Measured, measured


def outcomes(facts: int, sentences: int, count: int, seed: int, shift: float = 0.0) -> list[dict[str, Any]]:
    """Outcomes of facts that differ in how well they are known; ``shift`` makes distractors harder."""
    generator = np.random.default_rng(seed)
    known = generator.normal(size=facts)
    made = []
    for fact in range(facts):
        evidence = {
            "former": fact % 2,
            "sentences": [
                {"log_plausibility": [known[fact], *(generator.normal(size=count) + shift)], "certified": count - 1}
                for _ in range(1 + fact % sentences)
            ],
        }
        made.append({"fact": f"f{fact}", "verdict": "right", "reason": None, "evidence": evidence})
    return made


def measure(facts: int = 60, sentences: int = 3, count: int = 8, seed: int = 0, shift: float = 0.0) -> Measured:
    return measured(outcomes(facts, sentences, count, seed, shift), count)
