"""``python -m accelcaps``."""

from accelcaps.cli import run

run()
