"""Suites named after the module they watch; each number stands beside those of the opponents."""

import sys
from pathlib import Path

# asv imports this package alone; the harness beside it (datasets, works, rotation, …) is found through the path.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
