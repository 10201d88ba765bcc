"""What the admin wants things to be called."""

from collections.abc import Mapping

from msgspec import Struct

from gpuboard.model.names import short_model
from gpuboard.model.report import GpuReading


class Names(Struct, frozen=True, kw_only=True):
    """What the admin wants things to be called."""

    nodes: Mapping[str, str] = {}
    models: Mapping[str, str] = {}
    people: Mapping[str, str] = {}

    def model(self, reading: GpuReading) -> str | None:
        """The short name of a GPU's model, with its MIG profile."""
        if reading.model is None:
            return reading.mig_profile
        name = self.models.get(reading.model) or short_model(reading.model)
        return f"{name} {reading.mig_profile}" if reading.mig_profile else name

    def person(self, user: str | None) -> str | None:
        """The alias of a user."""
        return None if user is None else self.people.get(user, user)
