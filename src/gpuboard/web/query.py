"""What follows the `?` of a question to the API: what nobody knows, or stands twice, is a mistake."""

from collections.abc import Collection
from typing import Any, Final

from litestar.connection import ASGIConnection
from litestar.exceptions import ValidationException
from litestar.handlers import BaseRouteHandler
from litestar.params import ParameterKwarg
from litestar.typing import FieldDefinition

from gpuboard.settings.words import close_to
from gpuboard.wire.clean import clean_text

# What the framework and the application hand to a route.
_HANDED: Final = frozenset({"request", "services", "base_path"})
_LONGEST_NAME: Final = 64


def check_query(connection: ASGIConnection[Any, Any, Any, Any], handler: BaseRouteHandler) -> None:
    """Refuse a parameter that the route does not know, or that is given twice: silence would mislead.

    Raises:
        ValidationException: with the parameter's name, and what was probably meant.
    """
    if not connection.scope["query_string"]:
        return
    parameters = handler.parsed_fn_signature.parameters
    known = {
        _written(name, field): field.is_non_string_sequence
        for name, field in parameters.items()
        if name not in _HANDED and name not in connection.path_params
    }
    seen: set[str] = set()
    for name, _ in connection.query_params.multi_items():
        if name not in known:
            raise ValidationException(unknown("parameter", name, known))
        if name in seen and not known[name]:
            raise ValidationException(f"the parameter {name!r} is given twice; once is enough")
        seen.add(name)


def _written(name: str, field: FieldDefinition) -> str:
    """What a parameter is called outside: `from` is no name in Python."""
    kwarg = field.kwarg_definition
    outside = kwarg.name if isinstance(kwarg, ParameterKwarg) else None
    return outside or name


def unknown(what: str, name: str, known: Collection[str]) -> str:
    """The words for a name that nobody knows: what was probably meant, or what there is."""
    name = clean_text(name)[:_LONGEST_NAME]
    meant = close_to(name, known) or f"; known are: {', '.join(sorted(known)) or 'none'}"
    return f"there is no {what} {name!r}{meant}"
