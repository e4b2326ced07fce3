"""Measure what asking costs, side by side with the peers."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import timeit

_IMPORT = "import time; t = time.perf_counter(); {}; print('ANSWER', time.perf_counter() - t)"

_KNOWN = """
import json, timeit
import accelcaps
from accelcaps import features as F
import deepspeed
from deepspeed.accelerator import get_accelerator
ops = deepspeed.ops.__compatible_ops__
theirs = get_accelerator()
acc = accelcaps.get_accelerator("cpu")
name, feature, key = "dtype.bf16", F.DTYPE_BF16, "dtype.bf16"
d = {f: True for f in F.REGISTRY}
acc.supports(feature)
acc.explain(feature)
def cost(statement):
    best = min(timeit.repeat(statement, globals=globals(), number=200_000, repeat=9))
    return best / 200_000 * 1e9
print("ANSWER", json.dumps({
    "d[key]": cost("d[key]"),
    "3 × d[key]": cost("d[key]; d[key]; d[key]"),
    "3 × d[F.DTYPE_BF16]": cost("d[feature]; d[feature]; d[feature]"),
    "acc.supports(F.DTYPE_BF16)": cost("acc.supports(feature)"),
    "acc.supports('dtype.bf16')": cost("acc.supports(name)"),
    "acc.explain(F.DTYPE_BF16)": cost("acc.explain(feature)"),
    "deepspeed.ops.__compatible_ops__['cpu_adam']": cost("deepspeed.ops.__compatible_ops__['cpu_adam']"),
    "get_accelerator().is_fp16_supported()": cost("get_accelerator().is_fp16_supported()"),
}))
"""

_OPS = """
import json, time
t = time.perf_counter()
import accelcaps
acc = accelcaps.get_accelerator("cpu")
acc.explain("op.cpu_adam")
print("ANSWER", time.perf_counter() - t)
"""


def imports(repeat: int = 9) -> dict[str, float]:
    """Return the median seconds of importing each, in fresh interpreters, interleaved."""
    statements = {
        "nothing": "pass",
        "accelcaps": "import accelcaps",
        "accelcaps, and its vocabulary": "import accelcaps.features",
        "torch": "import torch",
        "deepspeed": "import deepspeed",
    }
    times: dict[str, list[float]] = {name: [] for name in statements}
    for turn in range(repeat):
        for name, statement in statements.items():
            if turn < 3 or name not in ("torch", "deepspeed"):
                times[name].append(float(_answer(_IMPORT.format(statement))))
    return {name: statistics.median(each) for name, each in times.items()}


def interpreter(repeat: int = 15) -> dict[str, float]:
    """Return the best wall seconds of a whole interpreter, bare and with accelcaps imported."""

    def whole(code: str) -> float:
        command = [sys.executable, "-c", code]
        return min(
            timeit.repeat(lambda: subprocess.run(command, check=True), number=1, repeat=repeat)
        )

    return {"bare": whole("pass"), "with accelcaps": whole("import accelcaps")}


def known_verdict() -> dict[str, float]:
    """Return the nanoseconds of asking again for what is known, beside the peers."""
    found: dict[str, float] = json.loads(_answer(_KNOWN))
    return found


def ops(repeat: int = 5) -> dict[str, float]:
    """Return the seconds to judge every op, beside importing DeepSpeed, in turns."""
    asked, imported = [], []
    for _ in range(repeat):
        imported.append(float(_answer(_IMPORT.format("import deepspeed"))))
        asked.append(float(_answer(_OPS)))
    return {
        "every op judged": statistics.median(asked),
        "import deepspeed": statistics.median(imported),
    }


def _answer(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    for line in done.stdout.splitlines():
        if line.startswith("ANSWER "):
            return line.removeprefix("ANSWER ")
    raise RuntimeError(f"no answer:\n{done.stdout}\n{done.stderr}")


if __name__ == "__main__":
    for part in (imports, interpreter, known_verdict, ops):
        print(part.__name__, json.dumps(part(), indent=1))
