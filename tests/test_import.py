"""Importing accelcaps, and asking, leaves no trace in the caller's process."""

from __future__ import annotations

import json

WATCH = """
import json, sys
seen = []
def hook(event, args):
    if event in ("subprocess.Popen", "os.fork", "os.exec", "os.posix_spawn", "os.system"):
        seen.append([event, str(args[0])])
    if event == "open" and isinstance(args[1], str) and set(args[1]) & set("wax+"):
        seen.append([event, str(args[0])])
    if event == "ctypes.dlopen":
        seen.append([event, str(args[0])])
sys.dont_write_bytecode = True
sys.addaudithook(hook)
"""


def test_importing_starts_nothing_and_imports_no_framework(python):
    """Invariant 1, watched by the interpreter's own audit events."""
    code = WATCH + (
        "import accelcaps, accelcaps.features\n"
        "heavy = {'torch', 'deepspeed', 'rich', 'archspec', 'pynvml', 'numpy', 'fastjsonschema'}\n"
        "print(json.dumps([seen, sorted(heavy & set(sys.modules))]))"
    )

    done = python(code)

    assert json.loads(done.stdout) == [[], []], done.stderr


def test_every_public_name_is_there(python):
    code = (
        "import accelcaps\n"
        "missing = [n for n in accelcaps.__all__ if getattr(accelcaps, n, None) is None]\n"
        "print(missing, dir(accelcaps) == sorted(accelcaps.__all__))"
    )

    assert python(code).stdout.strip() == "[] True"


def test_an_unknown_attribute_is_an_attribute_error(python):
    done = python("import accelcaps; accelcaps.nonsense")

    assert "AttributeError: module 'accelcaps' has no attribute 'nonsense'" in done.stderr


def test_asking_a_written_machine_starts_nothing(python):
    """Recorded facts are judged by pure rules alone."""
    code = WATCH + (
        "import accelcaps\n"
        "facts = accelcaps.Facts({'cpu': {'flags': ['avx2']}, 'torch': {'version': '2.13.0'}})\n"
        "acc = accelcaps.get_accelerator('cpu', facts)\n"
        "acc.features()\n"
        "print(json.dumps([seen, 'torch' in sys.modules]))"
    )

    assert json.loads(python(code).stdout) == [[], False]
