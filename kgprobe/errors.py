"""Errors that are messages for the user: what was wrong, where, and what would be right."""


class KgprobeError(Exception):
    """Something a user can understand and mend; the command line prints the message and exits with 1."""


class UnknownNameError(KgprobeError):
    """A name the user gave (query, probe, model, run, …) is not one we know; the command line exits with 2."""
