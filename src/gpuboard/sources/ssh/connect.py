"""Connections to nodes: keys verified, ssh config honoured, jump hosts opened, everything in time."""

import asyncio
from pathlib import Path
from typing import Any, Final

import asyncssh

from gpuboard.discovery.base import Target
from gpuboard.model.errors import OutsideError
from gpuboard.outside.files import user_path
from gpuboard.outside.resolve import Resolver
from gpuboard.outside.threads import Note, Workers
from gpuboard.sources.ssh.account import make_up_account, refuse_made_up
from gpuboard.sources.ssh.dial import dial
from gpuboard.sources.ssh.gate import Gate, Turn
from gpuboard.sources.ssh.known_hosts import KnownHosts
from gpuboard.sources.ssh.meter import Meter
from gpuboard.sources.ssh.options import SshOptions
from gpuboard.sources.ssh.words import (
    SshError,
    SshHost,
    changed_key,
    explain,
    public_key,
    timed_out,
    unknown_key,
)

_MAX_HOPS: Final = 8
# For keys, ssh config and known_hosts. Reading them takes milliseconds, unless their mount hangs.
_READERS_AT_ONCE: Final = 4
_READ_SECONDS: Final = 5.0
_DEFAULT_PORT: Final = 22
_KEY_KINDS: Final = (
    "ssh-ed25519",
    "ecdsa-sha2-nistp256",
    "ecdsa-sha2-nistp384",
    "ecdsa-sha2-nistp521",
    "rsa-sha2-512",
    "rsa-sha2-256",
)
# For samples, AES in hardware takes us half the time of ChaCha20, which is asyncssh's first choice.
_QUICK_CIPHERS: Final = "^aes256-gcm@openssh.com,aes128-gcm@openssh.com"


class SshConnector:
    """Opens connections as the options and the ssh config say."""

    def __init__(self, options: SshOptions) -> None:
        self._options = options
        self._workers = Workers(_READERS_AT_ONCE, patience=_READ_SECONDS)
        self._known = KnownHosts(self._workers)
        self._gate = Gate(options.max_connections)
        self._resolver = Resolver()
        # It tells of every connection; we say ourselves what matters.
        asyncssh.set_log_level("WARNING")

    async def open(self, target: Target, *, within: float, keepalive: float) -> asyncssh.SSHClientConnection:
        """Log in to a node.

        Raises:
            SshError: it could not be reached, or one side refused the other.
        """
        port = target.port or self._options.port
        wanted: dict[str, Any] = {"keepalive_interval": keepalive, "keepalive_count_max": 2}
        if port is not None:
            wanted["port"] = port
        if (user := target.user or self._options.user) is not None:
            wanted["username"] = user
        try:
            async with asyncio.timeout(within) as deadline:
                turn = Turn(self._gate, deadline, within)
                login = _Login(self._options, self._known, turn, self._resolver, self._workers)
                return await login.open(
                    target.host,
                    wanted,
                    key_file=self._options.key_file,
                    only_elsewhere=not target.may_be_here,
                )
        except TimeoutError:
            place = self._place(target.host, target.host, port or _DEFAULT_PORT, user or "")
            raise timed_out(place, within) from None

    def place_of(self, target: Target, connection: asyncssh.SSHClientConnection) -> SshHost:
        """Where a connection has come to, with the port and the user by which it did."""
        port = connection.get_extra_info("port") or target.port or _DEFAULT_PORT
        user = connection.get_extra_info("username") or target.user or ""
        return self._place(target.node, target.host, port, user)

    def _place(self, name: str, host: str, port: int, user: str) -> SshHost:
        return SshHost(
            name=name,
            host=host,
            port=port,
            user=user,
            key_file=self._options.key_file,
            own_known_hosts=self._options.known_hosts,
            own_config=self._options.own_config,
        )


class _Login:
    """One way in, over as many jump hosts as it takes; waiting for our own turn does not count as time."""

    def __init__(
        self, options: SshOptions, known: KnownHosts, turn: Turn, resolver: Resolver, workers: Workers
    ) -> None:
        self._options = options
        self._known = known
        self._turn = turn
        self._resolver = resolver
        self._workers = workers

    async def open(
        self,
        host: str,
        wanted: dict[str, Any],
        *,
        key_file: str | None,
        hops: int = 0,
        only_elsewhere: bool = False,
    ) -> asyncssh.SSHClientConnection:
        place = SshHost(name=host, host=host, key_file=key_file)
        tunnel: asyncssh.SSHClientConnection | None = None
        try:
            arguments, settings, has_passphrase = await self._workers.run(
                lambda note: self._arguments(host, wanted, key_file, note)
            )
            files = self._known.files(self._options.known_hosts, settings.known_hosts)
            place = SshHost(
                name=host,
                host=settings.host,
                port=settings.port,
                user=settings.username,
                key_name=settings.host_key_alias,
                known_hosts=files,
                key_file=key_file,
                key_has_passphrase=has_passphrase,
                own_known_hosts=self._options.known_hosts,
                own_config=self._options.own_config,
            )
            known = await self._known.load(files)
            arguments.update(_key_kinds(known, place, settings))
            if not settings.config.get("Ciphers"):
                arguments["encryption_algs"] = _QUICK_CIPHERS
            if isinstance(settings.tunnel, str):
                arguments["tunnel"] = tunnel = await self._open_jumps(settings.tunnel, hops)
            if arguments.get("tunnel") is not None or settings.proxy_command:
                return await _connect(host, arguments, known, place)
            async with self._turn.wait(settings.host, settings.port):
                arguments["sock"] = sock = await dial(
                    self._resolver, settings.host, settings.port, only_elsewhere=only_elsewhere
                )
                try:
                    return await _connect(host, arguments, known, place)
                except BaseException:
                    sock.close()
                    raise
        except (asyncssh.Error, OutsideError, OSError, ValueError) as error:
            _close(tunnel)
            raise explain(error, place) from error
        except BaseException:
            _close(tunnel)
            raise

    async def _open_jumps(self, jumps: str, hops: int) -> asyncssh.SSHClientConnection | None:
        """Log in to each jump host through the one before; as in OpenSSH, the ssh config describes them."""
        tunnel: asyncssh.SSHClientConnection | None = None
        for jump in jumps.split(","):
            if hops >= _MAX_HOPS:
                raise SshError(
                    f"ProxyJump {jumps} leads in a circle", "correct it in the ssh config", code="ssh-config"
                )
            user, _, address = jump.rpartition("@")
            host, _, port = address.rpartition(":") if address.count(":") == 1 else (address, "", "")
            wanted: dict[str, Any] = {} if tunnel is None else {"tunnel": tunnel}
            if user:
                wanted["username"] = user
            if port:
                wanted["port"] = int(port)
            try:
                tunnel = await self.open(host, wanted, key_file=None, hops=hops + 1)
            except BaseException:
                _close(tunnel)
                raise
        return tunnel

    def _arguments(
        self, host: str, wanted: dict[str, Any], key_file: str | None, note: Note
    ) -> tuple[dict[str, Any], asyncssh.SSHClientConnectionOptions, bool]:
        """Everything that asyncssh is told, and what it makes of it; reads files."""
        make_up_account()
        path = user_path(self._options.own_config or "~/.ssh/config")
        note(str(path))
        arguments: dict[str, Any] = {
            **wanted,
            "config": [path] if self._options.own_config or path.is_file() else [],
            # We bring a key or nothing: no questions, no forwarding, no terminal.
            "password_auth": False,
            "kbdint_auth": False,
            "agent_forwarding": False,
            "x11_forwarding": False,
            "request_pty": False,
            "command": None,
            "env": None,
            "send_env": None,
            # The deadline is ours.
            "connect_timeout": None,
            "login_timeout": 0,
        }
        has_passphrase = False
        if key_file is not None:
            note(key_file)
            chosen, has_passphrase = _key(user_path(key_file))
            arguments.update(chosen)
        note(f"{path}, or a key in its folder")
        settings = asyncssh.SSHClientConnectionOptions(host=host, **arguments)
        refuse_made_up(settings.username)
        return arguments, settings, has_passphrase


def _key(path: Path) -> tuple[dict[str, Any], bool]:
    """Use exactly this key: from its file, or from the agent when it has a passphrase."""
    try:
        key = asyncssh.read_private_key(path)
    except asyncssh.KeyImportError as error:
        if "passphrase" not in str(error).lower():
            if _is_public(path):
                raise public_key(str(path)) from None
            raise
        public = path.with_name(f"{path.name}.pub")
        chosen: dict[str, Any] = {"client_keys": [path], "ignore_encrypted": True}
        if public.is_file():
            # An agent may hold many keys, and hosts count every one that they refuse.
            chosen["agent_identities"] = [public]
        return chosen, True
    return {"client_keys": [key], "agent_path": None}, False


def _is_public(path: Path) -> bool:
    try:
        asyncssh.read_public_key(path)
    except (asyncssh.KeyImportError, OSError):
        return False
    return True


def _key_kinds(
    known: asyncssh.SSHKnownHosts, place: SshHost, settings: asyncssh.SSHClientConnectionOptions
) -> dict[str, Any]:
    """Ask for the kinds of host key that we know, then for any other: so a changed kind has a face."""
    port = None if place.port == _DEFAULT_PORT else place.port
    keys, authorities, *_ = known.match(place.key_name or place.host, "", port)
    if not keys or authorities or settings.config.get("HostKeyAlgorithms"):
        return {}
    ours = [kind.decode() for key in keys for kind in key.sig_algorithms]
    return {"server_host_key_algs": list(dict.fromkeys([*ours, *_KEY_KINDS]))}


class _Client(asyncssh.SSHClient):
    """Counts what a host sends, and remembers the key that it showed and we did not know."""

    def __init__(self) -> None:
        self.refused: tuple[str, str, int, asyncssh.SSHKey] | None = None

    def connection_made(self, conn: asyncssh.SSHClientConnection) -> None:
        """Count from the first byte on: before its key is checked, a host may be anybody."""
        Meter.put_before(conn)

    def validate_host_public_key(self, host: str, addr: str, port: int, key: asyncssh.SSHKey) -> bool:
        """Refuse: only keys in known_hosts are good."""
        self.refused = (host, addr, port, key)
        return False


async def _connect(
    host: str, arguments: dict[str, Any], known: asyncssh.SSHKnownHosts, place: SshHost
) -> asyncssh.SSHClientConnection:
    client = _Client()
    try:
        connection = await asyncssh.connect(
            host, **arguments, known_hosts=known, client_factory=lambda: client
        )
    except asyncssh.HostKeyNotVerifiable:
        if client.refused is None:
            raise
        name, address, port, key = client.refused
        ours = known.match(name, address, None if port == _DEFAULT_PORT else port)[0]
        fingerprint = key.get_fingerprint()
        raise (changed_key if ours else unknown_key)(place, fingerprint) from None
    tunnel = arguments.get("tunnel")
    if isinstance(tunnel, asyncssh.SSHClientConnection):
        # So that closing one end closes all the way there.
        connection.set_tunnel(tunnel)
    return connection


def _close(connection: asyncssh.SSHClientConnection | None) -> None:
    if connection is not None:
        connection.abort()
