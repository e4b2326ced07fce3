"""Report documents, and how they are shown."""
