"""Selection of facts to ask, and of their negatives and distractors."""
