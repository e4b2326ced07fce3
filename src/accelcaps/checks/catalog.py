"""Which check exercises which feature: data, read without importing any framework.

Each check names a module of :mod:`accelcaps.checks.running`, whose ``EXERCISES`` has a function
for each feature listed here.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from accelcaps import features as F
from accelcaps.errors import UnknownFeatureError
from accelcaps.features import REGISTRY

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from accelcaps.accelerators.base import Accelerator
    from accelcaps.feature import Feature

__all__ = ["CHECKS", "Check", "checks_of", "exercisable"]

_RUNNING = "accelcaps.checks.running"


@dataclass(frozen=True, slots=True)
class Check:
    """A group of features that one module exercises, in the same way.

    Attributes:
        name: what to call it.
        source: the module with ``EXERCISES``, or ``module:function`` for one feature.
        features: what it exercises.
        ranks: how many processes take part.
        patience: seconds that one feature may take.
        apart: whether each feature has a process of its own.
        timed: whether it measures time, so that nothing else may run beside it.
        on_device: whether it needs a usable device of the accelerator.
        builds: whether it compiles ops, which takes minutes.
        environment: variables to set for it, or to remove; ``{scratch}`` is an empty folder.
    """

    name: str
    source: str
    features: tuple[Feature, ...]
    ranks: int = 1
    patience: float = 60.0
    apart: bool = False
    timed: bool = False
    on_device: bool = True
    builds: bool = False
    environment: Mapping[str, str | None] = field(default_factory=dict)


def _group(*patterns: str, besides: Iterable[Feature] = ()) -> tuple[Feature, ...]:
    found = (f for pattern in patterns for f in REGISTRY.in_group(pattern))
    return tuple(f for f in found if f not in set(besides))


_LOCAL = {"MASTER_ADDR": None, "MASTER_PORT": None, "RANK": None, "WORLD_SIZE": None,
          "LOCAL_RANK": None}  # fmt: skip
"""What a launcher sets does not reach the two ranks of a check."""
_CACHES = {
    "TORCHINDUCTOR_CACHE_DIR": "{scratch}", "TRITON_CACHE_DIR": "{scratch}",
    "TORCH_EXTENSIONS_DIR": "{scratch}", "TRITON_INTERPRET": None,
}  # fmt: skip
"""Builds of a check are its own: nothing that was built before is used, and nothing is left."""

CHECKS: tuple[Check, ...] = (
    Check(
        "presence", f"{_RUNNING}.presence",
        (F.DEVICE_AVAILABLE, F.BUILD_KERNEL_IMAGE, F.BUILD_DRIVER),
        on_device=False,
    ),
    Check("data types", f"{_RUNNING}.dtypes", _group("dtype"), patience=120, timed=True),
    Check(
        "timers", f"{_RUNNING}.timers",
        (F.DEVICE_SYNCHRONOUS, F.DEVICE_HOST_TIMERS, F.MEMORY_ASYNC_COPY), timed=True,
    ),
    Check(
        "runtime", f"{_RUNNING}.runtime",
        (
            F.RUNTIME_STREAMS, F.RUNTIME_EVENTS, F.RUNTIME_EVENT_TIMING,
            F.RUNTIME_STREAM_PRIORITIES, F.RUNTIME_GRAPH_CAPTURE, F.RUNTIME_RNG_PER_DEVICE,
            F.RUNTIME_DETERMINISTIC,
        ),
    ),
    Check("fork", f"{_RUNNING}.fork", (F.RUNTIME_FORK_SAFE,), apart=True),
    Check(
        "memory", f"{_RUNNING}.memory",
        (
            F.MEMORY_PINNED_HOST, F.MEMORY_STATS, F.MEMORY_PEER_ACCESS, F.MEMORY_IPC,
            F.MEMORY_UNIFIED, F.MEMORY_EXPANDABLE_SEGMENTS,
        ),
    ),
    Check(
        "attention", f"{_RUNNING}.attention",
        (*_group("attention", besides=(F.ATTENTION_PAGED,)), F.OP_GROUPED_MM),
    ),
    Check(
        "compilers", f"{_RUNNING}.compilers",
        (F.COMPILE_TORCH_COMPILE, F.COMPILE_INDUCTOR, F.TRITON_INSTALLED, F.TRITON_USABLE),
        patience=180, environment=_CACHES,
    ),
    Check(
        "building", f"{_RUNNING}.building",
        (
            F.BUILD_CC, F.BUILD_CXX, F.BUILD_CUDA, F.BUILD_HIP, F.BUILD_SYCL, F.BUILD_NINJA,
            F.BUILD_PYTHON_HEADERS,
        ),
        patience=180, on_device=False, environment=_CACHES,
    ),
    Check(
        "collectives", f"{_RUNNING}.collectives",
        _group("comm", besides=(F.COMM_SYMMETRIC_MEMORY, F.COMM_GPU_DIRECT_RDMA)),
        ranks=2, patience=60, environment=_LOCAL,
    ),
    Check(
        "host", f"{_RUNNING}.host",
        (F.HOST_O_DIRECT, F.HOST_SHM, F.HOST_MEMLOCK, F.LAUNCH_TORCHRUN),
        on_device=False, environment=_LOCAL,
    ),
    Check(
        "ops", f"{_RUNNING}.ops",
        (
            *_group("op", besides=(F.OP_GROUPED_MM, F.OP_BITSANDBYTES)),
            F.MEMORY_PINNED_HOST_NATIVE,
        ),
        patience=900, apart=True, builds=True,
        environment={**_CACHES, **_LOCAL, "DS_SKIP_CUDA_CHECK": None},
    ),
    Check(
        "training", f"{_RUNNING}.training",
        (
            F.PARALLEL_DATA, F.PARALLEL_FSDP, F.PARALLEL_FSDP2, F.ZERO_1, F.ZERO_2, F.ZERO_3,
            F.OFFLOAD_PARAM_CPU, F.OPTIMIZER_ADAGRAD, F.DEEPSPEED_BF16, F.DEEPSPEED_FP16,
        ),
        ranks=2, patience=240, environment={**_CACHES, **_LOCAL},
    ),
    Check(
        "training by ops", f"{_RUNNING}.training",
        (F.OPTIMIZER_ADAM, F.OPTIMIZER_ADAMW, F.OFFLOAD_OPTIMIZER_CPU),
        ranks=2, patience=900, builds=True, environment={**_CACHES, **_LOCAL},
    ),
    Check(
        "packages", f"{_RUNNING}.quantised",
        (F.OP_BITSANDBYTES, F.QUANT_INT8, F.QUANT_NF4), patience=120, environment=_CACHES,
    ),
)  # fmt: skip
"""Every check that comes with accelcaps. Each is written once, for any device type of torch."""


_OPS = next(check for check in CHECKS if check.name == "ops")


def checks_of(accelerator: Accelerator) -> tuple[Check, ...]:
    """Return the checks for an accelerator: its own, and the shared ones for the rest."""
    own = (
        Check(str(feature), source, (feature,), apart=True, builds=feature.group == "op",
              patience=900 if feature.group == "op" else 60, environment=_CACHES)
        for feature, source in _own(accelerator).items()
    )  # fmt: skip
    taken = set(accelerator.checks)
    shared = (
        replace(check, features=tuple(f for f in check.features if f not in taken))
        for check in CHECKS
    )
    return (*own, *(check for check in shared if check.features))


def exercisable(accelerator: Accelerator) -> dict[Feature, Check]:
    """Return feature → the check that exercises it on an accelerator."""
    found = {feature: check for check in checks_of(accelerator) for feature in check.features}
    for feature in accelerator.features("op.*"):  # an op of a vendor's own builder
        found.setdefault(feature, _OPS)
    return found


def _own(accelerator: Accelerator) -> dict[Feature, str]:
    """Return the accelerator's own checks, of features that exist here."""
    found = {}
    for name, source in accelerator.checks.items():
        with suppress(UnknownFeatureError):  # an op whose builder is not installed
            found[accelerator.feature(name)] = source
    return found
