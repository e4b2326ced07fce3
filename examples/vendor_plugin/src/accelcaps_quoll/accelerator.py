"""The Quoll's data sheet."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from accelcaps import Accelerator, Code, DeviceSource
from accelcaps import features as F
from accelcaps.accelerators.building import BUILD
from accelcaps.accelerators.host import HOST
from accelcaps.accelerators.presence import usable_device
from accelcaps.accelerators.references import ON_A_DEVICE, use_instead
from accelcaps.rules import all_of, degraded, device_fact, no, version_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accelcaps import Feature
    from accelcaps.rules import Rule

__all__ = ["KERNEL_COUNTER", "Quoll"]

KERNEL_COUNTER = F.register(
    "x.quoll.kernel_counter",
    "kernel counter",
    "torch.quoll.launches() tells how many kernels the device has run",
    by="torch-quoll",
)

_TENSOR = "torch-quoll 1.0, torch_quoll/tensor.py"
_DEVICE = "torch-quoll 1.0, torch_quoll/device.py"
_GENERATION = device_fact("arch", "generation", code=Code.HARDWARE_TOO_OLD)
_DRIVER = version_of("devices.quoll.driver.version", "Quoll driver", absent="no driver is loaded")
_REFUSED = no(Code.HARDWARE_UNSUPPORTED, "a Quoll has no such type").remedy(
    use_instead(F.DTYPE_BF16, F.DTYPE_FP32)
)
_STORED_ONLY = no(Code.NOT_IMPLEMENTED, "a Quoll keeps and converts 8-bit floats, no more")

_DTYPES: Mapping[Feature, Rule] = {
    F.DTYPE_FP32: all_of(ON_A_DEVICE).source(f"{_TENSOR}, NATIVE"),
    F.DTYPE_FP32_STORAGE: all_of(ON_A_DEVICE).source(f"{_TENSOR}, NATIVE"),
    F.DTYPE_BF16: all_of(ON_A_DEVICE, _GENERATION.equals("q2")).source(f"{_TENSOR}, NATIVE"),
    F.DTYPE_BF16_STORAGE: all_of(ON_A_DEVICE).source(f"{_TENSOR}, REFUSED: not among them"),
    F.DTYPE_FP16: all_of(
        ON_A_DEVICE,
        degraded(Code.EMULATED, "computed in fp32, with a conversion before and after"),
    )
    .remedy(use_instead(F.DTYPE_BF16, F.DTYPE_FP32))
    .source(f"{_TENSOR}, EMULATED"),
    F.DTYPE_FP16_STORAGE: all_of(ON_A_DEVICE).source(f"{_TENSOR}, EMULATED"),
    **dict.fromkeys(
        (F.DTYPE_FP8_E4M3_STORAGE, F.DTYPE_FP8_E5M2_STORAGE),
        all_of(ON_A_DEVICE).source(f"{_TENSOR}, STORED"),
    ),
    **dict.fromkeys(
        (F.DTYPE_FP8_E4M3, F.DTYPE_FP8_E5M2), _STORED_ONLY.source(f"{_TENSOR}, STORED")
    ),
    **dict.fromkeys(
        (
            F.DTYPE_FP64, F.DTYPE_FP64_STORAGE, F.DTYPE_COMPLEX64, F.DTYPE_COMPLEX64_STORAGE,
            F.DTYPE_COMPLEX128, F.DTYPE_COMPLEX128_STORAGE, F.DTYPE_FP8_E4M3FNUZ,
            F.DTYPE_FP8_E4M3FNUZ_STORAGE, F.DTYPE_FP8_E5M2FNUZ, F.DTYPE_FP8_E5M2FNUZ_STORAGE,
        ),
        _REFUSED.source(f"{_TENSOR}, REFUSED"),
    ),
}  # fmt: skip


class Quoll(Accelerator):
    """The made-up Quoll, which computes in the host's memory."""

    interface = 1
    name = "quoll"
    title = "Quoll"
    simulated = True  # it computes on the host
    checks: ClassVar[Mapping[str, str]] = {
        KERNEL_COUNTER: "accelcaps_quoll.checks:kernel_counter",
        "op.quoll_axpy": "accelcaps_quoll.checks:axpy",
    }
    seen_by = DeviceSource(
        torch_type="quoll",
        module="torch_quoll",
        probe="accelcaps_quoll.probe:probe",
        without_signs=True,  # it is on no bus
        visibility=("QUOLL_VISIBLE_DEVICES",),
        by_uuid="QUOLL_VISIBLE_DEVICES",
        deepspeed="torch_quoll.deepspeed:QuollAccelerator",
    )
    capabilities: ClassVar[Mapping[Feature, Rule]] = {
        **BUILD, **HOST, **_DTYPES,
        F.DEVICE_AVAILABLE: usable_device(
            "Quoll", "quoll_driver; torch_quoll, asked in a child process",
            (_DRIVER >= "1.1").remedy("install Quoll driver 1.1 or newer"),
            hides="QUOLL_VISIBLE_DEVICES", remedy="install the Quoll driver",
        ),
        F.DEVICE_SYNCHRONOUS: all_of(ON_A_DEVICE).source(f"{_DEVICE}, synchronize"),
        F.RUNTIME_RNG_PER_DEVICE: all_of(ON_A_DEVICE).source(f"{_DEVICE}, get_rng_state"),
        KERNEL_COUNTER: all_of(ON_A_DEVICE).source(f"{_DEVICE}, launches"),
    }  # fmt: skip
