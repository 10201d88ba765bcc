"""That the board's database cannot be used, told to whoever asks: where its file is concerns admins alone."""

from typing import Any

from litestar import Request, Response
from litestar.exceptions import ServiceUnavailableException

from gpuboard.model.errors import StorageError
from gpuboard.web.needs import identity_of
from gpuboard.web.problems import ProblemDocument, http_problem
from gpuboard.wire.redact import hide_names_in_reason


class StorageUnavailable(ServiceUnavailableException):
    """The database cannot be used now."""

    def __init__(self, error: StorageError) -> None:
        super().__init__(f"{hide_names_in_reason(error.reason).text}; admins see why")
        self.whole_text = str(error)


def storage_problem(request: Request[Any, Any, Any], error: StorageUnavailable) -> Response[ProblemDocument]:
    """Answer in words that name no file, but to admins."""
    if identity_of(request).has("admin"):
        return http_problem(request, ServiceUnavailableException(error.whole_text))
    return http_problem(request, error)
