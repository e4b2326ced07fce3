"""What the child processes of checks run: the modules here import frameworks.

A module has ``EXERCISES``, feature → function. The function takes a
:class:`~accelcaps.checks.running.device.Device`, uses the feature, and returns what it measured.
It raises ``WrongResultError`` where the result disagrees with the reference, ``NotTriedError``
where it cannot be tried here, and whatever the framework raises where the feature does not work.
"""
