"""What all tests share."""

import os

from hypothesis import HealthCheck, settings

# A run at the desk should be quick; CI looks longer. Time limits are pytest's business, not Hypothesis's.
_PATIENT = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much)
settings.register_profile("desk", max_examples=100, deadline=None, suppress_health_check=_PATIENT)
settings.register_profile("ci", max_examples=2000, deadline=None, suppress_health_check=_PATIENT)
settings.load_profile("ci" if os.environ.get("CI") == "true" else "desk")
