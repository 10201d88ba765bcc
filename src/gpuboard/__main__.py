"""`python -m gpuboard`: the same as the `gpuboard` command."""

import sys

from gpuboard.cli import main

sys.exit(main())
