"""The conformance kit: is what an accelerator says of itself true, and does asking do no harm?

``kit`` runs every criterion, ``probe`` is what child processes run for it, ``report`` writes the
result for people to publish, ``pytest_plugin`` makes each criterion a test.
"""
