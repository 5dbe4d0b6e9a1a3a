"""The tools are no part of the installed package: find them from the checkout's root."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))
