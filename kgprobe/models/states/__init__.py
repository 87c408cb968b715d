"""Hidden states of texts at chosen layers of a model."""
