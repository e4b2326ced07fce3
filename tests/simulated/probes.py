"""Probes that misbehave in every way."""

import ctypes
import os
import subprocess
import sys
import threading


def good(report, number):
    report("answer", number * 2)
    report("list", [1, None, "ü"])


def noisy(report):
    print('{"key": "answer", "value": 666}')
    print("noise on stdout")
    print("noise on stderr", file=sys.stderr)
    os.write(1, b"raw noise\n")
    report("answer", 1)


def raises(report):
    raise OSError("libfoo.so: cannot open shared object file")


def exits(report):
    sys.exit(3)


def exits_quietly(report):
    sys.exit(0)


def hard_exits(report):
    os._exit(7)


def segfaults(report):
    ctypes.string_at(0)


def aborts(report):
    print("last words", flush=True)
    os.abort()


def hangs(report):
    report("something slow")
    threading.Event().wait()


def hangs_with_a_child(report, place):
    child = subprocess.Popen([sys.executable, "-c", "import threading; threading.Event().wait()"])
    with open(place, "w") as out:
        out.write(str(child.pid))
    threading.Event().wait()


def spoils_the_answer(report):
    with open(sys.argv[-1], "a") as answer:
        answer.write("\x00 not json\n")


def answers_what_is_not_json(report):
    report("answer", object())


def half(report):
    report("first")
    report("first", 1)
    report("second")
    os._exit(1)
