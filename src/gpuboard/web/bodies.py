"""What is wrong with the body of a request, in words: a key that nobody knows is a mistake."""

import re
from typing import Any, Final

import msgspec
from litestar import Request
from litestar.exceptions import ClientException

from gpuboard.model.errors import WireError
from gpuboard.web.query import unknown
from gpuboard.wire.json_keys import refuse_twice

_UNKNOWN_KEY: Final = re.compile(r"Object contains unknown field `(.*)`", re.DOTALL)

# What the framework says where it finds nothing to decode.
_NO_BODY: Final = "'data'"


async def check_keys(request: Request[Any, Any, Any]) -> None:
    """See that the body has no key twice: who writes it so may hope that two readers take different values.

    Raises:
        ClientException: it has.
    """
    try:
        refuse_twice(await request.body())
    except WireError as error:
        raise ClientException(str(error)) from None


def body_words(request: Request[Any, Any, Any], message: str) -> str:
    """What the decoder says, in our words."""
    if message == _NO_BODY:
        return "the request has no body; write what you want as JSON"
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
