"""Why a node could not be read over ssh, in words, with what to do about it.

Foreign errors end here: asyncssh's and the system's become an SshError with a code that stays the same.
"""

import re
from shlex import quote
from typing import Any, Final, Literal

import asyncssh
from msgspec import Struct

from gpuboard.model.errors import OutsideError, SourceError, WireError
from gpuboard.model.verdict import Reason
from gpuboard.sources.ssh.meter import FloodError
from gpuboard.wire.clean import clean_text

_DEFAULT_PORT = 22
_LONGEST = 600
_PLAIN_PATH: Final = re.compile(r"[\w@%+=:,./~-]+", re.ASCII)
# What to do about files and names outside, by what is wrong with them.
_LOOK_UP = "check its spelling, the DNS, or HostName in the ssh config"
_REMEDIES = {
    "file-hung": "see whether its file server answers; its nodes come back with it",
    "address-here": "correct the list, or set allow_loopback = true where the list may say so",
}


class SshHost(Struct, frozen=True, kw_only=True):
    """Where a connection was going, as the messages name it."""

    # As the admin wrote it.
    name: str
    host: str
    port: int = _DEFAULT_PORT
    user: str = ""
    # Under which name its key stands in known_hosts, and in which files.
    key_name: str | None = None
    known_hosts: tuple[str, ...] = ()
    key_file: str | None = None
    key_has_passphrase: bool = False
    # What the settings name in place of ssh's own files; a person's ssh knows nothing of them.
    own_known_hosts: str | None = None
    own_config: str | None = None

    @property
    def ssh(self) -> str:
        """How a person would log in there as the board does."""
        config = f"-F {_word(self.own_config)} " if self.own_config else ""
        key = f"-i {_word(self.key_file)} " if self.key_file else ""
        words = f"ssh {config}{self.with_known_hosts}{key}{self.at_port}"
        return f"{words}{self.user}@{self.host}" if self.user else f"{words}{self.host}"

    @property
    def at_port(self) -> str:
        """The option for its port, if it needs one."""
        return "" if self.port == _DEFAULT_PORT else f"-p {self.port} "

    @property
    def with_known_hosts(self) -> str:
        """The option for the board's own known_hosts, if it has one."""
        file = self.own_known_hosts
        return f"-o UserKnownHostsFile={_word(file)} " if file else ""

    @property
    def in_known_hosts(self) -> str:
        """How known_hosts writes this host."""
        name = self.key_name or self.host
        return name if self.port == _DEFAULT_PORT else f"[{name}]:{self.port}"


class SshError(SourceError):
    """A node could not be read over ssh; says why, and what to do."""

    def __init__(
        self, what: str, remedy: str, *, code: str, state: Literal["refused", "error"] = "error"
    ) -> None:
        # Some of it is the host's own words, from before we know who it is: harmless, and not too many.
        helps = clean_text(remedy[:_LONGEST])
        super().__init__(f"{clean_text(what[:_LONGEST])}; {helps}", state=state, code=code, remedy=helps)

    @property
    def as_reason(self) -> Reason:
        """The same as a value."""
        values: dict[str, Any] = {"remedy": self.remedy}
        return Reason(code=self.code, text=self.reason, values=values)


def public_key(file: str) -> SshError:
    """The settings name a public key where a private one is needed."""
    return SshError(
        f"{file} is a public key",
        f"key_file names the private one, which stays with the board: {file.removesuffix('.pub')}",
        code="key-unreadable",
        state="refused",
    )


def changed_key(place: SshHost, fingerprint: str) -> SshError:
    """The host shows another key than the one we know: a new installation, or somebody in between."""
    file = place.known_hosts[0] if place.known_hosts else "~/.ssh/known_hosts"
    return SshError(
        f"the host key of {place.host} has changed (it now shows {fingerprint}): it was installed anew, "
        "or somebody is in between",
        f"ask its admin for the new fingerprint; if it is this one, ssh-keygen -f {_word(file)} "
        f"-R '{place.in_known_hosts}' and then {place.ssh} once",
        code="host-key-changed",
        state="refused",
    )


def unknown_key(place: SshHost, fingerprint: str) -> SshError:
    """We have never seen this host's key."""
    file = place.known_hosts[0] if place.known_hosts else "~/.ssh/known_hosts"
    return SshError(
        f"the host key of {place.host} is not known here (it shows {fingerprint})",
        f"log in once as the board's user ({place.ssh}) and compare the fingerprint, or add it with "
        f"ssh-keyscan {place.at_port}{place.host} >> {_word(file)}",
        code="host-key-unknown",
        state="refused",
    )


def untrusted_key(place: SshHost, why: str) -> SshError:
    """The host's key or certificate is refused for another reason."""
    return SshError(
        f"the host key of {place.host} is refused: {why}",
        f"see what {place.ssh} says, and correct known_hosts",
        code="host-key-refused",
        state="refused",
    )


def login_refused(place: SshHost) -> SshError:
    """The host does not let us in."""
    if place.key_has_passphrase:
        return SshError(
            f"{place.host} refused the login of {place.user}: the key {place.key_file} has a passphrase, and "
            "no ssh-agent offers it",
            f"ssh-add {place.key_file} where the board runs, and start the board with SSH_AUTH_SOCK set",
            code="auth-failed",
            state="refused",
        )
    key = f"-i {_word(place.key_file)} " if place.key_file else ""
    options = f"{place.with_known_hosts}{key}{place.at_port}"
    return SshError(
        f"{place.host} refused the login of {place.user}",
        f"put the board's public key there: ssh-copy-id {options}{place.user}@{place.host}",
        code="auth-failed",
        state="refused",
    )


def timed_out(place: SshHost, seconds: float) -> SshError:
    """No answer in time."""
    return SshError(
        f"{place.name} did not answer within {seconds:g} s",
        f"see whether it is up and not overloaded: {place.ssh}",
        code="timeout",
    )


def unreadable(node: str, error: WireError) -> SshError:
    """What came looks like a sample and cannot be read."""
    return SshError(
        f"{node} sent a sample that cannot be read: {error}",
        "see what its nvidia-smi and its forced command print",
        code="bad-report",
    )


def flooded(place: SshHost, what: str) -> SshError:
    """The host sends more than anybody asked for."""
    return SshError(
        f"{place.name} sends a flood: {what}",
        "see what its login shell prints (~/.bashrc), what its forced command is, whether it is sshd at all",
        code="flood",
    )


def explain(error: Exception, place: SshHost) -> SshError:  # noqa: PLR0911 - one return per kind
    """Put a foreign error into words."""
    text = str(error) or type(error).__name__
    match error:
        case SshError():
            return error
        case FloodError():
            return flooded(place, error.reason)
        case asyncssh.HostKeyNotVerifiable():
            return untrusted_key(place, text)
        case asyncssh.PermissionDenied():
            return login_refused(place)
        case asyncssh.KeyExchangeFailed() if "host key" in text.lower():
            return changed_key(place, "a key of another kind")
        case asyncssh.Error():
            return _explain_protocol(error, text, place)
        case OutsideError():
            return SshError(text, _REMEDIES.get(error.code, _LOOK_UP), code=error.code)
        case OSError():
            return _explain_system(error, text, place)
    return _explain_files(error, text, place)


def _explain_protocol(error: asyncssh.Error, text: str, place: SshHost) -> SshError:
    if isinstance(error, asyncssh.ConnectionLost):
        return SshError(
            f"the connection to {place.name} was lost ({text})",
            f"if it stays so, see the sshd log there; many logins at once meet MaxStartups; {place.ssh}",
            code="connection-lost",
        )
    if isinstance(error, asyncssh.ChannelOpenError):
        return SshError(
            f"{place.name} lets us in but opens no session ({text})",
            "see MaxSessions and AllowTcpForwarding in its sshd_config",
            code="session-refused",
        )
    return SshError(
        f"{place.name} does not speak ssh as we do ({text})", f"compare with {place.ssh}", code="ssh-protocol"
    )


def _explain_system(error: OSError, text: str, place: SshHost) -> SshError:
    if isinstance(error, ConnectionRefusedError):
        return SshError(
            f"{place.name} refuses connections on port {place.port}",
            f"see whether sshd runs there and listens on that port: {place.ssh}",
            code="connection-refused",
        )
    if error.filename is not None:
        return SshError(
            f"{error.filename} cannot be read: {error.strerror}",
            "check the name and who may read it; the board runs as its own user",
            code="file-unreadable",
            state="refused",
        )
    return SshError(
        f"{place.name} cannot be reached ({error.strerror or text})",
        "see whether it is up and the network leads there",
        code="unreachable",
    )


def _explain_files(error: Exception, text: str, place: SshHost) -> SshError:
    """Put what asyncssh could not make sense of into words; it reads keys, ssh config and known_hosts."""
    if isinstance(error, asyncssh.KeyImportError | asyncssh.KeyEncryptionError):
        return SshError(
            f"the key {place.key_file or ''} for {place.name} cannot be read: {text}".replace("  ", " "),
            "check key_file, or IdentityFile in the ssh config",
            code="key-unreadable",
            state="refused",
        )
    return SshError(
        f"the ssh config or known_hosts for {place.name} cannot be read: {text}",
        f"correct it; compare with {place.ssh}",
        code="ssh-config",
    )


def _word(path: str) -> str:
    """A path as a shell takes it; a home of one's own stays one."""
    return path if _PLAIN_PATH.fullmatch(path) else quote(path)
