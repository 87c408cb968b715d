"""What is wrong with a JSON text that could not be decoded, in words for the one who has to mend it."""

import msgspec
from msgspec import Struct

# What cannot be decoded raises one of these: bad JSON, bad UTF-8 and wrong values are ValueErrors.
DECODING_ERRORS = (ValueError, RecursionError)


class _Identity(Struct):
    id: str


_decode_identity = msgspec.json.Decoder(_Identity).decode


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
