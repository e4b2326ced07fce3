"""Hardware that nobody here owns, as data files: facts, each with its source."""

from accelcaps.profiles.profile import Profile, profile, profiles
from accelcaps.profiles.stack import Stack, read_stack

__all__ = ["Profile", "Stack", "profile", "profiles", "read_stack"]
