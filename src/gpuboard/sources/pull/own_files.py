"""What helps where it is the board's own file, not the node, that keeps a node from being asked. Pure."""

from collections.abc import Mapping
from typing import Final

from gpuboard.model.errors import OutsideError
from gpuboard.model.verdict import Reason

# By code. Looking at the node would be in vain: it was not even asked.
REMEDIES: Final[Mapping[str, str]] = {
    "file-missing": "write it on the board's machine, a token as the agent has it in its own file; "
    "or correct the path in the settings",
    "file-unreadable": "let the board's account read it (chgrp, chmod g+r), or correct the path in the "
    "settings",
    "file-open": "close it to everybody else",
    "file-too-large": "see whether the settings name the right file",
    "file-hung": "see to the mount of the board's machine on which it lies",
    "bad-secret": "write the secret into it as one line, a token as the agent has it in its own file",
    "bad-ca-file": "put the certificate of whoever signed the agents' there, as PEM",
}
# What holds for a file with secrets and not for one with certificates.
_CA_FILE_MISSING: Final = (
    "put the certificate of whoever signed the agents' there, as PEM, or correct ca_file in the settings"
)


def own_reason(error: OutsideError) -> Reason:
    """Why a node could not be asked; of a file of the board's own, with what to do about it."""
    remedy = REMEDIES.get(error.code)
    if remedy is None or error.remedy is not None:
        return reason_of(error.code, error.text, error.remedy)
    return reason_of(error.code, f"{error.text}; {remedy}", remedy)


def of_ca_file(error: OutsideError) -> OutsideError:
    """The same error, in words for the file with the authority's certificate."""
    if error.code != "file-missing":
        return error
    return OutsideError(f"{error.text}; {_CA_FILE_MISSING}", code=error.code, remedy=_CA_FILE_MISSING)


def reason_of(code: str, text: str, remedy: str | None) -> Reason:
    """Why a node could not be read; whoever shows it adds no advice where it has its own."""
    return Reason(code=code, text=text, values={} if remedy is None else {"remedy": remedy})
