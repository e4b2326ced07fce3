"""Exercise every feature of this machine's CPU, beside what DeepSpeed and torch say of the same.

``tools/truth.py`` writes it into docs/truth.md.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import accelcaps
from accelcaps import Evidence, Status, Verdict
from accelcaps.checks.catalog import exercisable
from accelcaps.checks.exercise import Exercise
from accelcaps.checks.runner import Runner

PEERS: Mapping[str, Mapping[str, str]] = {
    # feature → who → what to evaluate; only where it is asked what the feature asks, of a CPU
    "device.available": {
        "DeepSpeed": "acc.is_available()",
        "torch": "torch.cpu.is_available()",
    },
    "device.synchronous": {"DeepSpeed": "acc.is_synchronized_device()"},
    "device.host_timers": {"DeepSpeed": "acc.use_host_timers()"},
    "device.resolves_data_dependency": {"DeepSpeed": "acc.resolves_data_dependency()"},
    "device.handles_memory_backpressure": {"DeepSpeed": "acc.handles_memory_backpressure()"},
    "dtype.bf16": {
        "DeepSpeed": "torch.bfloat16 in acc.supported_dtypes()",
        "torch": "torch.cpu._is_avx512_bf16_supported()",
    },
    "dtype.fp16": {"DeepSpeed": "torch.float16 in acc.supported_dtypes()"},
    "dtype.fp32": {"DeepSpeed": "torch.float32 in acc.supported_dtypes()"},
    "dtype.int8": {"torch": "torch.cpu._is_vnni_supported()"},
    "dtype.tf32": {"torch": "torch.cpu._is_amx_fp16_supported()"},
    "dtype.bf16.autocast": {"torch": "torch.amp.is_autocast_available('cpu')"},
    "dtype.fp16.autocast": {"torch": "torch.amp.is_autocast_available('cpu')"},
    "deepspeed.bf16": {"DeepSpeed": "acc.is_bf16_supported()"},
    "deepspeed.fp16": {"DeepSpeed": "acc.is_fp16_supported()"},
    "runtime.streams": {
        "DeepSpeed": "acc.Stream is not None",
    },
    "runtime.events": {
        "DeepSpeed": "acc.Event is not None",
    },
    "runtime.graph_capture": {"DeepSpeed": "acc.create_graph() is not None"},
    "memory.pinned_host": {
        "DeepSpeed": "acc.is_pinned(acc.pin_memory(torch.ones(8)))",
        "torch": "torch.ones(8).pin_memory().is_pinned()",
    },
    "triton.usable": {
        "DeepSpeed": "acc.is_triton_supported()",
        "torch": "__import__('torch.utils._triton', fromlist=['x']).has_triton()",
    },
    "compile.inductor": {
        "DeepSpeed": "acc.get_compile_backend() == 'inductor'",
        "torch": "'inductor' in torch._dynamo.list_backends()",
    },
    "compile.torch_compile": {"torch": "torch._dynamo.is_dynamo_supported()"},
    "build.ninja": {
        "torch": "__import__('torch.utils.cpp_extension', fromlist=['x']).is_ninja_available()"
    },
    "comm.backend": {
        "DeepSpeed": "acc.communication_backend_name() == 'gloo'",
        "torch": "torch.distributed.is_gloo_available()",
    },
    "comm.coalescing": {
        "DeepSpeed": "__import__('deepspeed.comm.torch', fromlist=['x']).has_coalescing_manager()"
    },
    "launch.torchrun": {"torch": "torch.distributed.is_available()"},
    "compile.deepcompile": {
        "DeepSpeed": "__import__('deepspeed.compile.util', fromlist=['x']).is_deepcompile_supported()"
    },
}

_ASK = """
import json, sys, warnings
warnings.simplefilter("ignore")
import torch, torch._dynamo, deepspeed
from deepspeed.accelerator import get_accelerator
from deepspeed.ops.op_builder.all_ops import ALL_OPS
from deepspeed.ops.op_builder.builder import probe_is_compatible
acc = get_accelerator()
found = {}
for feature, asked in json.loads(sys.argv[1]).items():
    for who, expression in asked.items():
        try:
            answer = bool(eval(expression))
        except Exception as error:
            answer = f"raises {type(error).__name__}"
        found.setdefault(feature, {})[who] = answer
for name, builder in ALL_OPS.items():
    found.setdefault(f"op.{name}", {})["DeepSpeed"] = bool(probe_is_compatible(builder))
print("ANSWER", json.dumps(found))
"""


@dataclass(frozen=True)
class Row:
    """One feature: claimed, exercised, and what others say."""

    feature: str
    claim: Verdict
    verdict: Verdict
    done: Exercise | None
    peers: Mapping[str, Any]

    @property
    def verified(self) -> bool:
        """Whether exercising it decided it, rather than what it rests on."""
        return self.verdict.evidence is Evidence.VERIFIED and self.verdict.claimed is not None

    def peer_is_wrong(self, who: str) -> bool:
        """Whether another's answer differs from what happened; slow counts as either."""
        said = self.peers.get(who)
        if said is None or not self.verified or self.verdict.status is Status.DEGRADED:
            return False
        return bool(said is True) is not self.verdict.supported()


@dataclass(frozen=True)
class Truth:
    """Every row, and how long exercising took without and with builds, in seconds."""

    rows: list[Row]
    without_builds: float
    with_builds: float


def main() -> Truth:
    """Exercise everything; some ten minutes on two cores."""
    accelerator = accelcaps.get_accelerator("cpu")
    features = accelerator.features()
    claims = {feature: accelerator.claim(feature) for feature in features}
    checks = exercisable(accelerator)
    begun = time.monotonic()
    found = Runner(accelerator, follow=_tell).run(f for f in checks if not checks[f].builds)
    without = time.monotonic() - begun
    found |= Runner(accelerator, jobs=2, follow=_tell).run(f for f in checks if checks[f].builds)
    whole = time.monotonic() - begun
    accelerator.record(found.values())
    said = peers()
    rows = [
        Row(str(f), claims[f], accelerator.explain(f), found.get(f), said.get(str(f), {}))
        for f in features
    ]
    return Truth(rows, without, whole)


def peers() -> dict[str, dict[str, Any]]:
    """Return what DeepSpeed and torch answer, in a process of their own."""
    done = subprocess.run(
        [sys.executable, "-c", _ASK, json.dumps(PEERS)],
        env={**os.environ, "DS_ACCELERATOR": "cpu"},
        capture_output=True,
        text=True,
    )
    for line in done.stdout.splitlines():
        if line.startswith("ANSWER "):
            found: dict[str, dict[str, Any]] = json.loads(line.removeprefix("ANSWER "))
            return found
    raise RuntimeError(f"no answer:\n{done.stdout}\n{done.stderr}")


def _tell(_: str, done: Exercise | None) -> None:
    if done is not None:
        print(done, file=sys.stderr, flush=True)
