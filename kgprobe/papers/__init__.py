"""The four papers behind kgprobe: their tables and figures, published numbers, and options.

:mod:`.tables` reads ``tables.tsv``, one line for each table or figure with the command that repeats it, and
``published.tsv``, one line for each published number. :mod:`.presets` contains the options of the papers' experiments.
"""
