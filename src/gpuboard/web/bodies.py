"""What is wrong with the body of a request, in words: a key that nobody knows is a mistake."""

import re
from typing import Any, Final

import msgspec
from litestar import Request

from gpuboard.web.query import unknown

_UNKNOWN_KEY: Final = re.compile(r"Object contains unknown field `(.*)`", re.DOTALL)


def body_words(request: Request[Any, Any, Any], message: str) -> str:
    """What the decoder says, in our words."""
    found = _UNKNOWN_KEY.match(message)
    field = request.route_handler.parsed_data_field
    if found is None or field is None:
        return message
    return unknown("key", found[1], keys_of(msgspec.inspect.type_info(field.annotation)))


def keys_of(kind: msgspec.inspect.Type) -> frozenset[str]:
    """The keys of an object, and of those in it."""
    match kind:
        case msgspec.inspect.StructType(fields=fields):
            inner = (keys_of(field.type) for field in fields)
            return frozenset(field.encode_name for field in fields).union(*inner)
        case msgspec.inspect.UnionType(types=types):
            return frozenset[str]().union(*map(keys_of, types))
        case msgspec.inspect.VarTupleType(item_type=item):
            return keys_of(item)
    return frozenset()
