"""The queries, one file each, grouped by use; read through ``importlib.resources``."""
