"""The room of connections: who goes when it is full, whatever they do, and who is let in all the same."""

from gpuboard.web.limits import MAX_REMEMBERED
from gpuboard.web.room import Room

MIB = 1024**2


class Guest:
    """A connection that notes why it was cut."""

    reason: str | None = None

    def cut(self, reason: str) -> None:
        """End it."""
        self.reason = reason


def come(room: Room, address: str, count: int, *, works: bool = True) -> list[Guest]:
    """Let so many connections of an address in; they are being answered."""
    guests = [Guest() for _ in range(count)]
    for guest in guests:
        assert room.enter(guest, address)
        if works:
            room.work(guest)
    return guests


def cut(guests: list[Guest]) -> list[int]:
    """Which of them were cut."""
    return [number for number, guest in enumerate(guests) if guest.reason]


def test_addresses_that_are_never_idle_make_room_for_others() -> None:
    """The one with most connections loses its oldest; nobody is refused while somebody has more."""
    room = Room(most=10, most_of_one=5)
    first, second = come(room, "192.0.2.1", 4), come(room, "192.0.2.2", 6 - 1)
    come(room, "192.0.2.3", 1)
    assert room.enter(Guest(), "192.0.2.4")
    assert (cut(first), cut(second)) == ([], [0])


def test_who_has_as_many_as_others_does_not_push_them_out() -> None:
    """Else a thousand addresses would end each other's answers for ever."""
    room = Room(most=3)
    guests = [guest for end in (1, 2, 3) for guest in come(room, f"192.0.2.{end}", 1)]
    assert not room.enter(Guest(), "192.0.2.4")
    assert cut(guests) == []


def test_connections_of_a_proxy_are_not_taken_for_one_hoarder() -> None:
    """It brings those of many."""
    room = Room(most=3)
    guests = come(room, "127.0.0.1", 3)
    assert not room.enter(Guest(), "192.0.2.4")
    assert cut(guests) == []


def test_an_agents_address_has_room_that_visitors_cannot_fill() -> None:
    """However many addresses they have; the reserve has an end, too."""
    room = Room(most=3, reserve=2)
    room.note_agent("192.0.2.9")
    for end in (1, 2, 3):
        come(room, f"192.0.2.{end}", 1)
    agents = [Guest() for _ in range(3)]
    let_in = []
    for agent in agents:
        let_in.append(room.enter(agent, "192.0.2.9"))
        room.work(agent)
    assert let_in == [True, True, False]
    assert not room.enter(Guest(), "192.0.2.8")
    assert cut(agents) == []


def test_visitors_do_not_take_the_places_of_agents_that_wait() -> None:
    """Nor fill the reserve one by one; agents make room for agents."""
    room = Room(most=2, reserve=2)
    room.note_agent("192.0.2.9")
    agents = come(room, "192.0.2.9", 2, works=False)
    visitors = [guest for end in (1, 2) for guest in come(room, f"192.0.2.{end}", 1)]
    assert not room.enter(Guest(), "192.0.2.8")
    assert room.enter(Guest(), "192.0.2.9")
    assert (cut(agents), cut(visitors)) == ([0], [])


def test_people_who_are_signed_in_have_room_that_visitors_cannot_fill() -> None:
    """Nor do they take that of agents."""
    room = Room(most=2, reserve=1, people_reserve=1)
    room.note_person("192.0.2.7")
    room.note_agent("192.0.2.9")
    for end in (1, 2):
        come(room, f"192.0.2.{end}", 1)
    come(room, "192.0.2.7", 1)
    assert not room.enter(Guest(), "192.0.2.7")
    assert room.enter(Guest(), "192.0.2.9")
    assert not room.enter(Guest(), "192.0.2.8")


def test_addresses_of_agents_are_remembered_up_to_a_number() -> None:
    """A stolen token from a thousand networks takes no memory."""
    room = Room()
    for number in range(MAX_REMEMBERED + 10):
        room.note_agent(f"10.0.{number // 256}.{number % 256}")
    assert len(room._agents.known) == MAX_REMEMBERED


def test_many_addresses_that_take_little_do_not_keep_the_bytes_from_others() -> None:
    """Each holds less than whoever comes, but has done so for a minute."""
    room = Room()
    hoarders = [
        guest
        for end in range(1, 129)
        for guest in come(room, f"192.0.2.{end}", 1)
        if room.hold(guest, MIB, 0)
    ]
    (honest,) = come(room, "198.51.100.1", 1)
    assert room.hold(honest, 3 * MIB, 60)
    assert honest.reason is None
    assert len(cut(hoarders)) == 3


def test_one_address_that_holds_too_much_loses_what_it_has_held_longest() -> None:
    """And nobody else loses anything."""
    room = Room()
    (other,) = come(room, "198.51.100.1", 1)
    room.hold(other, 30 * MIB, 0)
    own = come(room, "192.0.2.1", 5)
    for number, guest in enumerate(own):
        room.hold(guest, 10 * MIB, number + 1)
    assert (cut(own), other.reason) == ([0, 1], None)
    assert own[0].reason == "too much waits to be taken"


def test_who_has_taken_everything_holds_nothing() -> None:
    """Its next answer is as young as anybody's."""
    room = Room()
    first, second = come(room, "192.0.2.1", 2)
    room.hold(first, 20 * MIB, 0)
    room.hold(first, 0, 50)
    room.hold(second, 20 * MIB, 55)
    room.hold(first, 20 * MIB, 60)
    assert (first.reason, second.reason) == (None, "too much waits to be taken")
