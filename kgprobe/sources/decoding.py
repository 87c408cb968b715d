"""JSON lines as records; and what is wrong with a text that is none, in words for the one who has to mend it."""

from collections.abc import Callable, Iterator

import msgspec
from msgspec import Struct

from kgprobe.records import Entity, Placed, Rejected, Relation
from kgprobe.sources.lines import InputFile

# What cannot be decoded raises one of these: bad JSON, bad UTF-8 and wrong values are ValueErrors.
DECODING_ERRORS = (ValueError, RecursionError)


class _Identity(Struct):
    id: str


_decode_identity = msgspec.json.Decoder(_Identity).decode


def decoded_lines(
    file: InputFile, decode: Callable[[bytes], Iterator[Entity | Relation | Rejected]]
) -> Iterator[Placed]:
    """The records of JSON lines; blank lines are none, and one that cannot be used is rejected.

    Args:
        decode: gives the records of a line, and raises one of ``DECODING_ERRORS`` where it makes no sense.

    Raises:
        KgprobeError: the file cannot be opened any more.
    """
    for number, line in file.lines():
        if isinstance(line, Rejected):
            yield Placed(number, line, file.name)
        elif line.strip():
            try:
                for record in decode(line):
                    yield Placed(number, record, file.name)
            except DECODING_ERRORS as error:
                yield Placed(number, Rejected(explain(error, line)), file.name)


def explain(error: Exception, record: bytes) -> str:
    """Why a record cannot be read, with its id where that much can be."""
    try:
        name = f"{_decode_identity(record).id[:40]}: "
    except DECODING_ERRORS:
        name = ""
    if isinstance(error, UnicodeDecodeError):
        return f"{name}not UTF-8: {error.reason} in a text"
    if isinstance(error, msgspec.ValidationError):
        return name + mended(error)
    if isinstance(error, msgspec.DecodeError):
        return f"not JSON: {error}"
    return f"{name}nested too deeply" if isinstance(error, RecursionError) else f"{name}{error}"


def mended(error: Exception) -> str:
    """The message of a wrong value, with its path; an empty array in place of a map is our leniency, not the goal."""
    message = str(error).replace("Expected `array` of length <= 0", "Expected `object`, got `array`")
    return message.replace("`object | array`", "`object`")
