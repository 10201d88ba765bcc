"""What is remembered of the files of one node, from look to look."""

from gpuboard.model.report import Problem
from gpuboard.model.verdict import Reason
from gpuboard.sources.folder.listing import Bundle, Stamp
from gpuboard.sources.folder.pace import Marks, Track
from gpuboard.sources.folder.rivals import Rivals
from gpuboard.sources.folder.room import NOTHING


class RememberedFiles:
    """What is remembered of one node."""

    def __init__(self, marks: Marks | None) -> None:
        self.track = Track(marks)
        self.stamp: Stamp = ()
        self.name: str | None = None
        # Its files when they were last read.
        self.files: tuple[str, ...] = ()
        # Other files of the same user, and the one that is tried because it is livelier.
        self.rivals = Rivals()
        self.challenger: str | None = None
        # How much it tells, and whose it is; and how much it would tell if there were room for it.
        self.weight = NOTHING
        self.owner = 0
        self.too_much = NOTHING
        # Whether its files are a node's at all.
        self.is_node = False
        # Why its file cannot be read, and for how many looks that has been so.
        self.refusal: Reason | None = None
        self.bad_looks = 0
        self.was_read = False
        self.owner_change: Problem | None = None
        # Whether its file was seen to have changed but not read yet, and the last look before that.
        self.waits = False
        self.waits_since: float | None = None
        self.waited = 0
        # Whether the board has forgotten the node, and has to be told once more what its file says; and
        # whether that is the file that was read before.
        self.is_forgotten = False
        self.is_unchanged = False
        # What was said of other users' files beside it, and whether that has changed since.
        self.strangers: tuple[Problem, ...] = ()
        self.has_other_strangers = False
        # Whether the sample that was read last has been handed over; there may have been no room for it.
        self.is_handed_over = False

    @property
    def must_tell(self) -> bool:
        """Whether what its file says is told once more, even if it is what it said before."""
        return self.is_forgotten or self.has_other_strangers

    def see_strangers(self, found: tuple[Problem, ...]) -> None:
        """See which files of other users are beside the one that is read; of an unreadable one nothing is."""
        is_read = self.was_read and self.refusal is None
        self.has_other_strangers = is_read and found != self.strangers

    def livelier(self, chosen: Bundle, bundles: list[Bundle]) -> Bundle:
        """Another file of the same user, if that is written while the one that was chosen stands still."""
        own = {one.name: one for one in bundles if one.owner == chosen.owner}
        self.challenger = self.rivals.look(list(own.values()), self.name)
        return chosen if self.challenger is None else own[self.challenger]

    def forget(self) -> None:
        """Hear that the board has forgotten the node: what its file must fit, where it did not, too."""
        self.is_forgotten = True
        if self.refusal is not None:
            self.track = Track()
