"""Conversion of facts to cloze sentences, statements and questions."""
