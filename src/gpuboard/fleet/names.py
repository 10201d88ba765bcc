"""What the admin wants things to be called."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Literal

from msgspec import Struct
from msgspec.structs import force_setattr, replace

from gpuboard.model.names import short_model, without_profile
from gpuboard.model.node import spoken
from gpuboard.model.report import GpuReading
from gpuboard.model.verdict import Claim


class Names(Struct, frozen=True, kw_only=True):
    """What the admin wants things to be called."""

    # By the node's own name.
    nodes: Mapping[str, str] = {}
    models: Mapping[str, str] = {}
    # By account, in lower case: nobody writes his own name one way only.
    people: Mapping[str, str] = {}
    # Whether one account is one person on all nodes, or one on each, written `ana@gpu01`.
    realm: Literal["all", "node"] = "all"

    def __post_init__(self) -> None:
        people = {account.casefold(): person for account, person in self.people.items()}
        force_setattr(self, "people", people)
        force_setattr(
            self, "nodes", {spoken(node): name for node, name in self.nodes.items() if name.strip()}
        )

    def node(self, name: str) -> str | None:
        """What people call a node, where the admin says so."""
        return self.nodes.get(name)

    def nodes_called(self, asked: str) -> Iterator[str]:
        """The nodes that people call so, by their own names."""
        return (node for node, name in self.nodes.items() if spoken(name) == asked)

    def model(self, reading: GpuReading) -> str | None:
        """The short name of a GPU's model, with its MIG profile: once, also where the driver has both."""
        if reading.model is None:
            return reading.mig_profile
        name = self.models.get(reading.model) if self.models else None
        if not reading.mig_profile:
            return name or short_model(reading.model)
        if name is not None and reading.mig_profile.casefold() in name.casefold():
            return name
        name = name or short_model(without_profile(reading.model))
        return f"{name} {reading.mig_profile}".strip()

    def in_claim(self, claim: Claim) -> Claim:
        """A claim by people, whatever account it was made with."""
        behind = tuple(self.in_claim(one) for one in claim.behind)
        return replace(claim, who=self.person(claim.who), behind=behind) if self.people else claim

    def person(self, account: str) -> str:
        """The person behind an account, whatever its case; the account itself where nothing is said of it."""
        return self.people.get(account.casefold(), account) if self.people else account

    def person_on(self, node: str) -> Callable[[str], str] | None:
        """What says who is behind an account of a node; None: every account is its own person."""
        if self.realm == "node":
            return partial(self._person_of_node, node)
        return self.person if self.people else None

    def _person_of_node(self, node: str, account: str) -> str:
        # Root is nobody in particular, anywhere.
        return account if account == "root" else self.person(f"{account}@{node}")
