"""How large a message to the graph is: the embedded engine does not answer one of more than 16 MiB, nor say so."""

from typing import Any

import msgspec

# 16 MiB, less a byte for each of many short texts, of which Bolt needs one more than what measures them here.
MESSAGE_BYTES = 15_500_000

# Bolt's own encoding differs from this one by a byte a value at most. What it does not know, such as a date of Neo4j's,
# is as long as its ISO 8601 form.
_encode = msgspec.msgpack.Encoder(enc_hook=str).encode


def encoded_bytes(value: Any) -> int:
    """About how many bytes a value has on its way to the graph; costs a few nanoseconds a byte.

    Raises:
        UnicodeEncodeError: a text in it has half a character (a lone surrogate).
        OverflowError: an integer in it has more than 64 bits.
    """
    return len(_encode(value))
