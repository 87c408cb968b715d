"""Modules that all rooms share: errors, arguments, options, files, dates, records, tables, progress."""
