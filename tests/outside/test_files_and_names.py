"""Files followed, secrets read and names looked up, without ever holding up the event loop."""

import asyncio
import contextlib
import os
import threading
import time
from pathlib import Path

import pytest

from gpuboard.model.errors import OutsideError
from gpuboard.outside.backoff import Backoff
from gpuboard.outside.files import follow, read_file
from gpuboard.outside.resolve import LOOKUPS_AT_ONCE, Resolver
from gpuboard.outside.secrets import FileValue, secret_in, tls_by
from gpuboard.outside.threads import Note, Workers, off_loop


async def test_a_hung_call_does_not_hold_up_the_others() -> None:
    """The pool of asyncio would be full after a few hung mounts."""
    release = threading.Event()
    hung = [asyncio.ensure_future(off_loop(release.wait)) for _ in range(40)]
    started = time.monotonic()
    assert await off_loop(lambda: 7) == 7
    assert time.monotonic() - started < 10
    release.set()
    await asyncio.gather(*hung)


async def test_an_error_in_a_thread_is_raised_where_it_is_awaited() -> None:
    """Errors must not vanish in a thread."""
    with pytest.raises(ZeroDivisionError):
        await off_loop(lambda: 1 // 0)


def test_a_file_that_is_not_ours_to_read_says_for_whom_to_open_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who looks for the mistake is root, and can read it."""

    def refuse(*_words: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(
        OutsideError, match=r"cannot be read: Permission denied; let u.* read it \(chgrp"
    ) as told:
        read_file(tmp_path / "token")
    assert (told.value.code, told.value.remedy is not None) == ("file-unreadable", True)


async def test_a_followed_file_is_told_at_the_start_and_at_every_change(tmp_path: Path) -> None:
    """Also when the file is replaced by one of the same size within the same tick of the clock."""
    path = tmp_path / "list"
    path.write_bytes(b"one")
    seen = follow(lambda: read_file(path), every=0.01)
    assert await anext(seen) == b"one"
    stamp = path.stat()
    path.write_bytes(b"two")
    os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert await anext(seen) == b"two"
    path.unlink()
    trouble = await anext(seen)
    assert isinstance(trouble, OutsideError)
    assert trouble.code == "file-missing"
    path.write_bytes(b"two")
    assert await anext(seen) == b"two"
    await seen.aclose()


async def test_a_lasting_trouble_is_told_once(tmp_path: Path) -> None:
    """A log that repeats itself every five seconds is not read."""
    reads = []

    def read() -> bytes:
        reads.append(1)
        return read_file(tmp_path / "missing")

    seen = follow(read, every=0.01)
    assert isinstance(await anext(seen), OutsideError)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(anext(seen), 0.2)
    assert len(reads) > 3


def test_what_is_no_regular_file_is_not_read(tmp_path: Path) -> None:
    """Opening a named pipe would wait forever, a device would never end."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, Path("/dev/zero"), tmp_path):
        with pytest.raises(OutsideError, match=r"no regular file|directory"):
            read_file(path)


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    """The limit itself is still allowed."""
    path = tmp_path / "big"
    path.write_bytes(b"x" * 100)
    assert len(read_file(path, limit=100)) == 100
    with pytest.raises(OutsideError, match="larger than 99"):
        read_file(path, limit=99)


async def test_a_rotated_secret_is_used_after_a_while_or_after_a_refusal(tmp_path: Path) -> None:
    """Nobody should have to restart the board to change a token."""
    path = tmp_path / "token"
    path.write_text(" first\n")
    kept, quick = secret_in(str(path)), secret_in(str(path), keep=0)
    assert (await kept.value(), await quick.value()) == ("first", "first")
    path.write_text("second\n")
    assert (await kept.value(), await quick.value()) == ("first", "second")
    kept.forget()
    assert await kept.value() == "second"


@pytest.mark.parametrize("content", ["", "\n", "two words", "two\nlines", "caf\u00e9", "nul\0"])
async def test_a_file_without_a_plain_secret_is_refused(tmp_path: Path, content: str) -> None:
    """The secret itself never stands in the message."""
    path = tmp_path / "token"
    path.write_text(content)
    with pytest.raises(OutsideError) as caught:
        await secret_in(str(path)).value()
    assert caught.value.code == "bad-secret"
    assert "words" not in caught.value.text


async def test_a_secret_on_a_hung_mount_starts_only_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five hundred nodes ask for the same token."""
    monkeypatch.setattr("gpuboard.outside.secrets.PATIENCE_SECONDS", 0.1)
    release, reads = threading.Event(), []

    def read() -> str:
        reads.append(1)
        release.wait()
        return "late"

    value = FileValue(read)
    for _ in range(2):
        with pytest.raises(OutsideError, match="mount hangs"):
            await value.value()
    assert len(reads) == 1
    release.set()
    assert await value.value() == "late"


async def test_a_followed_file_on_a_hung_mount_is_told_and_read_again_afterwards(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By one thread, however long it hangs; the same content is told once more, for it was in doubt."""
    monkeypatch.setattr("gpuboard.outside.files.HUNG_SECONDS", 0.05)
    hangs, release, reads = threading.Event(), threading.Event(), []

    def read() -> str:
        reads.append(1)
        if hangs.is_set():
            release.wait()
        return "same"

    told = follow(read, every=0.01)
    assert await anext(told) == "same"
    hangs.set()
    trouble = await anext(told)
    assert isinstance(trouble, OutsideError)
    assert trouble.code == "file-hung"
    begun = len(reads)
    # Time for twenty more: while one hangs none may begin.
    await asyncio.sleep(0.2)
    assert len(reads) == begun
    hangs.clear()
    release.set()
    assert await anext(told) == "same"
    await told.aclose()


async def test_a_ca_file_without_certificate_is_named(tmp_path: Path) -> None:
    """OpenSSL's own words for this help nobody."""
    path = tmp_path / "ca.pem"
    path.write_text("not a certificate")
    with pytest.raises(OutsideError, match="holds no certificate in PEM form"):
        await tls_by(str(path)).value()


async def test_the_last_known_address_serves_while_the_name_server_is_away() -> None:
    """A board must not lose its nodes because DNS is down."""
    answers = [["192.0.2.7"]]

    def look_up(_host: str) -> list[str]:
        if not answers:
            raise OSError(-3, "Temporary failure in name resolution")
        return answers.pop()

    resolver = Resolver(look_up)
    assert await resolver.addresses("gpu01") == ["192.0.2.7"]
    assert await resolver.addresses("gpu01") == ["192.0.2.7"]
    with pytest.raises(OutsideError, match="gpu02 cannot be looked up: Temporary failure"):
        await resolver.addresses("gpu02")


async def test_an_address_needs_no_name_server() -> None:
    """Lists of addresses work without any."""

    def never(_host: str) -> list[str]:
        raise AssertionError

    for address in ("192.0.2.7", "::1", "fe80::1%lo"):
        assert await Resolver(never).addresses(address) == [address]


def test_waiting_grows_with_failures_up_to_a_limit() -> None:
    """And starts again after a success."""
    backoff = Backoff(1, limit=30, chance=lambda: 1.0)
    assert [backoff.failed() for _ in range(7)] == [1, 2, 4, 8, 16, 30, 30]
    backoff.succeeded()
    assert backoff.failed() == 1


def test_the_second_try_may_come_sooner_than_all_others() -> None:
    """But never later; to learn whether a failure lasts."""
    soon, never_later = (Backoff(first, limit=60, second_try=2, chance=lambda: 1.0) for first in (20, 1))
    assert [soon.failed() for _ in range(3)] == [2, 40, 60]
    assert [never_later.failed() for _ in range(3)] == [1, 2, 4]


def test_who_was_never_there_is_not_tried_again_at_once() -> None:
    """A second try is for what held until now."""
    backoff = Backoff(20, limit=60, second_try=2, chance=lambda: 1.0)
    assert [backoff.failed(may_be_soon=False) for _ in range(2)] == [20, 40]


def test_two_that_fail_together_do_not_come_back_together() -> None:
    """Each waits between half and all of the span."""
    waits = [Backoff(10, limit=10).failed() for _ in range(50)]
    assert len(set(waits)) > 40
    assert all(5 <= wait <= 10 for wait in waits)


async def test_calls_that_hang_are_never_more_than_their_places() -> None:
    """Asked again and again, no further thread is left behind; what hangs is named; then all is well."""
    release = threading.Event()
    began = threading.Semaphore(0)
    workers = Workers(3, patience=0.05)

    def hang(note: Note) -> int:
        note("/nfs/home/key")
        began.release()
        release.wait()
        return 7

    for _ in range(12):
        with pytest.raises(OutsideError, match="/nfs/home/key cannot be read: its mount hangs"):
            await workers.run(hang)
    assert [began.acquire(timeout=30) for _ in range(3)] == [True] * 3
    assert not began.acquire(blocking=False)
    release.set()
    patient = Workers(1)
    assert await patient.run(lambda _: 7) == 7
    async with asyncio.timeout(60):
        while True:
            with contextlib.suppress(OutsideError):
                assert await workers.run(lambda _: 8) == 8
                break


async def test_who_gives_up_leaves_no_second_thread_behind() -> None:
    """A name server that never answers is asked by so many threads and no more."""
    release, asked = threading.Event(), []

    def look_up(host: str) -> list[str]:
        asked.append(host)
        release.wait()
        return ["192.0.2.7"]

    resolver = Resolver(look_up)
    for _ in range(2 * LOOKUPS_AT_ONCE):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await resolver.addresses("gpu01")
    assert len(asked) <= LOOKUPS_AT_ONCE
    release.set()
