"""Examples of documents and docstrings: run on the demo model and compared, or on a tiny model and only run."""

import doctest


class _OnTinyModel(doctest.OutputChecker):
    """A checker for a model with random weights: an example that shows something shows something."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:  # noqa: ARG002
        return bool(want.strip()) == bool(got.strip())


def uses_demo(test: doctest.DocTest) -> bool:
    """Return whether the figures of a docstring's examples are those of the demo model."""
    return any('"demo"' in example.source for example in test.examples)


def runner(*, tiny: bool) -> doctest.DocTestRunner:
    """Return a runner that compares outputs, or with a tiny model as the demo model only runs the examples."""
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    return doctest.DocTestRunner(_OnTinyModel() if tiny else None, verbose=False, optionflags=flags)


def run_all(tests: list[doctest.DocTest], *, tiny: bool) -> int:
    """Run examples of docstrings, and return how many there are; fail where an output differs."""
    complaints: list[str] = []
    for test in tests:
        runner(tiny=tiny and uses_demo(test)).run(test, out=complaints.append)
    assert not complaints, "".join(complaints)
    return sum(len(test.examples) for test in tests)
