"""Readers of outside formats, found through the entry-point group ``kgprobe.loaders``."""
