"""The attacks of the soak, each in a process of its own that is nice to the others.

What they need of the processor would otherwise be missing on a small machine, and the figures would tell of
their hunger rather than of the board. Each is bounded in what it holds and in time.
"""

import asyncio
import contextlib
import itertools
import os
import resource
import socket
import sys
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

import asyncssh
import msgspec

from gpuboard.sources.folder import listing
from tests.fakes.http import Request, raw_server
from tests.hostile import test_asked
from tests.hostile.floods import (
    TINY,
    Place,
    at_once,
    flood_with_frames,
    place_of,
    push_without_pause,
    report_with,
    upgrade,
)
from tests.hostile.soak.parties import DROPPED, HOSTILE, Scene
from tests.hostile.test_endless_handshakes import ENDLESS
from tests.hostile.test_left import leave, with_attributes_from_nowhere
from tests.hostile.test_untaken_answers import ask_and_never_read
from tests.sources.ssh.test_frames import FLOODS

Attack = Callable[[Scene, float], int]

MOST_HELD: Final = 400
PER_SECOND: Final = 200


def hold(open_one: Callable[[], socket.socket], until: float, *, most: int = MOST_HELD) -> int:
    """Open connections at a steady rate, let the oldest go; how many there were."""
    held: deque[socket.socket] = deque()
    count = 0
    while time.monotonic() < until:
        with contextlib.suppress(OSError):
            held.append(open_one())
            count += 1
        if len(held) > most:
            held.popleft().close()
        time.sleep(1 / PER_SECOND)
    for line in held:
        line.close()
    return count


def ask_without_end(place: Place, request: Callable[[], bytes], until: float) -> int:
    """Ask, take the answer, ask again; how many connections that took."""
    count = 0
    while time.monotonic() < until:
        with contextlib.suppress(OSError), socket.create_connection(place, timeout=10) as line:
            count += 1
            while time.monotonic() < until:
                line.sendall(request())
                if not _take_answer(line):
                    break
    return count


def _take_answer(line: socket.socket) -> bool:
    answer = b""
    while b"\r\n\r\n" not in answer:
        data = line.recv(65536)
        if not data:
            return False
        answer += data
    head, _, body = answer.partition(b"\r\n\r\n")
    sizes = [
        text.partition(b":")[2] for text in head.lower().split(b"\r\n") if text.startswith(b"content-length")
    ]
    missing = int(sizes[0] if sizes else 0) - len(body)
    while missing > 0:
        data = line.recv(65536)
        if not data:
            return False
        missing -= len(data)
    return True


def get(place: Place, path: str, more: str = "") -> bytes:
    """A request."""
    return f"GET {path} HTTP/1.1\r\nHost: {place[0]}\r\n{more}\r\n".encode()


def post(place: Place, path: str, body: bytes, more: str = "") -> bytes:
    """A request with a body."""
    head = f"POST {path} HTTP/1.1\r\nHost: {place[0]}\r\nContent-Length: {len(body)}\r\n{more}\r\n"
    return head.encode() + body


def times(count: int, work: Callable[[], int]) -> int:
    """The same, so many times at once."""
    with at_once(work, count) as results:
        pass
    return sum(result for result in results if isinstance(result, int))


def frames(kind: str, scene: Scene, until: float) -> int:
    """The smallest frames, a megabyte a second on each of two lines."""
    return times(2, partial(flood_with_frames, place_of(scene.url), TINY[kind], until))


def handshakes(scene: Scene, until: float) -> int:
    """Handshakes that never end."""
    place, kinds = place_of(scene.url), itertools.cycle(ENDLESS.values())
    return hold(lambda: upgrade(place, more=next(kinds)), until)


def untaken(scene: Scene, until: float) -> int:
    """Answers that nobody takes."""
    place = place_of(scene.url)
    # So many that those who came first are cut before they leave by themselves.
    return hold(partial(ask_and_never_read, place, ["/api/v1/fleet", "/metrics"] * 4), until, most=2000)


def kept(scene: Scene, until: float) -> int:
    """Connections on which nothing follows."""
    place = place_of(scene.url)

    def open_one() -> socket.socket:
        line = socket.create_connection(place, timeout=10)
        line.sendall(get(place, "/healthz"))
        return line

    return hold(open_one, until, most=2000)


def slow_posts(scene: Scene, until: float) -> int:
    """Bodies that never come."""
    place = place_of(scene.url)

    def open_one() -> socket.socket:
        line = socket.create_connection(place, timeout=10)
        line.sendall(
            f"POST /api/v1/enroll HTTP/1.1\r\nHost: {place[0]}\r\nContent-Length: 900\r\n\r\n{{".encode()
        )
        return line

    return hold(open_one, until)


def pipelined(scene: Scene, until: float) -> int:
    """Five thousand requests in one go, again and again."""
    place, count = place_of(scene.url), 0
    while time.monotonic() < until:
        with contextlib.suppress(OSError), socket.create_connection(place, timeout=10) as line:
            count += 1
            line.sendall(get(place, "/healthz") * 5000)
            while line.recv(65536):
                pass
        time.sleep(0.05)
    return count


def dirty(scene: Scene, until: float) -> int:
    """Reports full of control characters."""
    report = report_with("a\x01" * 95, node=HOSTILE)
    while time.monotonic() < until:
        push_without_pause(scene.url, scene.tokens[HOSTILE], until, lambda: report)
    return 1


def names(scene: Scene, until: float) -> int:
    """Reports full of people whom nobody has heard of."""
    people = (f"{number:0190d}" for number in itertools.count(time.monotonic_ns()))

    def report() -> msgspec.Struct:
        return report_with(*itertools.islice(people, 504), node=HOSTILE)

    while time.monotonic() < until:
        push_without_pause(scene.url, scene.tokens[HOSTILE], until, report)  # type: ignore[arg-type]
    return 1


def tokens(scene: Scene, until: float) -> int:
    """Tokens that are none."""
    place, numbers = place_of(scene.url), itertools.count()

    def request() -> bytes:
        more = f"Authorization: Bearer {next(numbers):043d}\r\nContent-Type: application/msgpack\r\n"
        return post(place, "/api/v1/reports", b"a", more)

    return times(4, partial(ask_without_end, place, request, until))


def codes(scene: Scene, until: float) -> int:
    """Enrolment codes that are none."""
    place, numbers = place_of(scene.url), itertools.count()

    def request() -> bytes:
        body = f'{{"code":"{next(numbers):016d}"}}'.encode()
        return post(place, "/api/v1/enroll", body, "Content-Type: application/json\r\n")

    return times(4, partial(ask_without_end, place, request, until))


def dear_answers(scene: Scene, until: float) -> int:
    """The answers that cost most."""
    place, paths = place_of(scene.url), itertools.cycle(["/api/v1/activity", "/metrics", "/api/v1/fleet"])
    return times(4, partial(ask_without_end, place, lambda: get(place, next(paths)), until))


def declarations(scene: Scene, until: float) -> int:
    """Files with attributes from nowhere, each a little different."""
    path = Path(scene.folder) / f"{DROPPED}.xml"
    for number in itertools.count(40_000):
        leave(path, with_attributes_from_nowhere(number))
        if _wait(until, 2.0):
            break
    path.unlink()
    return 0


def overfull(scene: Scene, until: float) -> int:
    """Ten thousand dot files in the folder."""
    folder = Path(scene.folder)
    made = [folder / f".{number}" for number in range(listing.MAX_FILES)]
    for path in made:
        path.touch()
    _wait(until, float("inf"))
    for path in made:
        path.unlink()
    return 0


def sparse(scene: Scene, until: float) -> int:
    """Files that are large and empty, as many as a folder may have nodes."""
    made = [Path(scene.folder) / f"{DROPPED}.{number}.json" for number in range(3000)]
    for path in made:
        with path.open("wb") as hole:
            hole.truncate(4 * 1024 * 1024)
    _wait(until, float("inf"))
    for path in made:
        path.unlink()
    return 0


def _wait(until: float, seconds: float) -> bool:
    """Wait a while; whether the time is up."""
    time.sleep(max(0.0, min(seconds, until - time.monotonic())))
    return time.monotonic() >= until


def asked(scene: Scene, until: float) -> int:
    """An agent whose answers never end: trailers, headers, chunks, bodies."""
    kinds = itertools.cycle(test_asked.ENDLESS.values())

    async def answer(_request: Request, writer: asyncio.StreamWriter) -> None:
        for piece in test_asked.pieces(*next(kinds)):
            writer.write(piece)
            await writer.drain()

    async def serve() -> None:
        async with raw_server(answer, port=scene.pull_port):
            await asyncio.sleep(until - time.monotonic())

    asyncio.run(serve())
    return 0


def logged_into(scene: Scene, until: float) -> int:
    """A host that never comes to its sample: lines, words about what it does, frames that do not end."""
    kinds = itertools.cycle(FLOODS.values())

    async def chatter(process: "asyncssh.SSHServerProcess[bytes]") -> None:
        flood = next(kinds)
        with contextlib.suppress(OSError, asyncssh.Error):
            while time.monotonic() < until and not process.is_closing():
                process.stdout.write(flood)
                await process.stdout.drain()
                await asyncio.sleep(0)

    class Anybody(asyncssh.SSHServer):
        def begin_auth(self, _username: str) -> bool:
            return False

    async def serve() -> None:
        async with asyncssh.listen(
            "127.0.0.1",
            scene.ssh_port,
            server_factory=Anybody,
            server_host_keys=[scene.host_key],
            process_factory=chatter,
            encoding=None,
        ):
            await asyncio.sleep(until - time.monotonic())

    asyncio.run(serve())
    return 0


ATTACKS: Final[dict[str, Attack]] = {
    "nobody attacks": lambda _, until: int(_wait(until, float("inf"))),
    "pings": partial(frames, "ping"),
    "words": partial(frames, "text"),
    "fragments": partial(frames, "fragments"),
    "handshakes": handshakes,
    "untaken answers": untaken,
    "kept connections": kept,
    "slow posts": slow_posts,
    "pipelined requests": pipelined,
    "dirty reports": dirty,
    "people's names": names,
    "wrong tokens": tokens,
    "wrong codes": codes,
    "dear answers": dear_answers,
    "declarations in a file": declarations,
    "ten thousand dot files": overfull,
    "answers without end": asked,
    "floods over ssh": logged_into,
    "sparse files": sparse,
}


if __name__ == "__main__":
    os.nice(10)
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    found = msgspec.json.decode(Path(sys.argv[1]).read_bytes(), type=Scene)
    print(ATTACKS[sys.argv[2]](found, time.monotonic() + float(sys.argv[3])))  # noqa: T201
