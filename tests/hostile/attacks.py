"""Reports that no honest node sends, by class: each a change to an honest one, in both encodings."""

import contextlib
import json
import struct
from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any, Final, NamedTuple

import msgspec

Tree = dict[str, Any]
NAN, INFINITY = float("nan"), float("inf")


class Attack(NamedTuple):
    """What is done to an honest report, and to its bytes."""

    change: Callable[[Tree], Tree]
    in_json: Callable[[bytes], bytes] | None = lambda data: data
    in_msgpack: Callable[[bytes], bytes] | None = lambda data: data

    def encoded(self, tree: Tree) -> dict[str, bytes]:
        """The hostile report, by encoding."""
        changed = self.change(deepcopy(tree))
        found = {}
        if self.in_json is not None:
            found["json"] = self.in_json(json.dumps(changed).encode())
        if self.in_msgpack is not None:
            # Numbers beyond 64 bits exist in JSON alone, and so does what nests too deep to be written.
            with contextlib.suppress(OverflowError, RecursionError):
                found["msgpack"] = self.in_msgpack(msgspec.msgpack.encode(changed))
        return found


def put(path: str, value: Any) -> Attack:  # noqa: ANN401 - wrong on purpose
    """Put a value somewhere in the report."""

    def change(tree: Tree) -> Tree:
        *parents, last = path.split(".")
        place: Any = tree
        for part in parents:
            place = place[int(part)] if part.isdecimal() else place[part]
        place[last] = value
        return tree

    return Attack(change)


def swap(path: str, data: bytes) -> Attack:
    """Put bytes that are no text into a text."""
    mark = b"@" * len(data)
    return Attack(
        put(path, mark.decode()).change, lambda d: d.replace(mark, data), lambda d: d.replace(mark, data)
    )


def twice(key: str, value: Any) -> Attack:  # noqa: ANN401 - wrong on purpose
    """Say one thing twice, the second time wrongly."""

    def in_msgpack(data: bytes) -> bytes:
        head = 1 if data[0] & 0xF0 == 0x80 else 3
        count = data[0] & 0x0F if head == 1 else struct.unpack(">H", data[1:3])[0]
        pair = msgspec.msgpack.encode(key) + msgspec.msgpack.encode(value)
        return b"\xde" + struct.pack(">H", count + 1) + data[head:] + pair

    pair = f",{json.dumps(key)}:{json.dumps(value)}}}".encode()
    return Attack(lambda tree: tree, lambda data: data[:-1] + pair, in_msgpack)


def nested(key: str, depth: int, opening: str) -> Attack:
    """Put a thousand boxes into each other; a few are one too many already."""
    openings = {"[": (b"[", b"]", b"\x91"), "{": (b'{"a":', b"}", b"\x81\xa1a")}
    start, end, packed = openings[opening]
    mark = "@deep@"
    text = start * depth + b"1" + end * depth
    return Attack(
        put(key, mark).change,
        lambda data: data.replace(json.dumps(mark).encode(), text),
        lambda data: data.replace(msgspec.msgpack.encode(mark), packed * depth + b"\x01"),
    )


def gpus(count: int, **more: Any) -> list[Tree]:  # noqa: ANN401 - wrong on purpose
    """So many GPUs."""
    return [{"uuid": f"GPU-{number}", "index": number, **more} for number in range(count)]


OVERSIZED: Final = {
    "uuid": put("gpus.0.uuid", "x" * 257),
    "model": put("gpus.0.model", "x" * 257),
    "vendor": put("gpus.0.vendor", "x" * 100_000),
    "boot id": put("boot_id", "x" * 257),
    "host name": put("host.hostname", "x" * 257),
    "program": put("gpus.0.processes", [{"pid": 1, "program": "x" * 4097}]),
    "arguments": put("gpus.0.processes", [{"pid": 1, "arguments": "x" * 4097}]),
    "user": put("gpus.0.processes", [{"pid": 1, "user": "x" * 257}]),
    "257 GPUs": put("gpus", gpus(257)),
    "10000 GPUs": put("gpus", gpus(10_000)),
    "513 processes": put("gpus.0.processes", [{"pid": pid} for pid in range(513)]),
    "513 processes on two GPUs": put("gpus", gpus(2, processes=[{"pid": pid} for pid in range(257)])),
    "513 children": put("gpus.0.processes", [{"pid": 1, "children": list(range(513))}]),
    "65 disks": put("host.disks", [{"mount": "/"}] * 65),
    "65 addresses": put("host.addresses", [{"interface": "a", "address": "b"}] * 65),
    "65 throttle reasons": put("gpus.0.throttle_reasons", ["hot"] * 65),
    "a megabyte beside it": put("later_version", "x" * 1_000_000),
}

DEEP: Final = {
    f"{key} {opening} {depth}": nested(key, depth, opening)
    for key, opening, depth in [
        ("gpus", "[", 2),
        ("gpus", "[", 1000),
        ("gpus", "[", 100_000),
        ("gpus", "{", 3),
        ("gpus", "{", 50_000),
        ("host", "[", 1000),
        ("host", "[", 200_000),
        ("host", "{", 20_000),
        ("node", "[", 10),
        ("later_version", "[", 100_000),
        ("later_version", "{", 40_000),
        ("problems", "[", 5000),
    ]
}

WRONG_TYPES: Final = {
    f"{path} = {value!r}": put(path, value)
    for path, value in [
        ("gpus", "none"),
        ("gpus", 7),
        ("gpus", {"0": {}}),
        ("gpus.0.uuid", 5),
        ("gpus.0.uuid", None),
        ("gpus.0.index", "0"),
        ("gpus.0.index", 1.5),
        ("gpus.0.memory_used_bytes", "1 GiB"),
        ("gpus.0.memory_unified", "yes"),
        ("gpus.0.processes", [["pid", 1]]),
        ("gpus.0.processes", [{"pid": "1"}]),
        ("host", "host"),
        ("host.disks", "full"),
        ("sequence", "7"),
        ("age_seconds", "fresh"),
        ("version", "1"),
        ("problems", {"kind": "x"}),
    ]
}

HUGE_NUMBERS: Final = {
    f"{path} = {value:.3g}": put(path, value)
    for path, value in [
        ("gpus.0.memory_used_bytes", 2**53 + 1),
        ("gpus.0.memory_total_bytes", 2**63),
        ("gpus.0.memory_total_bytes", 2**64 - 1),
        ("gpus.0.memory_total_bytes", 10**300),
        ("gpus.0.memory_used_bytes", -1),
        ("gpus.0.index", -(2**63)),
        ("gpus.0.power_watts", 1e300),
        ("gpus.0.power_watts", -1e300),
        ("gpus.0.utilization_percent", 1e308),
        ("gpus.0.utilization_percent", -0.5),
        ("gpus.0.temperature_celsius", -1000.0),
        ("age_seconds", 1e300),
        ("age_seconds", -1.0),
        ("interval_seconds", 1e300),
        ("interval_seconds", 0.0),
        ("taken_at", 1e300),
        ("host.uptime_seconds", 1e300),
        ("host.load_1", 1e12),
    ]
}

NOT_NUMBERS: Final = {
    f"{path} = {value}": put(path, value)
    for value in (NAN, INFINITY, -INFINITY)
    for path in (
        "gpus.0.power_watts",
        "gpus.0.utilization_percent",
        "gpus.0.temperature_celsius",
        "age_seconds",
        "interval_seconds",
        "taken_at",
        "host.load_1",
        "host.uptime_seconds",
    )
}

SAID_TWICE: Final = {
    f"{key} = {value!r:.20}": twice(key, value)
    for key, value in [
        ("node", "steady"),
        ("node", "../etc"),
        ("boot_id", "another"),
        ("boot_id", None),
        ("sequence", 0),
        ("sequence", None),
        ("version", 99),
        ("version", -1),
        ("gpus", "none"),
        ("gpus", gpus(257)),
        ("gpus", [*gpus(1), *gpus(1)]),
        ("age_seconds", -1),
        ("interval_seconds", 0),
    ]
}

NO_TEXT: Final = {
    f"{path} {data!r}": swap(path, data)
    for path in ("gpus.0.model", "host.hostname")
    for data in (
        b"\xff\xff",
        b"\xc0\xaf",
        b"\xc1\xbf",
        b"\xe0\x80\xaf",
        b"\xed\xa0\x80",
        b"\xed\xbf\xbf",
        b"\xf4\x90\x80\x80",
        b"\xf8\x88\x80\x80\x80",
        b"\xe2\x82",
        b"\x80\x80",
        b"\xfe\xff",
    )
}

FORGED: Final = {
    f"about {name!r}": put("node", name)
    for name in (
        "steady",
        "vision-01",
        "Steady",
        "STEADY",
        "steady ",
        " steady",
        "steady.",
        "steady\n",
        "ste\u0430dy",
        "steady\u200b",
        "steady\0",
        "",
    )
}

PATH_LIKE: Final = {
    repr(name): put("node", name)
    for name in (
        "../etc",
        "/etc/passwd",
        "..",
        ".",
        "a/b",
        "a\\b",
        "C:\\x",
        "~root",
        "%2e%2e%2f",
        "file:///etc/passwd",
        "a\0b",
        "-rf",
        "$(id)",
        "`id`",
        "a;b",
        "a|b",
    )
}

REFUSED: Final[Mapping[str, Mapping[str, Attack]]] = {
    "oversized": OVERSIZED,
    "deep": DEEP,
    "wrong-types": WRONG_TYPES,
    "huge-numbers": HUGE_NUMBERS,
    "not-numbers": NOT_NUMBERS,
    "said-twice": SAID_TWICE,
    "no-text": NO_TEXT,
    "forged": FORGED,
    "path-like": PATH_LIKE,
}

# Control characters, marks that turn the text around, and characters that cannot be seen.
INVISIBLE: Final = (
    "\x00",
    "\x07",
    "\x08",
    "\x1b[31m",
    "\x1b]0;x\x07",
    "\r",
    "\n",
    "\x7f",
    "\x85",
    "\x9b31m",
    "\u200b",
    "\u200e",
    "\u202a",
    "\u202e",
    "\u2028",
    "\u2029",
    "\u2066",
    "\u2069",
    "\ufeff",
    "\U000e0001",
)

MARKUP: Final = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(1)</script>",
    '"><svg onload=alert(1)>',
    "javascript:alert(1)",
    "{{7*7}}",
    "${7*7}",
    "&lt;b&gt;",
    "<!--",
    "]]>",
    "=cmd|' /C calc'!A0",
    "'; DROP TABLE nodes; --",
)
