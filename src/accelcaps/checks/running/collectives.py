"""Collectives over two real ranks, each with random input that both ranks can make.

What a rank receives into is filled with a value that no right answer has, so that a collective
that writes nothing is found out.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from accelcaps import features as F
from accelcaps.checks.running.device import Device, WrongResultError
from accelcaps.features import REGISTRY

__all__ = ["EXERCISES", "make_group"]

_Use = Callable[[Device, torch.dtype], float]
_SIZE = 64
_POISON = -5.0
"""Far from any sum or mean of the input, which lies between 0.25 and 4."""
_TYPES = {"bf16": "bfloat16", "fp16": "float16", "fp8": "float8_e4m3fn"}


def make_group(device: Device) -> None:
    """Make the group of both ranks, once in a process."""
    if dist.is_initialized():
        return
    if device.kind != "cpu":
        device.module.set_device(int(device.spec["index"]))
    store = dist.FileStore(str(Path(device.spec["scratch"], "ranks")), device.ranks)
    dist.init_process_group(
        device.spec["backend"],
        store=store,
        rank=device.rank,
        world_size=device.ranks,
        timeout=datetime.timedelta(seconds=30),
    )


def _inputs(device: Device, dtype: torch.dtype, size: int = _SIZE) -> list[torch.Tensor]:
    """Return each rank's input, on the host: the same on every rank, and exact in 8 bits."""
    return [device.integers(1, 17, size).double().div(4).to(dtype) for _ in range(device.ranks)]


def _poisoned(device: Device, dtype: torch.dtype, size: int = _SIZE) -> torch.Tensor:
    return device.put(torch.full((size,), _POISON).to(dtype))


def _near(device: Device, found: torch.Tensor, reference: torch.Tensor, what: str) -> float:
    tolerance = 0.07 if found.dtype.itemsize == 1 else 1e-6  # the sums are exact in 16 bits
    return device.agree(found, reference, tolerance, what)


def _moved(device: Device, found: torch.Tensor, host: torch.Tensor, what: str) -> float:
    device.same(found, host, what)
    return 0.0


def _total(inputs: list[torch.Tensor]) -> torch.Tensor:
    return sum((each.double() for each in inputs), torch.zeros(inputs[0].shape).double())


def _all_reduce(device: Device, dtype: torch.dtype, op: Any = None, scale: float = 1.0) -> float:
    inputs = _inputs(device, dtype)
    mine = device.put(inputs[device.rank])
    dist.all_reduce(mine, op if op is not None else dist.ReduceOp.SUM)
    return _near(device, mine, _total(inputs) * scale, "the sum" if scale == 1 else "the result")


def _reduce(device: Device, dtype: torch.dtype) -> float:
    inputs = _inputs(device, dtype)
    mine = device.put(inputs[device.rank])
    dist.reduce(mine, 1)
    return _near(device, mine, _total(inputs), "the sum") if device.rank == 1 else 0.0


def _broadcast(device: Device, dtype: torch.dtype) -> float:
    sent = _inputs(device, dtype)[1]
    mine = device.put(sent) if device.rank == 1 else _poisoned(device, dtype)
    dist.broadcast(mine, 1)
    return _moved(device, mine, sent, "what was received")


def _all_gather(device: Device, dtype: torch.dtype) -> float:
    inputs = _inputs(device, dtype)
    parts = [_poisoned(device, dtype) for _ in inputs]
    dist.all_gather(parts, device.put(inputs[device.rank]))
    for part, sent in zip(parts, inputs, strict=True):
        _moved(device, part, sent, "a part")
    return 0.0


def _all_gather_into_tensor(device: Device, dtype: torch.dtype) -> float:
    inputs = _inputs(device, dtype)
    whole = _poisoned(device, dtype, _SIZE * device.ranks)
    dist.all_gather_into_tensor(whole, device.put(inputs[device.rank]))
    return _moved(device, whole, torch.cat(inputs), "the whole")


def _reduce_scatter(
    device: Device, dtype: torch.dtype, op: Any = None, scale: float = 1.0
) -> float:
    inputs = _inputs(device, dtype, _SIZE * device.ranks)
    part = _poisoned(device, dtype)
    mine = [device.put(each) for each in inputs[device.rank].chunk(device.ranks)]
    dist.reduce_scatter(part, mine, op if op is not None else dist.ReduceOp.SUM)
    expected = _total(inputs).chunk(device.ranks)[device.rank] * scale
    return _near(device, part, expected, "a part")


def _reduce_scatter_tensor(
    device: Device, dtype: torch.dtype, op: Any = None, scale: float = 1.0
) -> float:
    inputs = _inputs(device, dtype, _SIZE * device.ranks)
    part = _poisoned(device, dtype)
    mine = device.put(inputs[device.rank])
    dist.reduce_scatter_tensor(part, mine, op if op is not None else dist.ReduceOp.SUM)
    expected = _total(inputs).chunk(device.ranks)[device.rank] * scale
    return _near(device, part, expected, "a part")


def _all_to_all_single(device: Device, dtype: torch.dtype) -> float:
    inputs = _inputs(device, dtype, _SIZE * device.ranks)
    out = _poisoned(device, dtype, _SIZE * device.ranks)
    dist.all_to_all_single(out, device.put(inputs[device.rank]))
    expected = torch.cat([each.chunk(device.ranks)[device.rank] for each in inputs])
    return _moved(device, out, expected, "what was received")


def _all_to_all(device: Device, dtype: torch.dtype) -> float:
    inputs = _inputs(device, dtype, _SIZE * device.ranks)
    out = [_poisoned(device, dtype) for _ in inputs]
    mine = [device.put(each) for each in inputs[device.rank].chunk(device.ranks)]
    dist.all_to_all(out, mine)
    for found, sent in zip(out, inputs, strict=True):
        _moved(device, found, sent.chunk(device.ranks)[device.rank], "a part")
    return 0.0


def _send_recv(device: Device, dtype: torch.dtype) -> float:
    there, back = _inputs(device, dtype)
    if device.rank == 0:
        dist.send(device.put(there), 1)
        mine, sent = _poisoned(device, dtype), back
        dist.recv(mine, 1)
    else:
        mine, sent = _poisoned(device, dtype), there
        dist.recv(mine, 0)
        dist.send(device.put(back), 0)
    return _moved(device, mine, sent, "what was received")


def _gather(device: Device, dtype: torch.dtype) -> float:
    inputs = _inputs(device, dtype)
    parts = [_poisoned(device, dtype) for _ in inputs] if device.rank == 1 else None
    dist.gather(device.put(inputs[device.rank]), parts, 1)
    for part, sent in zip(parts or (), inputs, strict=False):
        _moved(device, part, sent, "a part")
    return 0.0


def _scatter(device: Device, dtype: torch.dtype) -> float:
    inputs = _inputs(device, dtype)
    part = _poisoned(device, dtype)
    dist.scatter(part, [device.put(each) for each in inputs] if device.rank == 1 else None, 1)
    return _moved(device, part, inputs[device.rank], "the part")


_TYPED: Mapping[str, _Use] = {
    "all_reduce": _all_reduce, "reduce": _reduce, "broadcast": _broadcast,
    "all_gather": _all_gather, "all_gather_into_tensor": _all_gather_into_tensor,
    "reduce_scatter": _reduce_scatter, "reduce_scatter_tensor": _reduce_scatter_tensor,
    "all_to_all": _all_to_all, "all_to_all_single": _all_to_all_single, "gather": _gather,
    "scatter": _scatter, "send_recv": _send_recv,
}  # fmt: skip


def _with(use: _Use, dtype: str) -> Callable[[Device], Mapping[str, float]]:
    def run(device: Device) -> Mapping[str, float]:
        make_group(device)
        return {"error": use(device, getattr(torch, dtype))}

    return run


def _mean(use: Any) -> Callable[[Device], Mapping[str, float]]:
    def run(device: Device) -> Mapping[str, float]:
        make_group(device)
        return {"error": use(device, torch.float32, dist.ReduceOp.AVG, 1 / device.ranks)}

    return run


def _premul_sum(device: Device) -> Mapping[str, float]:
    make_group(device)
    factor = float(device.integers(2, 9, 1))
    op = dist._make_nccl_premul_sum(factor)
    return {"error": _all_reduce(device, torch.float32, op, factor)}


def _backend(device: Device) -> None:
    make_group(device)
    if dist.get_backend() != device.spec["backend"]:
        raise WrongResultError(f"the group's backend is {dist.get_backend()}")
    _all_reduce(device, torch.float32)


def _barrier(device: Device, wait: Callable[[], Any]) -> None:
    """What the other rank wrote before the barrier is there after it."""
    make_group(device)
    word = str(int(device.integers(0, 10**9, 1)))
    folder = Path(device.spec["scratch"])
    (folder / f"{word}-{device.rank}").touch()
    wait()
    if not (folder / f"{word}-{1 - device.rank}").exists():
        raise WrongResultError("the barrier was passed before the other rank had come")


def _objects(device: Device) -> None:
    make_group(device)
    number = int(device.integers(0, 10**9, 1))
    found: list[Any] = [None] * device.ranks
    dist.all_gather_object(found, {"rank": device.rank, "number": number})
    expected = [{"rank": rank, "number": number} for rank in range(device.ranks)]
    if found != expected:
        raise WrongResultError(f"gathered {found}")


def _new_group(device: Device) -> Mapping[str, float]:
    make_group(device)
    group = dist.new_group([*range(device.ranks)])
    inputs = _inputs(device, torch.float32)
    mine = device.put(inputs[device.rank])
    dist.all_reduce(mine, group=group)
    return {"error": _near(device, mine, _total(inputs), "the sum in the sub-group")}


def _device_mesh(device: Device) -> Mapping[str, float]:
    make_group(device)
    from torch.distributed.device_mesh import init_device_mesh

    mesh = init_device_mesh(device.kind, (device.ranks,), mesh_dim_names=("data",))
    inputs = _inputs(device, torch.float32)
    mine = device.put(inputs[device.rank])
    dist.all_reduce(mine, group=mesh.get_group("data"))
    return {"error": _near(device, mine, _total(inputs), "the sum over the mesh")}


def _coalescing(device: Device) -> Mapping[str, float]:
    make_group(device)
    from torch.distributed.distributed_c10d import _coalescing_manager

    first, second = (_inputs(device, torch.float32) for _ in range(2))
    a, b = device.put(first[device.rank]), device.put(second[device.rank])
    with _coalescing_manager(device=torch.device(device.name)):
        dist.all_reduce(a)
        dist.all_reduce(b)
    _near(device, a, _total(first), "the first sum")
    return {"error": _near(device, b, _total(second), "the second sum")}


EXERCISES: Mapping[str, Callable[[Device], Any]] = {
    F.COMM_BACKEND: _backend,
    **{REGISTRY.get(f"comm.{name}"): _with(use, "float32") for name, use in _TYPED.items()},
    **{
        REGISTRY.get(f"comm.{name}.{aspect}"): _with(use, dtype)
        for name, use in _TYPED.items()
        for aspect, dtype in _TYPES.items()
    },
    F.COMM_ALL_REDUCE_AVG: _mean(_all_reduce),
    F.COMM_REDUCE_SCATTER_AVG: _mean(_reduce_scatter),
    F.COMM_REDUCE_SCATTER_TENSOR_AVG: _mean(_reduce_scatter_tensor),
    F.COMM_ALL_REDUCE_PREMUL_SUM: _premul_sum,
    F.COMM_BARRIER: partial(_barrier, wait=dist.barrier),
    F.COMM_MONITORED_BARRIER: partial(_barrier, wait=lambda: dist.monitored_barrier()),
    F.COMM_OBJECT_COLLECTIVES: _objects,
    F.COMM_NEW_GROUP: _new_group,
    F.COMM_DEVICE_MESH: _device_mesh,
    F.COMM_COALESCING: _coalescing,
}
