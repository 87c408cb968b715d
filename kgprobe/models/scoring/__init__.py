"""Log-probabilities of texts under causal language models, exact and batched."""
