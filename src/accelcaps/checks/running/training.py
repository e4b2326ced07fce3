"""Train a small model on two ranks, and compare its weights with training in float64.

The reference sees the batches of both ranks at once, in one process: what partitions, gathers or
replicates anything must come to the same weights.
"""

from __future__ import annotations

import contextlib
import copy
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist

from accelcaps import features as F
from accelcaps.checks.running.collectives import make_group
from accelcaps.checks.running.deepspeed import set_up
from accelcaps.checks.running.device import Device, NotTriedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

__all__ = ["EXERCISES"]

_WIDTH, _HIDDEN, _BATCH, _STEPS = 32, 64, 4, 3
_ADAMW = {"lr": 1e-2, "betas": [0.9, 0.99], "eps": 1e-3, "weight_decay": 0.1}
"""A large eps, so that a gradient near zero does not decide by its sign alone."""


@dataclass(frozen=True)
class _Task:
    """A model, and for each step the batch of each rank."""

    model: torch.nn.Module
    batches: list[list[tuple[torch.Tensor, torch.Tensor]]]

    @classmethod
    def of(cls, device: Device) -> _Task:
        """Make the same on every rank."""
        model = torch.nn.Sequential(
            torch.nn.Linear(_WIDTH, _HIDDEN), torch.nn.Tanh(), torch.nn.Linear(_HIDDEN, _WIDTH)
        )
        with torch.no_grad():
            for weight in model.parameters():
                weight.copy_(device.normal(*weight.shape) / weight.shape[-1] ** 0.5)
        batches = [
            [
                (device.normal(_BATCH, _WIDTH).float(), device.normal(_BATCH, _WIDTH).float())
                for _ in range(device.ranks)
            ]
            for _ in range(_STEPS)
        ]
        return cls(model, batches)

    def reference(
        self, optimizer: Callable[[Any], Any], start: torch.dtype = torch.float32
    ) -> list[torch.Tensor]:
        """Return the weights after training on all ranks' batches in float64.

        Args:
            optimizer: makes the optimizer of the weights.
            start: the type that the first weights are rounded to.
        """
        model = copy.deepcopy(self.model).to(start).double()
        steps = optimizer(model.parameters())
        for ranks in self.batches:
            steps.zero_grad()
            losses = [_loss(model(x.double()), y.double()) for x, y in ranks]
            (sum(losses, torch.zeros(())) / len(losses)).backward()
            steps.step()
        return [weight.detach() for weight in model.parameters()]

    def compared(
        self, device: Device, found: list[torch.Tensor], reference: list[torch.Tensor], part: float
    ) -> float:
        """Compare weights; they may be off by a part of how far training moved them."""
        worst = 0.0
        for ours, right, start in zip(found, reference, self.model.parameters(), strict=True):
            moved = float((right - start.detach().double()).abs().max())
            rounding = torch.finfo(ours.dtype).eps / 2  # of what is read, in its type
            allowed = part * moved / float(right.abs().max()) + rounding
            error = device.agree(ours.float(), right, allowed, "a weight after training")
            worst = max(worst, error)
        return worst


def _loss(found: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
    return ((found - wanted) ** 2).mean()


def _deepspeed(
    config: Mapping[str, Any],
    optimizer: str = "AdamW",
    parameters: Mapping[str, Any] | None = None,
    reference: Callable[[Any], Any] | None = None,
    part: float = 0.002,
) -> Callable[[Device], dict[str, Any]]:
    """Return an exercise that trains by ``deepspeed.initialize`` with this config.

    Args:
        config: what is added to a config that DeepSpeed takes.
        optimizer: ``optimizer.type``.
        parameters: ``optimizer.params``.
        reference: makes the same optimizer by torch; torch's AdamW where not given.
        part: how far off weights may be, as a part of how far training moves them.
    """
    parameters = {**_ADAMW, "torch_adam": True} if parameters is None else dict(parameters)

    def adamw(weights: Any) -> Any:
        return torch.optim.AdamW(weights, **{**_ADAMW, "betas": (0.9, 0.99)})

    def use(device: Device) -> dict[str, Any]:
        deepspeed = _initialised(device)
        task = _Task.of(device)
        model = copy.deepcopy(task.model)
        whole = {
            "train_micro_batch_size_per_gpu": _BATCH,
            "train_batch_size": _BATCH * device.ranks,
            "gradient_clipping": 0.0,  # DeepSpeed clips to a norm of 1 where nothing is said
            "optimizer": {"type": optimizer, "params": parameters},
            **config,
        }
        engine, *_ = deepspeed.initialize(
            model=model, model_parameters=model.parameters(), config=whole
        )
        dtype = next(model.parameters()).dtype
        for ranks in task.batches:
            x, y = ranks[device.rank]
            found = engine(device.put(x).to(dtype))
            engine.backward(_loss(found.float(), device.put(y)))
            engine.step()
        weights = _whole_weights(deepspeed, model)
        right = task.reference(reference or adamw, dtype)
        error = task.compared(device, weights, right, part)
        engine.destroy()
        return {"error": error, "text": f"{_STEPS} steps on {device.ranks} ranks"}

    return use


def _initialised(device: Device) -> Any:
    """Return DeepSpeed, with the group of both ranks."""
    try:
        import deepspeed
    except ModuleNotFoundError as error:
        raise NotTriedError(f"it is tried by DeepSpeed: {error}") from error
    set_up(device)
    os.environ |= {
        "RANK": str(device.rank), "LOCAL_RANK": str(device.rank),
        "WORLD_SIZE": str(device.ranks), "LOCAL_SIZE": str(device.ranks),
        "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(device.spec["seed"]),
    }  # fmt: skip
    make_group(device)
    if not deepspeed.comm.is_initialized():
        deepspeed.init_distributed(device.spec["backend"], auto_mpi_discovery=False)
    return deepspeed


def _whole_weights(deepspeed: Any, model: torch.nn.Module) -> list[torch.Tensor]:
    """Return every weight on the host; those that are partitioned are gathered first."""
    weights = list(model.parameters())
    parted = any(hasattr(weight, "ds_id") for weight in weights)
    gathered = deepspeed.zero.GatheredParameters(weights) if parted else contextlib.nullcontext()
    with gathered:
        return [weight.detach().cpu().clone() for weight in weights]


def _by_torch(wrap: Callable[[Device, torch.nn.Module], torch.nn.Module], read: Any) -> Any:
    """Return an exercise that trains a model wrapped by torch itself."""

    def use(device: Device) -> dict[str, Any]:
        make_group(device)
        task = _Task.of(device)
        model = wrap(device, copy.deepcopy(task.model).to(device.name))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for ranks in task.batches:
            x, y = ranks[device.rank]
            optimizer.zero_grad()
            _loss(model(device.put(x)), device.put(y)).backward()
            optimizer.step()
        right = task.reference(lambda weights: torch.optim.SGD(weights, lr=0.1))
        with read(model) as weights:
            error = task.compared(device, weights, right, 0.001)
        dist.barrier()
        return {"error": error, "text": f"{_STEPS} steps on {device.ranks} ranks"}

    return use


def _ddp(device: Device, model: torch.nn.Module) -> torch.nn.Module:
    return torch.nn.parallel.DistributedDataParallel(model)


def _fsdp(device: Device, model: torch.nn.Module) -> torch.nn.Module:
    from torch.distributed.fsdp import FullyShardedDataParallel

    place = torch.device(device.name)
    return FullyShardedDataParallel(model, device_id=place, use_orig_params=True)


def _fsdp2(device: Device, model: torch.nn.Module) -> torch.nn.Module:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    fully_shard(model, mesh=init_device_mesh(device.kind, (device.ranks,)))
    return model


@contextlib.contextmanager
def _as_they_are(model: torch.nn.Module) -> Iterator[list[torch.Tensor]]:
    yield list(model.parameters())


@contextlib.contextmanager
def _summoned(model: torch.nn.Module) -> Iterator[list[torch.Tensor]]:
    from torch.distributed.fsdp import FullyShardedDataParallel

    with FullyShardedDataParallel.summon_full_params(model):
        yield list(model.parameters())


@contextlib.contextmanager
def _full_tensors(model: torch.nn.Module) -> Iterator[list[torch.Tensor]]:
    yield [weight.full_tensor() for weight in model.parameters()]


def _zero(stage: int, **more: Any) -> dict[str, Any]:
    return {"zero_optimization": {"stage": stage, **more}}


_ON_HOST = {"device": "cpu"}
_DEFAULT = dict(_ADAMW)
_FP16 = {"enabled": True, "initial_scale_power": 8}

EXERCISES: Mapping[str, Callable[[Device], Any]] = {
    F.PARALLEL_DATA: _by_torch(_ddp, _as_they_are),
    F.PARALLEL_FSDP: _by_torch(_fsdp, _summoned),
    F.PARALLEL_FSDP2: _by_torch(_fsdp2, _full_tensors),
    F.ZERO_1: _deepspeed(_zero(1)),
    F.ZERO_2: _deepspeed(_zero(2)),
    F.ZERO_3: _deepspeed(_zero(3)),
    F.DEEPSPEED_BF16: _deepspeed({**_zero(1), "bf16": {"enabled": True}}, part=0.15),
    F.DEEPSPEED_FP16: _deepspeed({**_zero(1), "fp16": _FP16}, part=0.15),
    F.OFFLOAD_PARAM_CPU: _deepspeed(_zero(3, offload_param=_ON_HOST)),
    F.OFFLOAD_OPTIMIZER_CPU: _deepspeed(
        _zero(2, offload_optimizer=_ON_HOST), parameters=_DEFAULT
    ),
    F.OPTIMIZER_ADAM: _deepspeed({}, "Adam", {**_DEFAULT, "adam_w_mode": True}),
    F.OPTIMIZER_ADAMW: _deepspeed({}, "AdamW", _DEFAULT),
    F.OPTIMIZER_ADAGRAD: _deepspeed(
        {}, "Adagrad", {"lr": 1e-2},
        lambda weights: torch.optim.Adagrad(weights, lr=1e-2),
    ),
}  # fmt: skip
