"""Facts into cloze sentences, statements and questions."""
