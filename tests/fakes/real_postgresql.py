"""A private PostgreSQL cluster: real, small, and gone with the tests."""

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import psycopg

from tests.board import free_port
from tests.parts import missing

START_SECONDS = 30


def binaries() -> Path:
    """Where Debian keeps the newest server's programs; they are not on the PATH."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    if not found:
        elsewhere = shutil.which("initdb")
        if elsewhere is None:
            missing("postgresql")
        return Path(elsewhere).resolve().parent
    return found[-1].parent


class RealPostgres:
    """A cluster in a folder of its own, on a port and a socket of its own."""

    def __init__(self, *, is_durable: bool = False) -> None:
        """Make it; what must outlive a power cut is synced only if asked for."""
        self._fsync = "on" if is_durable else "off"
        self._bin = binaries()
        # Not in pytest's own folder: nobody else may look into that, and a socket's path must be short.
        self._folder = folder = Path(tempfile.mkdtemp(prefix="gpuboard-postgres-"))
        self._data = folder / "data"
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self._count = 0
        # The server refuses to run as root.
        self._user = "nobody" if os.geteuid() == 0 else None
        if self._user:
            shutil.chown(folder, self._user)
        initdb: list[str | Path] = [self._bin / "initdb", "-D", self._data, "-U", "postgres", "--no-sync"]
        initdb += ["--auth-local=trust", "--auth-host=scram-sha-256", "-E", "UTF8", "--locale=C.UTF-8"]
        subprocess.run(initdb, check=True, capture_output=True, user=self._user, cwd="/")

    def start(self) -> None:
        """Start it, and wait until it answers."""
        command: list[str | Path] = [
            self._bin / "postgres",
            "-D",
            self._data,
            "-p",
            str(self.port),
            "-k",
            self._folder,
        ]
        command += [
            "-c",
            "listen_addresses=127.0.0.1",
            "-c",
            "max_connections=100",
            "-c",
            f"fsync={self._fsync}",
        ]
        ends = time.monotonic() + START_SECONDS
        while True:
            # One that was killed may leave children for a moment; until they are gone it does not start.
            if self._process is None or self._process.poll() is not None:
                with (self._folder / "log").open("ab") as log:
                    self._process = subprocess.Popen(
                        command, stdout=log, stderr=log, user=self._user, cwd="/"
                    )
            try:
                psycopg.connect(self.admin_url).close()
            except psycopg.OperationalError:
                assert time.monotonic() < ends, (self._folder / "log").read_text(errors="replace")
                time.sleep(0.02)
            else:
                return

    @property
    def admin_url(self) -> str:
        """The way in for its administrator."""
        return self.url("postgres")

    def url(self, database: str, user: str = "postgres") -> str:
        """The way to a database over the socket, where no password is asked for."""
        return f"postgresql://{user}@/{database}?host={self._folder}&port={self.port}"

    def url_by_network(self, database: str, user: str = "postgres") -> str:
        """The way to a database over the network, where a password is asked for."""
        return f"postgresql://{user}@127.0.0.1:{self.port}/{database}"

    def ask(self, statement: str) -> None:
        """Let the administrator do something."""
        with psycopg.connect(self.admin_url, autocommit=True) as connection:
            connection.execute(statement.encode())

    def new_database(self, options: str = "") -> str:
        """The name of a database that nobody has used."""
        self._count += 1
        name = f"board{self._count}"
        self.ask(f"CREATE DATABASE {name} {options}")
        return name

    def send(self, number: signal.Signals) -> None:
        """Send the server a signal; to all its processes, as a machine that stops would."""
        assert self._process is not None
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text().split()
        for pid in (self._process.pid, *map(int, children)):
            # One that served a connection may have ended since it was listed.
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def kill(self) -> None:
        """End it as a power cut would."""
        assert self._process is not None
        self.send(signal.SIGKILL)
        self._process.wait()
        self._process = None

    def close(self) -> None:
        """End it, and leave nothing behind."""
        self.stop()
        shutil.rmtree(self._folder)

    def stop(self) -> None:
        """End it; who is connected is cut off."""
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait(timeout=30)
            self._process = None
