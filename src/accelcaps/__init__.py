"""What an accelerator can really do, why not where it cannot, and what would change that."""
