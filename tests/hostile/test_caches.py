"""Nothing is remembered of what nodes can write without a bound."""

import ast
import asyncio
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, cast

import pytest

import gpuboard
import gpuboard.verdict.judge
from gpuboard.model.report import MAX_GPUS
from gpuboard.outside import resolve
from gpuboard.outside.resolve import MAX_ADDRESSES, Resolver
from gpuboard.probes import user_names
from gpuboard.probes.nvidia_smi.probe import NvidiaSmiProbe
from gpuboard.probes.user_names import UserNames
from gpuboard.sources.ssh.changes.effects import Effect
from gpuboard.sources.ssh.changes.places import _SHARED_LETTERS, _SHARED_LINES, LinePlace, _is_modest
from gpuboard.sources.ssh.gate import Gate
from gpuboard.web import pages
from tests.web.test_unwritable import House

# The package has a function of the same name.
judging: Final = sys.modules["gpuboard.verdict.judge"]
SOURCE: Final = Path(gpuboard.__file__).parent
# Every cache that forgets only by count, with what bounds the size of an entry.
BOUNDED: Final = {
    "history/samples.py": "numbers of GPUs, of which a report has 256 at most",
    "model/names.py": "models are at most 256 characters",
    "model/node.py": "names of at most 253 characters",
    "storage/rows.py": "tables of our own",
    "sources/ssh/changes/places.py": "lines and letters of a plan are counted",
    "probes/nvidia_smi/values.py": "texts of at most 64 characters",
    "probes/simulated/jobs.py": "names of our own",
    "probes/simulated/node.py": "names of our own",
    "web/access.py": "addresses",
    "web/pages.py": "files of our own",
    "wire/clean.py": "types of our own",
}


# Every dict and set that lives as long as a part of the board or of an agent, with what keeps it small.
REMEMBERED: Final[dict[str, tuple[str, ...]]] = {
    "one entry for each node, gone when the node is forgotten": (
        "history/gathering.py Gatherer._turned",
        "history/hindsight.py Hindsight._grown",
        "history/hindsight.py Hindsight._learnt",
        "history/remembering.py Remembering._before",
        "fleet/candidates.py Candidates._nodes",
        "fleet/candidates.py Candidates._told",
        "fleet/changes.py ChangeTracker.nodes",
        "fleet/changes.py ChangeTracker._gpus_of",
        "fleet/changes.py ChangeTracker._judged",
        "fleet/identities.py Identities._uuids",
        "fleet/identities.py Identities._left",
        "fleet/identities.py _Shared.present",
        "fleet/identities.py _Shared.left",
        "fleet/roll_call.py RollCall.absent",
        "fleet/roll_call.py RollCall.short",
        "fleet/roll_call.py RollCall._told",
        "fleet/roll_call.py RollCall._waiting",
        "fleet/state.py Fleet._nodes",
        "fleet/state.py Fleet._touched",
        "fleet/state.py Fleet._changed",
        "fleet/state.py Fleet._gone",
        "history/covered.py Covered._spans",
        "history/gathering.py Gatherer._heard",
        "history/gathering.py Gatherer._present",
        "history/positions.py Positions._gone",
        "history/positions.py Positions._newest",
        "history/positions.py Positions._safe",
        "history/gathering.py Gatherer._steady",
        "history/recorder.py Recorder._alone",
        "history/recorder.py Recorder._late_of",
        "history/remembering.py Remembering._errors_since",
        "history/remembering.py Remembering._gone",
        "history/remembering.py Remembering._nodes",
        "history/events.py Events._heard",
        "history/events.py Events._open",
        "fleet/state.py Fleet._memories",
    ),
    "rows of the history, which takes 512 GPUs of a node in thirty days, and so many sets of people": (
        "history/embedded/names.py Names._crowds_of",
        "history/embedded/names.py Names._node_of",
        "history/embedded/names.py Names._people",
        "history/embedded/names.py Names._seen",
        "history/embedded/names.py Names._used_at",
        "history/embedded/names.py Names.crowds",
    ),
    "so many samples or bytes as its file says; the oldest go": (
        "history/embedded/recent.py RecentCache._found",
        "history/embedded/tail.py Tail._kept",
        "history/bounds.py Allowance._left",
        "history/bounds.py KnownCrowds._known",
    ),
    "one entry for each GPU that is shown, at most 256 of a node": (
        "fleet/changes.py ChangeTracker.gpus",
        "history/gathering.py Gatherer._looks",
        "history/gathering.py Gatherer._pasts",
        "history/episodes.py Episodes._open",
        "history/remembering.py _Known.gpus",
        "history/whereabouts.py Whereabouts._earlier",
        "history/whereabouts.py Whereabouts._here",
        "history/whereabouts.py Whereabouts._new",
        "history/whereabouts.py Whereabouts._rows",
        "history/whereabouts.py Whereabouts._strangers",
        "fleet/identities.py Identities._holders",
        "fleet/node.py Node.gpus",
        "fleet/node.py Node.memories",
        "fleet/node.py Node.names",
        "fleet/node.py Node.renumbered",
        "fleet/node.py Node.ecc_since",
    ),
    "rows of nodes and GPUs that are shown and cannot be written": ("web/unwritable.py Unwritable._why",),
    "made anew for every tick, look, sample or answer": (
        "history/embedded/sums.py Crowds._people",
        "history/embedded/memory_shares.py MemoryShares._people",
        "agent/sampler.py Sampler._first_seen",
        "fleet/changes.py _Rows.before",
        "outside/answer.py AnswerReader._headers",
        "probes/nvidia_smi/document.py Record.texts",
        "probes/nvidia_smi/values.py DeviceTexts.silent",
        "probes/nvml.py _Round.left_out",
        "probes/nvml.py _Round.silent",
        "probes/nvml_device.py DeviceReader._failures",
        "probes/processes.py ProcessReader._known",
        "probes/processes.py ProcessReader._last",
        "sources/folder/room.py Room._of",
        "sources/folder/shares.py Shares._owners",
        "sources/folder/source.py FolderSource._nodes",
        "sources/folder/turns.py Turns._due",
        "sources/pull/gpu_monitor.py GpuMonitorProtocol._paths",
        "sources/ssh/changes/body.py Body._later",
        "sources/ssh/report.py NodeReader._processes",
        "web/answers.py Answers._made",
    ),
    "the file of bookings, at most 1 MiB": (
        "fleet/booked_numbers.py BookedNumbers._met",
        "fleet/booked_numbers.py BookedNumbers._lacking",
        "fleet/claims.py ClaimBook._given",
        "fleet/claims.py ClaimBook._pages",
        "fleet/claims.py ClaimBook._numbers",
        "fleet/claims.py ClaimBook._by_short",
    ),
    "rows of a table, as many as what is kept there": ("storage/writer.py ChangeWriter._written",),
    "invented nodes of a demo, as many as were asked for": (
        "assembly/demo_history.py DemoPast._jobs",
        "assembly/demo_history.py DemoPast._node_of",
    ),
    "those who give claims, of whom there are four": ("fleet/claims.py ClaimBook._awaited",),
    "files of one node that the last look found, of which a look has only so many": (
        "sources/folder/rivals.py Rivals._changes",
        "sources/folder/rivals.py Rivals._stamps",
    ),
    "settings of the administrator": (
        "assembly/accounts.py AccountSide._counted",
        "assembly/accounts.py AccountSide._people",
        "assembly/storage.py BoardStorage._writers",
        "fleet/claims.py ClaimBook._called",
        "fleet/groups.py NodeGroups._listed",
        "fleet/state.py Fleet._sinks",
        "sources/ssh/known_hosts.py KnownHosts._read",
        "web/stream.py Broadcaster._here",
    ),
    "nodes that the administrator has given tokens": (
        "accounts/roster.py Roster._by_node",
        "accounts/roster.py Roster._used_at",
        "accounts/roster.py Roster._requested",
        "accounts/roster.py Roster._noted",
        "sources/ledger.py CountingLedger.live",
        "sources/ledger.py CountingLedger.backfilled",
        "sources/ledger.py CountingLedger._taken",
        "sources/push/source.py PushSource._voices",
        "web/agents.py AgentDoor._lines",
        "web/agents.py AgentDoor._paces",
        "web/agents.py AgentDoor._replaced_at",
        "web/agents.py AgentDoor._closing",
    ),
    "nodes that a list of hosts names now": (
        "discovery/grace.py Grace._named",
        "sources/node_tasks.py NodeTasks._tasks",
        "sources/reported_names.py ReportedNames._groups",
        "sources/reported_names.py ReportedNames._listed",
        "sources/reported_names.py ReportedNames._shown",
        "sources/reported_names.py ReportedNames._settled",
    ),
    "rows of the board's tables of people and bookings, which have limits of their own": (
        "accounts/view.py AccountView._removals",
        "accounts/view.py AccountView.groups",
        "assembly/accounts.py AccountSide._members",
        "accounts/view.py AccountView._people",
        "accounts/view.py AccountView._session_ids",
        "accounts/view.py AccountView._sessions",
        "accounts/view.py AccountView._sessions_used",
        "accounts/view.py AccountView._token_ids",
        "accounts/view.py AccountView._tokens",
        "accounts/view.py AccountView._tokens_used",
        "bookings/desk.py BookingDesk._known",
        "bookings/watching.py BookingWatch._newly_told",
        "bookings/watching.py BookingWatch._told",
        "bookings/watching.py BookingWatch._uses",
    ),
    "connections and calls that are under way, which have limits of their own": (
        "history/questions.py _AT_WORK",
        "outside/peer_socket.py PeerSocket._here",
        "web/past.py PastPace._reading",
        "web/past.py PastPace._under_way",
        "outside/threads.py Workers._under_way",
        "sources/ssh/gate.py Gate._hosts",
        "sources/ssh/gate.py Gate._here",
        "web/deadline.py _rooms",
        "web/deadline_tls.py TlsListener._arriving",
        "web/direct.py _rounds",
        "web/direct.py _Round._sockets",
        "web/room.py Room._here",
        "web/room.py Room._waiting",
        "web/room.py Room._of_one",
        "web/room.py Room._untaken",
        "web/stream.py Broadcaster._viewers",
        "web/throttle.py AddressCount._here",
    ),
    "devices of this machine, as its own driver names them": (
        "agent/sampler.py Sampler._last",
        "probes/inventory.py Inventory._known",
        "probes/nvml.py NvmlProbe._uuids",
        "probes/nvml.py NvmlProbe._links",
    ),
    "nothing is ever put into it": ("fleet/changes.py _NONE", "history/rewind.py _NO_HOST"),
    "at most 4096 reasons, with at most four names of at most 32 characters": (
        "verdict/judge.py _remembered",
    ),
    "a number of entries beside it in the code; the oldest go": (
        "accounts/guesses.py _Buckets._kept",
        "accounts/ways/oidc.py OidcWay._pending",
        "cli/logs.py SameKindLimit._kinds",
        "fleet/activity.py GpuMemory._filled",
        "fleet/devices.py ShownDevices.places",
        "history/embedded/names.py Names._side_by_side",
        "history/whereabouts.py Whereabouts._passing",
        "outside/resolve.py Resolver._known",
        "outside/secrets.py SecretFolder._kept",
        "outside/seldom.py SeldomLog._said",
        "probes/nvidia_smi/probe.py NvidiaSmiProbe._seen",
        "probes/user_names.py UserNames._known",
        "sources/folder/marks.py FolderMarks._marks",
        "sources/folder/owners.py Owners._folders",
        "sources/folder/owners.py Owners._gone",
        "sources/folder/owners.py Owners._forgotten",
        "sources/folder/pace.py Track._highest",
        "sources/folder/reader.py FolderReader._memory",
        "sources/folder/source.py FolderSource._skipped",
        "web/room.py _Reserve.known",
        "web/throttle.py RateLimit._paces",
        "web/throttle.py FailureLimit._paces",
        "web/throttle.py FailureLimit._blocked",
    ),
}
GROWING: Final = frozenset(
    {"dict", "set", "defaultdict", "OrderedDict", "Counter", "WeakKeyDictionary", "WeakValueDictionary"}
)


def can_grow(value: ast.expr | None) -> bool:
    """Whether an expression begins something to which entries are added later."""
    match value:
        case ast.Dict(keys=[]):
            return True
        case ast.Call(func=ast.Name(id=name) | ast.Subscript(value=ast.Name(id=name))):
            return name in GROWING
        case ast.IfExp(body=one, orelse=other):
            return can_grow(one) or can_grow(other)
        case ast.BoolOp(values=values):
            return any(map(can_grow, values))
    return False


def begun_in(body: Iterable[ast.AST]) -> Iterator[str]:
    """What is given something that can grow."""
    for statement in body:
        match statement:
            case ast.Assign(targets=[target], value=value) if can_grow(value):
                yield ast.unparse(target)
            case ast.AnnAssign(target=target, value=value) if can_grow(value):
                yield ast.unparse(target)


def remembered_in(path: Path) -> Iterator[str]:
    """What a file keeps in its module and in its objects: as `web/room.py Room._here`."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    file = path.relative_to(SOURCE).as_posix()
    yield from (f"{file} {name}" for name in begun_in(tree.body))
    for kind in [found for found in ast.walk(tree) if isinstance(found, ast.ClassDef)]:
        for method in kind.body:
            if isinstance(method, ast.FunctionDef) and method.name == "__init__":
                names = (name for name in begun_in(ast.walk(method)) if name.startswith("self."))
                yield from (f"{file} {kind.name}.{name.removeprefix('self.')}" for name in names)


def test_everything_that_is_remembered_has_a_bound() -> None:
    """A new dict says here what keeps it small; one that is gone, or has another name, does so no more."""
    found = Counter(name for path in SOURCE.rglob("*.py") for name in remembered_in(path))
    listed = Counter(name for names in REMEMBERED.values() for name in names)
    assert sorted((found - listed).elements()) == []
    assert sorted((listed - found).elements()) == []


def test_a_node_that_names_other_gpus_each_time_is_not_remembered_for_ever() -> None:
    """Over ssh its driver's document is whatever the node sends."""
    round_ = iter(range(1000))

    def answer(_command: Sequence[str]) -> bytes:
        gpus = "".join(
            f'<gpu id="00000000:{number:02X}:00.0"><uuid>GPU-{name}-{number}</uuid></gpu>'
            for name in [next(round_)]
            for number in range(64)
        )
        return f"<nvidia_smi_log><driver_version>1</driver_version>{gpus}</nvidia_smi_log>".encode()

    probe = NvidiaSmiProbe(run=answer)
    told = [len(probe.read().gpus) for _ in range(12)]
    assert max(told) <= MAX_GPUS
    assert len(probe._seen) <= MAX_GPUS


async def test_names_of_hosts_are_not_remembered_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """A list from outside may have other names each minute, and a name as many addresses as it likes."""
    monkeypatch.setattr(resolve, "MAX_KNOWN", 10)
    resolver = Resolver(lambda _host: ["192.0.2.1"] * 1000)
    for number in range(30):
        assert len(await resolver.addresses(f"host{number}")) == MAX_ADDRESSES
    assert list(resolver._known) == [f"host{number}" for number in range(20, 30)]


async def test_a_gate_knows_only_hosts_at_which_somebody_logs_in() -> None:
    """And lets no more in at once for that."""
    gate = Gate(100, per_host=1)
    for number in range(30):
        async with gate.pass_through(f"host{number}", 22):
            assert list(gate._hosts) == [(f"host{number}", 22)]
    async with gate.pass_through("a", 22):
        second = asyncio.create_task(_pass(gate, "a"))
        await asyncio.sleep(0)
        assert (second.done(), gate._here["a", 22]) == (False, 2)
    await second
    assert (gate._hosts, gate._here) == ({}, {})


async def _pass(gate: Gate, host: str) -> None:
    async with gate.pass_through(host, 22):
        pass


def test_numbers_of_users_are_not_remembered_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """Containers make up ever new ones."""
    monkeypatch.setattr(user_names, "MAX_KNOWN", 10)
    names = UserNames(lambda uid: f"user{uid}")
    assert [names.name(uid) for uid in range(30)] == [f"user{uid}" for uid in range(30)]
    assert list(names._known) == list(range(20, 30))


def test_every_cache_has_a_bound_in_bytes() -> None:
    """A new one says here what keeps its entries small."""
    found = {
        str(path.relative_to(SOURCE))
        for path in SOURCE.rglob("*.py")
        if re.search(
            r"^ *@(?:functools\.)?(?:lru_)?cache\b|= (?:functools\.)?(?:lru_)?cache\(",
            path.read_text(encoding="utf-8"),
            re.MULTILINE,
        )
    }
    assert found == BOUNDED.keys()


def test_reasons_are_remembered_up_to_a_number_and_only_with_short_names() -> None:
    """Whoever is on a GPU may be called anything, and another thing in every report."""
    for number in range(2 * judging._REMEMBERED):
        judging._shared(judging._present, number, ("ana",))
        judging._shared(judging._present, number, ("x" * 33,))
        judging._shared(judging._present, number, ("a", "b", "c", "d", "e"))
        assert len(judging._remembered) <= judging._REMEMBERED
    assert {users for _, _, users in judging._remembered} == {("ana",)}


def test_a_document_of_a_size_that_no_driver_writes_is_not_kept_for_others() -> None:
    """Each node chooses its lines, and how far they are indented."""
    line = LinePlace(start=" " * 100, device=0, process=None, effect=cast("Effect", None))
    assert _is_modest((line,) * 2000)
    assert not _is_modest((None,) * (_SHARED_LINES + 1))
    assert not _is_modest((line,) * (_SHARED_LETTERS // 100 + 1))


def test_paths_that_visitors_write_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither those that lead to our files by a detour, nor those of pages far below the top."""
    monkeypatch.setattr(pages, "_FILES", {"index.html": b"<html></html>", "favicon.svg": b"<svg/>"})
    kept = (pages._compress, pages._digest_of_file)
    for cache in kept:
        cache.cache_clear()
    detours = [f"/assets/{'x/%2e%2e/' * depth}%2e%2e/favicon.svg" for depth in range(20)]
    deep = [f"/nodes{'/x' * depth}" for depth in range(1, 20)]
    answers = House().get(*detours, *deep)
    assert [answer.status_code for answer in answers] == [404] * len(detours) + [200] * len(deep)
    assert [cache.cache_info().currsize for cache in kept] == [0, 0]
