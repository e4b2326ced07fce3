"""Exercise features on the device, and compare with a reference: the source of *verified*.

``catalog`` lists the checks, ``runner`` runs them in child processes, ``evidence`` joins what
happened with what was claimed; ``running`` is what the children run.
"""
