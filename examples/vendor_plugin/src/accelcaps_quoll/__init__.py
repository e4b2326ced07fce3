"""What accelcaps knows about the made-up Quoll."""
