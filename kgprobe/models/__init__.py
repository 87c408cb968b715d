"""Language models: what they find probable, and what they answer."""
