"""Size of messages to the graph: the embedded engine does not answer messages above 16 MiB, without an error."""

from typing import Any

import msgspec

# 16 MiB less a reserve: Bolt needs one byte more than msgpack for each of many short texts.
MESSAGE_BYTES = 15_500_000

# Bolt's encoding differs from msgpack by at most one byte per value. Other types, such as Neo4j's dates, are measured
# by their ISO 8601 text.
_encode = msgspec.msgpack.Encoder(enc_hook=str).encode


def encoded_bytes(value: Any) -> int:
    """Return the approximate size of a value in a message; costs a few nanoseconds per byte.

    Raises:
        UnicodeEncodeError: a text in it contains a lone surrogate.
        OverflowError: an integer in it has more than 64 bits.
    """
    return len(_encode(value))
