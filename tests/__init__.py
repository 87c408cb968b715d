"""A package, so that no other installation's `tests` takes its name."""
