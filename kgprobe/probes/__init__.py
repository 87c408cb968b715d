"""Methods that ask a model about facts: facts in, outcomes out."""
