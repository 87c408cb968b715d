"""The papers' analyses: each gives a table, plots and the data behind both."""
