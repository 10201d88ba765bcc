"""Behind a proxy that signs people in itself, and says in a header whom it has let through."""

from collections.abc import Callable

from gpuboard.accounts.records import Vouched
from gpuboard.accounts.ways.base import ProxyEvidence, person_behind, somebodys_name
from gpuboard.model.errors import AccessRefused
from gpuboard.model.identity import WayKind
from gpuboard.settings.access import AccessTable
from gpuboard.wire.clean import hides_something
from gpuboard.wire.people import WayCard


class ProxyWay:
    """Believes the header of a proxy; whoever hands it over has made sure that it is a listed one."""

    kind: WayKind = "proxy"

    def __init__(self, access: Callable[[], AccessTable], person_of: Callable[[str], str]) -> None:
        self._access = access
        self._person_of = person_of

    def card(self) -> WayCard | None:
        """To come in by the proxy is to load the page again."""
        is_on = bool(self._access().proxy_header)
        return WayCard(kind="proxy", label="Single sign-on", href="./") if is_on else None

    async def recognise(self, evidence: ProxyEvidence) -> Vouched:
        """Who this is.

        Raises:
            AccessRefused: the header names nobody.
        """
        name = somebodys_name(evidence.value)
        # With a comma there were two values, and one of them may be the visitor's own. What nobody sees would
        # make another person of the same name.
        if name is None or "," in name or hides_something(evidence.value.strip()):
            raise AccessRefused("the proxy's header names nobody")
        return Vouched(person=person_behind(self._person_of, name), way="proxy")
