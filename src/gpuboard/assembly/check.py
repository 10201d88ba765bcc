"""Settings, checked as a starting board would, and nothing started."""

import socket

from gpuboard.assembly.tls import check_tls
from gpuboard.model.node import node_name_of
from gpuboard.settings.board import Settings
from gpuboard.sources.push import PushSource
from gpuboard.sources.push.ledger import CountingLedger
from gpuboard.sources.registry import Surroundings, make_source


def check_settings(settings: Settings) -> list[str]:
    """Make what the settings describe, and let go of it; the kinds of their sources.

    Raises:
        SettingsError: something is wrong; says what and where.
    """
    check_tls(settings.board)
    around = Surroundings(
        now=lambda: 0.0, node=node_name_of(socket.gethostname()), pushed=PushSource(CountingLedger())
    )
    return [make_source(table, around, where=where).kind for where, table in settings.sources]
