"""Honest nodes and viewers in a process of their own, cheap enough that the figures are the board's.

Writes a line for each report: when it was sent by the monotonic clock, which all processes share, and how
long its acknowledgement took; and a line with words for each connection that was lost.
"""

import asyncio
import contextlib
import random
import sys
import time
from pathlib import Path
from typing import TextIO

import msgspec
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from gpuboard.wire.ingest import Acknowledgement, Hello, Live, Sample, decode_from_board, encode
from tests.hostile.soak.parties import INTERVAL_SECONDS, LEFT, NODES, VIEWERS, Scene, drop_path, report
from tests.hostile.test_left import drop, leave


async def push(scene: Scene, node: str, out: TextIO) -> None:
    """Report every five seconds, on one line."""
    headers = {"Authorization": f"Bearer {scene.tokens[node]}"}
    address = scene.url.replace("http", "ws", 1) + "api/v1/ingest"
    await asyncio.sleep(random.random() * INTERVAL_SECONDS)
    while True:
        try:
            async with connect(
                address, additional_headers=headers, compression=None, open_timeout=30
            ) as line:
                await line.send(encode(Hello(node=node, boot_id="boot-1")))
                await line.recv()
                await report_on(line, node, out)
        except (ConnectionClosed, OSError, TimeoutError) as error:
            out.write(f"lost {node}: {error!r}\n")
            await asyncio.sleep(1)


async def report_on(line: ClientConnection, node: str, out: TextIO) -> None:
    """Report on a line until it is lost."""
    while True:
        sequence = int(time.monotonic() * 1000)
        data = msgspec.msgpack.encode(report(node, sequence))
        sample = Sample(sequence=sequence, waited_seconds=0.0, report=msgspec.Raw(data))
        message = encode(Live(sample=sample, follows=None))
        started = time.monotonic()
        await line.send(message)
        answer = decode_from_board(await line.recv(decode=False))
        took = time.monotonic() - started
        is_taken = isinstance(answer, Acknowledgement) and answer.refused == ()
        out.write(f"{started} {took}\n" if is_taken else f"refused {node}: {answer}\n")
        await asyncio.sleep(max(0.0, started + INTERVAL_SECONDS - time.monotonic()))


async def view(scene: Scene, number: int, out: TextIO) -> None:
    """Read the live stream; frames are counted and thrown away."""
    address = scene.url.replace("http", "ws", 1) + "api/v1/stream"
    while True:
        try:
            async with connect(address, compression=None, max_size=None, open_timeout=30) as line:
                async for _ in line:
                    pass
            out.write(f"lost viewer {number}: closed with {line.close_code}\n")
        except (ConnectionClosed, OSError, TimeoutError) as error:
            out.write(f"lost viewer {number}: {error!r}\n")
        await asyncio.sleep(1)


async def leave_files(scene: Scene) -> None:
    """Leave a report in the folder, as a node with a crontab does."""
    while True:
        data = msgspec.json.encode(report(LEFT, int(time.monotonic() * 1000)))
        await asyncio.to_thread(leave, drop_path(scene), drop(data))
        await asyncio.sleep(INTERVAL_SECONDS)


async def all_of_them(scene: Scene, out: TextIO) -> None:
    """Everybody, until the process is ended."""
    await asyncio.gather(
        leave_files(scene),
        *(push(scene, node, out) for node in NODES),
        *(view(scene, number, out) for number in range(VIEWERS)),
    )


if __name__ == "__main__":
    parties = msgspec.json.decode(Path(sys.argv[1]).read_bytes(), type=Scene)
    with (
        Path(sys.argv[2]).open("w", buffering=1, encoding="utf-8") as file,
        contextlib.suppress(KeyboardInterrupt),
    ):
        asyncio.run(all_of_them(parties, file))
