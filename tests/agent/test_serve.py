"""The agent that listens, asked over real HTTP and TLS."""

import contextlib
import datetime as dt
import itertools
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import msgspec
import pytest

from gpuboard.agent import certificate as certificate_module
from gpuboard.agent import connections
from gpuboard.agent.connections import MAX_CONNECTIONS, MAX_OF_ONE_PEER
from gpuboard.agent.listen_token import read_or_create_token
from gpuboard.agent.outlet import TimedReport
from gpuboard.agent.serve import ListenOptions, ListenOutlet
from gpuboard.model.errors import UsageError
from gpuboard.probes.simulated import simulate
from gpuboard.wire.report import decode_report
from tests.parts import require
from tests.started import eventually
from tests.tls import Authority

TOKEN = "0123456789abcdef0123456789abcdef"  # made up for these tests
SHOWN = {"authorization": f"Bearer {TOKEN}"}
REPORT = simulate("dgx-01", 1_800_000_000.0)


class Clock:
    """A clock that a test moves."""

    time = 100.0

    def __call__(self) -> float:
        """The time that was set."""
        return self.time


def options(**more: str | bool) -> ListenOptions:
    """Options for a private port."""
    return msgspec.structs.replace(ListenOptions(host="127.0.0.1", port=0, token=TOKEN), **more)


@pytest.fixture
def clock() -> Clock:
    """The agent's clock."""
    return Clock()


@pytest.fixture
def agent(clock: Clock) -> Iterator[ListenOutlet]:
    """A listening agent with one sample."""
    outlet = ListenOutlet(options(dcgm_names=True), clock=clock)
    outlet.start()
    outlet.offer(TimedReport(REPORT, clock()))
    yield outlet
    outlet.stop()


@pytest.fixture
def http(agent: ListenOutlet) -> Iterator[httpx.Client]:
    """A client with the token."""
    headers = {"authorization": f"Bearer {TOKEN}"}
    with httpx.Client(base_url=f"http://127.0.0.1:{agent.port}", headers=headers) as client:
        yield client


def test_the_report_comes_as_json_and_as_msgpack(http: httpx.Client) -> None:
    """People read the one, boards the other."""
    as_json = http.get("/report")
    as_msgpack = http.get("/report", headers={"accept": "application/msgpack"})
    assert decode_report(as_json.content) == decode_report(as_msgpack.content, "msgpack") == REPORT


def test_a_report_says_how_old_it_is(http: httpx.Client, clock: Clock) -> None:
    """An agent that no longer samples but still answers gives itself away."""
    clock.time += 60
    assert http.get("/report").json()["age_seconds"] == 60.0


@pytest.mark.parametrize("path", ["/report", "/metrics", "/healthz", "/"])
@pytest.mark.parametrize("shown", [None, "", "Bearer", "Bearer wrong", f"Basic {TOKEN}", f"bearer {TOKEN}x"])
def test_nothing_is_told_without_the_token(agent: ListenOutlet, path: str, shown: str | None) -> None:
    """Not even whether a path exists."""
    headers = {} if shown is None else {"authorization": shown}
    answer = httpx.get(f"http://127.0.0.1:{agent.port}{path}", headers=headers)
    assert (answer.status_code, "dgx" in answer.text) == (401, False)


def test_metrics_leave_out_what_is_unknown(http: httpx.Client) -> None:
    """A card without a fan has no fan speed, rather than zero."""
    text = http.get("/metrics").text
    assert 'gpuboard_gpu_memory_total_bytes{node="dgx-01",gpu="0"' in text
    assert "gpuboard_gpu_fan_ratio" not in text


def test_existing_dashboards_find_their_names(http: httpx.Client) -> None:
    """dcgm-exporter's names and labels, where asked for."""
    text = http.get("/metrics").text
    assert 'DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="GPU-' in text
    assert 'modelName="NVIDIA H100 80GB HBM3"' in text


def test_before_the_first_sample_it_says_so() -> None:
    """Alive, but nothing to tell yet."""
    outlet = ListenOutlet(options())
    assert outlet.answer("/report", "")[0] == 503
    assert outlet.answer("/healthz", "")[0] == 200


def test_connections_that_ask_nothing_do_not_keep_the_board_out(agent: ListenOutlet) -> None:
    """Many, of one address and of many, each with a byte now and then: whoever has the token is answered."""
    with contextlib.ExitStack() as stack:
        slow = [
            stack.enter_context(socket.create_connection(("127.0.0.1", agent.port), source_address=(host, 0)))
            for host in [*["127.0.0.1"] * 40, *[f"127.0.0.{n}" for n in range(2, 42)]]
        ]
        for _ in range(3):
            for connection in slow:
                with contextlib.suppress(OSError):
                    connection.sendall(b"G")
            assert httpx.get(f"http://127.0.0.1:{agent.port}/healthz", headers=SHOWN).status_code == 200
        assert len(agent.connections) <= MAX_CONNECTIONS


def test_whoever_has_shown_the_token_is_not_cut_for_others(agent: ListenOutlet, http: httpx.Client) -> None:
    """The board's own connection goes on, on the same line."""
    http.get("/healthz")
    (kept,) = agent.connections
    with contextlib.ExitStack() as stack:
        for _ in range(2 * MAX_OF_ONE_PEER):
            stack.enter_context(socket.create_connection(("127.0.0.1", agent.port)))
        http.get("/healthz")
        assert kept in agent.connections


@pytest.mark.parametrize("is_tls", [False, True])
def test_a_request_that_is_never_whole_ends_at_its_deadline(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *, is_tls: bool
) -> None:
    """A byte now and then does not buy more time; not in the handshake of TLS either."""
    monkeypatch.setattr(connections, "REQUEST_SECONDS", 0.5)
    certificate, key = Authority(tmp_path).certificate("127.0.0.1")
    tls = {"tls_certificate": str(certificate), "tls_key": str(key)} if is_tls else {}
    outlet = ListenOutlet(options(**tls))
    outlet.start()
    with socket.create_connection(("127.0.0.1", outlet.port), timeout=20) as slow:
        ends = time.monotonic() + 60
        said = itertools.chain([b"\x16\x03\x01\x02\x00"] if is_tls else [], itertools.repeat(b"G"))
        with contextlib.suppress(OSError):
            while time.monotonic() < ends:
                # The first bytes of a hello that says to be long, or of a request.
                slow.sendall(next(said))
                slow.settimeout(0.1)
                with contextlib.suppress(TimeoutError):
                    assert slow.recv(1) == b""
                    break
        assert time.monotonic() < ends
    eventually(lambda: len(outlet.connections) == 0)
    outlet.stop()


def test_an_address_in_use_is_said_in_words(agent: ListenOutlet) -> None:
    """With the address."""
    with pytest.raises(UsageError, match=f"127.0.0.1:{agent.port}"):
        ListenOutlet(options(port=agent.port)).start()  # type: ignore[arg-type] # a port is a number


def test_tls_works_with_an_own_authority(tmp_path: Path) -> None:
    """From files."""
    require("openssl")
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
         "-keyout", key, "-out", certificate, "-days", "2", "-subj", "/CN=test",
         "-addext", "subjectAltName=IP:127.0.0.1"],
        check=True, capture_output=True,
    )  # fmt: skip
    outlet = ListenOutlet(options(tls_certificate=str(certificate), tls_key=str(key)))
    outlet.start()
    outlet.offer(TimedReport(REPORT, 0.0))
    trust = ssl.create_default_context(cafile=certificate)
    answer = httpx.get(
        f"https://127.0.0.1:{outlet.port}/report", headers={"authorization": f"Bearer {TOKEN}"}, verify=trust
    )
    outlet.stop()
    assert decode_report(answer.content).node == "dgx-01"


def test_a_renewed_certificate_is_shown_and_a_broken_one_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Certificates end every few weeks, and nobody restarts agents for that."""
    monkeypatch.setattr(certificate_module, "RENEWAL_SECONDS", 0.0)
    authority = Authority(tmp_path)
    certificate, key = authority.certificate("127.0.0.1")
    outlet = ListenOutlet(options(tls_certificate=str(certificate), tls_key=str(key)))
    outlet.start()
    shown = [_certificate_of(outlet.port)]
    (tmp_path / "new").mkdir()
    renewed, its_key = Authority(tmp_path / "new").certificate("127.0.0.1")
    key.write_bytes(its_key.read_bytes())
    certificate.write_bytes(renewed.read_bytes())
    shown.append(_certificate_of(outlet.port))
    certificate.write_text("none")
    shown.append(_certificate_of(outlet.port))
    outlet.stop()
    assert shown[0] != shown[1] == shown[2]
    assert "certificate not renewed: reason=--tls-certificate" in caplog.text


def test_an_agent_says_that_its_certificate_has_expired(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The board will not believe it; who looks for why looks here."""
    certificate, key = Authority(tmp_path).certificate("127.0.0.1", begins=dt.timedelta(days=-30))
    outlet = ListenOutlet(options(tls_certificate=str(certificate), tls_key=str(key)))
    outlet.start()
    outlet.stop()
    assert f"certificate: {certificate} expired on " in caplog.text


def _certificate_of(port: int) -> str:
    return ssl.get_server_certificate(("127.0.0.1", port), timeout=10)


def test_the_token_file_is_made_for_its_owner_only(tmp_path: Path) -> None:
    """And read back the next time."""
    path = tmp_path / "new" / "agent.token"
    token = read_or_create_token(path)
    assert (read_or_create_token(path), path.stat().st_mode & 0o777) == (token, 0o600)


def test_a_token_file_is_whole_as_soon_as_it_is_there(tmp_path: Path) -> None:
    """Whoever waits for it to copy it would copy an empty one, and the board would send nothing for ever."""
    paths = [tmp_path / str(number) / "agent.token" for number in range(100)]
    seen = []

    def copy_each() -> None:
        for path in paths:
            while not path.exists():
                pass
            seen.append(path.read_text().strip())

    copying = threading.Thread(target=copy_each)
    copying.start()
    made = [read_or_create_token(path) for path in paths]
    copying.join()
    assert seen == made
    assert sorted(file for file in tmp_path.rglob("*") if file.is_file()) == sorted(paths)


def test_of_two_agents_that_begin_at_once_both_take_one_token(tmp_path: Path) -> None:
    """Else one of them would refuse whoever shows what is in the file."""
    path = tmp_path / "agent.token"
    with ThreadPoolExecutor(8) as pool:
        taken = set(pool.map(lambda _: read_or_create_token(path), range(8)))
    assert taken == {path.read_text().strip()}


def test_a_token_file_that_others_can_read_is_refused(tmp_path: Path) -> None:
    """It would be no secret."""
    path = tmp_path / "agent.token"
    path.write_text(TOKEN)
    path.chmod(0o644)
    with pytest.raises(UsageError, match="chmod 600"):
        read_or_create_token(path)


def test_an_empty_token_file_is_refused(tmp_path: Path) -> None:
    """An empty token would let everybody in."""
    path = tmp_path / "agent.token"
    path.touch(0o600)
    with pytest.raises(UsageError, match="no usable token"):
        read_or_create_token(path)
