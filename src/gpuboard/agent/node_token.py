"""The node's token in its file, and how it gets there."""

import http.client
import logging
import os
from functools import partial
from pathlib import Path
from typing import Final

import msgspec

from gpuboard.agent.board_address import BoardAddress
from gpuboard.agent.channel import USER_AGENT, open_http
from gpuboard.agent.trouble import PushTrouble, answer_trouble, network_trouble
from gpuboard.model.errors import AccessRefused, BoardUnreachableError, SettingsError, WireError
from gpuboard.outside.files import write_whole
from gpuboard.wire.enrolment import EnrolmentAnswer, EnrolmentRequest, node_of_token

log = logging.getLogger(__name__)

MAX_FILE_BYTES: Final = 4096
_EVERYBODY: Final = 0o007
_OWNER_AND_GROUP: Final = 0o660


class NodeToken(msgspec.Struct, frozen=True):
    """A token, and the node that it speaks for."""

    node: str
    text: str

    def __repr__(self) -> str:
        # A token must not end up in a log by accident.
        return f"NodeToken({self.node!r})"


def read_token(path: Path) -> NodeToken:
    """Read the node's token; it also says what the node is called.

    Raises:
        SettingsError: the file cannot be read, is open to everybody, or holds no token.
    """
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            text = file.read(MAX_FILE_BYTES).decode("ascii", "replace").strip()
    except PermissionError:
        raise SettingsError(
            f"the token file {path} is not this user's to read; run as root: chown {os.geteuid()} {path}"
        ) from None
    except OSError as error:
        raise SettingsError(
            f"the token file {path} cannot be read: {error.strerror}; "
            f"get a token with: gpuboard agent enroll URL --token-file {path}"
        ) from None
    if mode & _EVERYBODY:
        raise SettingsError(
            f"everybody on this machine can use the token file {path}; run: chmod o-rwx {path}, "
            "and enroll the node anew if others may have read it"
        )
    try:
        return NodeToken(node_of_token(text), text)
    except WireError as error:
        raise SettingsError(f"the token file {path}: {error}") from None


def write_token(path: Path, token: str) -> None:
    """Write the token for nobody else's eyes, whole or not at all; whoever had the file before has it still.

    Raises:
        SettingsError: the file cannot be written.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_whole(path, f"{token}\n".encode("ascii"), mode=0o600, prepare=partial(_keep_owner, path))
    except OSError as error:
        raise SettingsError(f"the token file {path} cannot be written: {error.strerror}") from None


def _keep_owner(path: Path, descriptor: int) -> None:
    """Let the new file be whose the old one was, or whose the folder is: an agent runs as somebody else."""
    try:
        before, mode = path.stat(), path.stat().st_mode & _OWNER_AND_GROUP
    except FileNotFoundError:
        before, mode = path.parent.stat(), 0o600
    if os.geteuid() == 0:
        os.fchown(descriptor, before.st_uid, before.st_gid)
    os.fchmod(descriptor, mode | 0o600)


def enroll(address: BoardAddress, code: str, token_file: Path) -> NodeToken:
    """Exchange an enrolment code for the node's token and keep that in its file.

    Raises:
        AccessRefused: the board does not take the code.
        BoardUnreachableError: no board answers, or none that can be believed.
        SettingsError: the file cannot be written; asked first, since a code works once.
    """
    _check_writable(token_file)
    answer = _ask(address, code)
    try:
        token = NodeToken(node_of_token(answer.token), answer.token)
    except WireError:
        raise BoardUnreachableError(f"{address} answered with something that is no token") from None
    write_token(token_file, token.text)
    log.info("enrolled: node=%s board=%s token_file=%s", token.node, address, token_file)
    return token


def _check_writable(token_file: Path) -> None:
    write_token(token_file.with_name(f".{token_file.name}.try"), "")
    token_file.with_name(f".{token_file.name}.try").unlink(missing_ok=True)


def _ask(address: BoardAddress, code: str) -> EnrolmentAnswer:
    body = msgspec.json.encode(EnrolmentRequest(code=code[:64]))
    headers = {"Content-Type": "application/json", "User-Agent": USER_AGENT}
    connection = open_http(address)
    try:
        connection.request("POST", address.path("enroll"), body, headers)
        answer = connection.getresponse()
        data = answer.read(MAX_FILE_BYTES)
        if answer.status not in (http.client.OK, http.client.CREATED):
            raise answer_trouble(
                answer.status, answer.headers.get("Content-Type", ""), data, place=str(address)
            )
        return msgspec.json.decode(data, type=EnrolmentAnswer)
    except PushTrouble as trouble:
        kind = AccessRefused if trouble.is_refusal else BoardUnreachableError
        raise kind(str(trouble)) from None
    except (OSError, http.client.HTTPException) as error:
        raise BoardUnreachableError(str(network_trouble(error, address))) from None
    except msgspec.MsgspecError:
        raise BoardUnreachableError(f"{address} does not answer as a board does") from None
    finally:
        connection.close()
