"""`gpuboard` with other limits than people have: so that tests need not wait for as long as they allow.

The limits are in the environment, as JSON: {"gpuboard.web.limits.TAKE_SECONDS": 2.0}
"""

import importlib
import json
import os
import sys

if __name__ == "__main__":
    for path, value in json.loads(os.environ["GPUBOARD_TEST_LIMITS"]).items():
        module, _, name = path.rpartition(".")
        # Before anybody else imports them.
        place = importlib.import_module(module)
        assert hasattr(place, name)
        setattr(place, name, value)
    from gpuboard.cli import main

    sys.exit(main())
