"""Rows that many data sheets share, word for word: for devices that are not CUDA's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accelcaps import features as F
from accelcaps.accelerators.references import BACKENDS, ON_A_DEVICE, TORCH_INSTALLED
from accelcaps.rules import Finding, Rule, RuleLike, all_of, as_rule, fact, no, value_of, yes
from accelcaps.verdict import Code, Status

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accelcaps.feature import Feature

__all__ = [
    "CUDA_KERNELS",
    "FORK_SAFE",
    "NO_DEEPCOMPILE",
    "NO_MONITORED_BARRIER",
    "asynchronous",
    "deepspeeds_word",
    "no_other_toolkits",
    "own_backend",
    "peer_access",
]

FORK_SAFE: Mapping[Feature, Rule] = {
    F.RUNTIME_FORK_SAFE: yes("no device is opened in the process that asks").source(
        "accelcaps: what opens a device is asked in a child process"
    )
}
NO_DEEPCOMPILE: Mapping[Feature, Rule] = {
    F.COMPILE_DEEPCOMPILE: no(
        Code.POLICY, "DeepSpeed registers its compiler passes for the cuda accelerator only"
    ).source("DeepSpeed 0.19.8, compile/util.py, is_deepcompile_supported")
}
NO_MONITORED_BARRIER: Mapping[Feature, Rule] = {
    F.COMM_MONITORED_BARRIER: no(Code.NOT_IMPLEMENTED, "only gloo has a monitored barrier").source(
        "PyTorch 2.13, torch/csrc/distributed/c10d/Backend.hpp"
    )
}
CUDA_KERNELS: Mapping[Feature, Rule] = dict.fromkeys(
    (F.ATTENTION_CUDNN, F.ATTENTION_FLASH_ATTN_PACKAGE, F.ATTENTION_FLASH_ATTN_3),
    no(Code.HARDWARE_UNSUPPORTED, "it is a CUDA kernel").source(
        "PyTorch 2.13, torch/nn/attention; flash-attention README"
    ),
)


def no_other_toolkits(device: str, instead: str = "") -> Mapping[Feature, Rule]:
    """Return the rows of a device that neither CUDA, HIP nor SYCL compiles for.

    Args:
        device: what it is, with its article: ``an MLU``.
        instead: what it has instead, if anything is documented.
    """
    text = f"{device} is not such a device" + (f": it has {instead}" if instead else "")
    return dict.fromkeys(
        (F.BUILD_CUDA, F.BUILD_HIP, F.BUILD_SYCL),
        no(Code.HARDWARE_UNSUPPORTED, text).source("PyTorch 2.13, torch/utils/cpp_extension.py"),
    )


def asynchronous(source: str) -> Mapping[Feature, Rule]:
    """Return the rows of a device that queues its work beside the host."""
    rule = no(Code.NOT_IMPLEMENTED, "work is queued, and runs beside the host").source(source)
    return {
        F.DEVICE_SYNCHRONOUS: rule,
        F.DEVICE_HOST_TIMERS: rule,
        F.DEVICE_RESOLVES_DATA_DEPENDENCY: rule,
        F.DEVICE_HANDLES_MEMORY_BACKPRESSURE: rule,
    }


def peer_access(accelerator: str, *sources: str) -> Mapping[Feature, Rule]:
    """Return the row of a device whose torch module tells ``can_device_access_peer``."""
    facts = f"torch.devices.{accelerator}"
    pairs = fact(f"{facts}.peer_access", "peer access", code=Code.HARDWARE_UNSUPPORTED)
    return {
        F.MEMORY_PEER_ACCESS: all_of(
            ON_A_DEVICE,
            (fact(f"{facts}.count", "devices", code=Code.HARDWARE_MISSING) >= 2).then(
                pairs.holds("between every pair of devices", "not between every pair of devices")
            ),
        ).source(*sources)
    }


def own_backend(name: str, *sources: str) -> Mapping[Feature, Rule]:
    """Return the row of a collective backend that comes with the vendor's torch package."""
    return {
        F.COMM_BACKEND: all_of(
            ON_A_DEVICE,
            TORCH_INSTALLED.where_recorded(),
            BACKENDS.is_not_empty(
                "this PyTorch is built without torch.distributed"
            ).where_recorded(),
            value_of(lambda question: Finding(Status.YES, question.facts.evidence, value=name)),
        ).source(*sources)
    }


def deepspeeds_word(
    source: str,
    *,
    fp16: RuleLike | None = None,
    bf16: RuleLike | None = None,
    fp16_note: str = "",
    bf16_note: str = "",
) -> Mapping[Feature, Rule]:
    """Return the rows of what DeepSpeed accepts: its own word where it was asked, else its source.

    Args:
        source: DeepSpeed's accelerator file.
        fp16: what its ``is_fp16_supported`` does, where it was not asked; else it is always true.
        bf16: what its ``is_bf16_supported`` does, where it was not asked; else it is always true.
        fp16_note: what the source adds about the first.
        bf16_note: what the source adds about the second.
    """
    rows: dict[Feature, Rule] = {}
    for feature, name, other, note in (
        (F.DEEPSPEED_FP16, "fp16", fp16, fp16_note),
        (F.DEEPSPEED_BF16, "bf16", bf16, bf16_note),
    ):
        method = f"is_{name}_supported"
        said = fact(f"ops.{{accelerator}}.accelerator.{method}", "DeepSpeed's word")
        accepts = yes(f"DeepSpeed 0.19.8 accepts {name} on every such device")
        rows[feature] = (
            said.coded(Code.POLICY)
            .holds(f"DeepSpeed accepts {name} here", f"DeepSpeed refuses {name} here")
            .or_if_not_recorded(accepts if other is None else as_rule(other))
            .source(f"{source}, {method}{note}")
        )
    return rows
