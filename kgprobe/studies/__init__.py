"""The papers' analyses: each gives a table, a plot and the data behind both."""
