"""How common a name is among the words of a language, by ``wordfreq`` (the extra ``topical``).

Its lists were made once, of texts up to 2021, and are not continued; for telling common names from rare ones that is
recent enough.
"""

from collections.abc import Callable, Sequence

from kgprobe.errors import KgprobeError, how_to_install


def word_frequency(languages: Sequence[str]) -> Callable[[str], float]:
    """Return the function for Zipf frequencies: log10 of the occurrences per thousand million words.

    0 for unknown words; several words have the frequency of their combination, below that of the rarest.

    Args:
        languages: the first with a word list is used.

    Raises:
        KgprobeError: wordfreq is not installed, has no list for these languages, or lacks their tokenizer.
    """
    try:
        import wordfreq
    except ImportError as error:
        raise KgprobeError(
            f"Word frequencies need the package wordfreq: {how_to_install('topical')}, or leave out `min_frequency`."
        ) from error
    available = wordfreq.available_languages()
    language = next((code for code in languages if code in available), None)
    if language is None:
        raise KgprobeError(
            f"wordfreq has no words of {', '.join(languages)}; it has those of {', '.join(sorted(available))}."
        )
    try:
        wordfreq.zipf_frequency("kgprobe", language)
    except ImportError as error:
        raise KgprobeError(
            f'wordfreq cannot split words of {language} without {error.name}: pip install "wordfreq[cjk]".'
        ) from error
    return lambda text: float(wordfreq.zipf_frequency(text, language))
