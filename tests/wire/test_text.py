import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuboard.wire.text import decode_text


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_text_from_linux_windows_and_powershell_reads_the_same(encoding: str) -> None:
    """A file redirected on Windows is UTF-16; its reader should not care."""
    assert decode_text("GPU 0: 37°C\n".encode(encoding)) == "GPU 0: 37°C\n"


def test_bytes_that_are_no_text_are_replaced_and_the_rest_stays() -> None:
    """Drivers have been seen to print uninitialised memory as a process name."""
    assert decode_text(b"pid 7: \xff\xfe\xff\n") == "pid 7: \ufffd\ufffd\ufffd\n"


def test_windows_line_ends_become_newlines() -> None:
    """Every parser may then split at one character."""
    assert decode_text(b"a\r\nb\r\n") == "a\nb\n"


@given(st.binary(max_size=200))
def test_any_bytes_become_text(data: bytes) -> None:
    """Reading text has no way to fail."""
    decode_text(data).encode("utf-8")
