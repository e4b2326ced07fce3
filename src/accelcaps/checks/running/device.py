"""A device as checks see it: any device type of torch, random input, comparison, time.

This is what a vendor's own check is given: a function that takes a :class:`Device`, uses the
feature, compares with :meth:`Device.agree`, and returns a mapping of what it measured.
"""

from __future__ import annotations

import importlib
import math
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

__all__ = ["AbsentError", "Device", "NotTriedError", "WrongResultError"]


class WrongResultError(Exception):
    """The feature ran, and its result disagrees with the reference."""


class NotTriedError(Exception):
    """The feature cannot be exercised here, which says nothing about it."""


class AbsentError(Exception):
    """torch's own way to the feature is not there for this device; its vendor may have another."""


_OF_TORCH = ("cpu", "cuda", "xpu", "mps")
"""The device types that torch itself has: what torch lacks for them, they lack."""
_NO_KERNEL = ("Could not run 'aten::", "not implemented for")


@dataclass(frozen=True)
class Device:
    """The device that a check runs on.

    Attributes:
        accelerator: accelcaps' name of the accelerator.
        kind: torch's device type.
        name: torch's name of the device, such as ``cuda:0``.
        random: makes this run's random input, on the host; every rank makes the same.
        rank: which of the processes this is.
        ranks: how many processes take part.
        spec: all that the check was told.
    """

    accelerator: str
    kind: str
    name: str
    random: torch.Generator
    rank: int
    ranks: int
    spec: Mapping[str, Any]

    @classmethod
    def open(cls, spec: Mapping[str, Any]) -> Device:
        """Return the device of ``spec``; imports the module that adds it to torch."""
        kind = spec["kind"]
        if spec["module"]:
            importlib.import_module(spec["module"])
        name = kind if kind == "cpu" else f"{kind}:{spec['index']}"
        random = torch.Generator().manual_seed(spec["seed"])
        torch.set_float32_matmul_precision("highest")
        return cls(
            spec["accelerator"], kind, name, random, spec["rank"], spec["ranks"], spec
        )  # fmt: skip

    @property
    def module(self) -> Any:
        """``torch.<kind>``; raises where torch has no such module."""
        return getattr(torch, self.kind)

    def normal(self, *shape: int) -> torch.Tensor:
        """Return random host numbers in float64, normally distributed."""
        return torch.randn(*shape, generator=self.random, dtype=torch.float64)

    def integers(self, low: int, high: int, *shape: int) -> torch.Tensor:
        """Return random host integers (int64), ``low`` included and ``high`` not."""
        return torch.randint(low, high, shape, generator=self.random)

    def put(self, host: torch.Tensor) -> torch.Tensor:
        """Return a copy of a host tensor on the device, in memory of its own."""
        there = torch.empty(host.shape, dtype=host.dtype, device=self.name)
        return there.copy_(host)

    def synchronize(self) -> None:
        """Wait until all work on the device is done."""
        wait = getattr(getattr(torch, self.kind, None), "synchronize", None)
        if wait is not None:
            wait()

    def agree(
        self, found: torch.Tensor, reference: torch.Tensor, tolerance: float, what: str
    ) -> float:
        """Compare a result with its reference.

        Args:
            found: the device's result, of any type.
            reference: what is right, on the host, in float64 or complex128.
            tolerance: how far off it may be, as a part of the reference's largest value.
            what: what it is, for the error.

        Returns:
            How far off it is, as a part of the largest value.

        Raises:
            WrongResultError: where it is further off, not finite, or of another shape.
        """
        host = found.detach().cpu()
        if host.shape != reference.shape:
            raise WrongResultError(
                f"{what} has the shape {[*host.shape]}, not {[*reference.shape]}"
            )
        wide = host.to(torch.complex128 if reference.is_complex() else torch.float64)
        largest = float(reference.abs().max())
        off = float((wide - reference).abs().max()) / (largest or 1.0)
        if not math.isfinite(off):
            raise WrongResultError(f"{what} has values that are not finite")
        if off > tolerance:
            raise WrongResultError(
                f"{what} is off by {off:.2g} of the largest value, and {tolerance:.2g} is allowed"
            )
        return off

    def same(self, found: torch.Tensor, reference: torch.Tensor, what: str) -> None:
        """Compare bit by bit with a host tensor of the same type.

        Raises:
            WrongResultError: where a value, the type or the shape differs.
        """
        host = found.detach().cpu()
        if host.dtype != reference.dtype or host.shape != reference.shape:
            raise WrongResultError(f"{what} is {host.dtype} {[*host.shape]}")
        bits = [each.contiguous().view(torch.uint8) for each in (host, reference)]
        if not torch.equal(*bits):
            raise WrongResultError(f"{what} is not what was put there")

    @contextmanager
    def by_torch(self) -> Iterator[None]:
        """Use what torch itself calls the feature; a vendor's device may have it by another name.

        Raises:
            AbsentError: where a vendor's device lacks the operator, class or function.
        """
        try:
            yield
        except (AttributeError, NotImplementedError, RuntimeError) as error:
            lacks = not isinstance(error, RuntimeError) or isinstance(error, NotImplementedError)
            lacks = lacks or any(words in str(error) for words in _NO_KERNEL)
            of_torch = self.kind in _OF_TORCH and not self.spec["module"]  # some imitate torch.cuda
            if of_torch or not lacks:
                raise
            said = (str(error).splitlines() or [""])[0]
            raise AbsentError(f"torch's own way to it is not there: {said}") from error

    def seconds(self, work: Callable[[], Any]) -> float:
        """Return the wall seconds of ``work``, from an idle device to an idle device."""
        self.synchronize()
        begun = time.perf_counter()
        work()
        self.synchronize()
        return time.perf_counter() - begun

    def healthy(self) -> bool:
        """Whether the device still computes; a failure may leave it unusable for its process."""
        try:
            there = torch.full((64,), 3.0, device=self.name)
            healthy = bool(((there + 1).cpu() == 4.0).all())
            if self.ranks > 1 and torch.distributed.is_initialized():
                total = torch.full((4,), 1.0, device=self.name)
                torch.distributed.all_reduce(total)
                healthy = healthy and bool((total.cpu() == self.ranks).all())
        except Exception:
            return False
        return healthy
