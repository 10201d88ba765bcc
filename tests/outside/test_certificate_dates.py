"""When a certificate's dates are said to be wrong."""

import datetime as dt
import time
from pathlib import Path

import pytest

from gpuboard.outside.certificate_dates import Validity, find_expiry, validity_of_file
from tests.tls import Authority

BEGIN = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("days", "after", "stage"),
    [
        (365, 300, None),
        (365, 350.5, None),
        (365, 351.5, "soon"),
        (365, 365, "expired"),
        (365, -0.1, "early"),
        # Of short lives the last quarter, so that one which renews itself in time is never said.
        (8, 5.9, None),
        (8, 6.1, "soon"),
    ],
)
def test_the_end_is_said_two_weeks_before(days: float, after: float, stage: str | None) -> None:
    """Or later, if it lasts for days only."""
    validity = Validity(BEGIN, BEGIN + dt.timedelta(days=days))
    found = find_expiry(validity, (BEGIN + dt.timedelta(days=after)).timestamp())
    assert (found and found.stage) == stage


def test_the_first_certificate_of_a_file_counts(tmp_path: Path) -> None:
    """It is the server's own; those of its authorities follow, and a key may stand before it."""
    authority = Authority(tmp_path)
    certificate, key = authority.certificate("127.0.0.1", begins=dt.timedelta(days=-30))
    chain = tmp_path / "chain.pem"
    chain.write_bytes(key.read_bytes() + certificate.read_bytes() + authority.ca_file.read_bytes())
    validity = validity_of_file(str(chain))
    assert validity is not None
    assert (validity.ends - validity.begins) == dt.timedelta(days=1, hours=1)
    found = find_expiry(validity, time.time())
    assert found is not None
    assert found.stage == "expired"


def test_a_file_that_does_not_tell_is_no_expiry(tmp_path: Path) -> None:
    """Unknown is not expired."""
    nothing = tmp_path / "nothing.pem"
    nothing.write_text("-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n")
    for path in (nothing, tmp_path / "absent"):
        assert validity_of_file(str(path)) is None
    assert find_expiry(None, 0.0) is None
