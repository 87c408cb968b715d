"""Decode JSON lines to records, and explain decoding errors to the user."""

from collections.abc import Callable, Iterator

import msgspec
from msgspec import Struct

from kgprobe.records import Entity, Placed, Rejected, Relation
from kgprobe.sources.lines import InputFile

# Errors of decoding: bad JSON, bad UTF-8 and wrong values are ValueErrors.
DECODING_ERRORS = (ValueError, RecursionError)


class _Identity(Struct):
    id: str


_decode_identity = msgspec.json.Decoder(_Identity).decode


def decoded_lines(
    file: InputFile, decode: Callable[[bytes], Iterator[Entity | Relation | Rejected]]
) -> Iterator[Placed]:
    """Yield the records of JSON lines, skip blank lines, and reject lines that cannot be decoded.

    Args:
        decode: returns the records of a line, or raises one of ``DECODING_ERRORS``.

    Raises:
        KgprobeError: the file can no longer be opened.
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
    """Return the reason why a record cannot be read, after its id if that can be read."""
    try:
        name = f"{_decode_identity(record).id[:40]}: "
    except DECODING_ERRORS:
        name = ""
    if isinstance(error, UnicodeDecodeError):
        return f"{name}not UTF-8: {error.reason} in a text"
    if isinstance(error, msgspec.ValidationError):
        return name + validation_message(error)
    if isinstance(error, msgspec.DecodeError):
        return f"not JSON: {error}"
    return f"{name}nested too deeply" if isinstance(error, RecursionError) else f"{name}{error}"


def validation_message(error: Exception) -> str:
    """Return the message of a wrong value, with its path; tolerated empty arrays are not mentioned."""
    message = str(error).replace("Expected `array` of length <= 0", "Expected `object`, got `array`")
    return message.replace("`object | array`", "`object`")
