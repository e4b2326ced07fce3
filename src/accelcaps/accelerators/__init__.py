"""The accelerators: one file each, and how one is chosen."""
