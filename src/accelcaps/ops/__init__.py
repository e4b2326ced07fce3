"""Ops: the rule that judges any op builder, and the libraries that ops link with."""
