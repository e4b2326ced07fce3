"""Stand-ins for what cannot be had here: misbehaving runtimes, hardware, packages."""
