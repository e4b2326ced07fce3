"""Which op DeepSpeed 0.19.8 provides on which accelerator, for hardware without software.

Where DeepSpeed is installed its own builders are asked, and this table is not looked at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["PROVIDED", "SOURCE"]

SOURCE = "DeepSpeed 0.19.8, op_builder/ and its folders by accelerator"

_EVERYWHERE = "async_io pin_memory cpu_adam cpu_adagrad cpu_lion fused_adam"
_CUDA = (
    f"{_EVERYWHERE} fused_lamb fused_lion quantizer fp_quantizer transformer "
    "stochastic_transformer transformer_inference inference_core_ops cutlass_ops "
    "ragged_device_ops ragged_ops spatial_inference evoformer_attn random_ltd dc utils gds"
)
PROVIDED: Mapping[str, frozenset[str]] = {
    accelerator: frozenset(names.split())
    for accelerator, names in {
        "cuda": _CUDA,
        "rocm": _CUDA,
        "cpu": f"{_EVERYWHERE} deepspeed_ccl_comm deepspeed_shm_comm",
        "xpu": "async_io pin_memory cpu_adam cpu_adagrad fused_adam flash_attn",
        "npu": f"{_EVERYWHERE} fused_lamb fused_lion quantizer transformer_inference",
        "mps": "cpu_adam fused_adam",
        "hpu": "cpu_adam fused_adam fp_quantizer transformer_inference",
        "mlu": "cpu_adam cpu_adagrad fused_adam",
        "sdaa": "cpu_adam fused_adam",
        "supa": f"{_EVERYWHERE} fused_lamb fused_lion quantizer transformer_inference",
        "klxpu": f"{_EVERYWHERE} utils",
    }.items()
}
"""Accelerator → names of the ops that have a builder of their own there."""
