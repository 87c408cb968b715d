"""Which facts are asked, and which negatives and distractors stand beside them."""
