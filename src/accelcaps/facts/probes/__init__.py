"""What runs in the child process: one module for each runtime that is asked."""
