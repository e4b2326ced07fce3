"""Streams, events, graphs, random state: how work on the device is ordered and repeated."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import torch

from accelcaps import features as F
from accelcaps.checks.running.device import WrongResultError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from accelcaps.checks.running.device import Device

__all__ = ["EXERCISES"]

_ROUNDS = 30


def _long_work(device: Device) -> tuple[Callable[[], torch.Tensor], torch.Tensor]:
    """Return work that takes a while, and what it must give (float64)."""
    a = (device.normal(384, 384) / 384**0.5).float()
    there = device.put(a)
    reference = a.double()
    for _ in range(_ROUNDS):
        reference = torch.tanh(reference @ a.double())

    def work() -> torch.Tensor:
        found = there
        for _ in range(_ROUNDS):
            found = torch.tanh(found @ there)
        return found

    return work, reference


def _streams(device: Device) -> dict[str, float]:
    """Queue work on two streams, and let a third wait for both."""
    module = device.module
    one, two, three = (module.Stream() for _ in range(3))
    work, reference = _long_work(device)
    device.synchronize()
    with module.stream(one):
        first = work()
    with module.stream(two):
        second = work()
    three.wait_stream(one)
    three.wait_stream(two)
    with module.stream(three):
        total = first + second
    three.synchronize()
    if not three.query():
        raise WrongResultError("a stream that was waited for says that it has work")
    return {"error": device.agree(total, 2 * reference, 1e-3, "a sum over two streams")}


def _events(device: Device) -> dict[str, float]:
    """Let a second stream wait for an event of the first, and the host for one of the second."""
    module = device.module
    if not hasattr(getattr(module, "Stream", None), "synchronize"):
        return _events_without_streams(device)
    one, two = module.Stream(), module.Stream()
    begun, ended = module.Event(), module.Event()
    work, reference = _long_work(device)
    device.synchronize()
    with module.stream(one):
        found = work()
        begun.record(one)
    two.wait_event(begun)
    with module.stream(two):
        doubled = found * 2
        ended.record(two)
    ended.synchronize()
    if not ended.query():
        raise WrongResultError("an event that was waited for says that it has not happened")
    return {"error": device.agree(doubled, 2 * reference, 1e-3, "what was ordered by an event")}


def _events_without_streams(device: Device) -> dict[str, float]:
    """Record an event after work, see it pending, and wait for it."""
    event = _event_class(device)()
    work, reference = _long_work(device)
    device.synchronize()
    found = work()
    event.record()
    if event.query():
        raise NotImplementedError("the event has happened already when it is recorded")
    event.synchronize()
    if not event.query():
        raise WrongResultError("an event that was waited for says that it has not happened")
    return {"error": device.agree(found, reference, 1e-3, "what was waited for")}


def _event_class(device: Device) -> Any:
    """Return the class of events: torch keeps that of MPS in a module of its own."""
    module = device.module
    return module.Event if hasattr(module, "Event") else module.event.Event


def _event_timing(device: Device) -> dict[str, Any]:
    """The time between two events is no more than the host's, and grows with the work."""
    event = _event_class(device)
    work, _ = _long_work(device)
    work()

    def milliseconds(repeat: int) -> tuple[float, float]:
        begun, ended = event(enable_timing=True), event(enable_timing=True)
        device.synchronize()
        clock = time.perf_counter()
        begun.record()
        for _ in range(repeat):
            work()
        ended.record()
        device.synchronize()
        return float(begun.elapsed_time(ended)), (time.perf_counter() - clock) * 1000

    few, _ = milliseconds(1)
    many, host = milliseconds(20)
    if not 0 < few < many <= 1.05 * host:
        raise WrongResultError(
            f"events tell {few:g} ms for some work and {many:g} ms for 20 times as much, "
            f"which took the host {host:g} ms"
        )
    return {"text": f"{many:.3g} ms by events, {host:.3g} ms by the host's clock"}


def _priorities(device: Device) -> dict[str, float]:
    module = device.module
    low, high = module.Stream(priority=0), module.Stream(priority=-1)
    if not high.priority < low.priority:
        raise WrongResultError(f"the priorities are {low.priority} and {high.priority}")
    work, reference = _long_work(device)
    device.synchronize()
    with module.stream(high):
        found = work()
    high.synchronize()
    return {"error": device.agree(found, reference, 1e-3, "work on the preferred stream")}


def _graph(device: Device) -> dict[str, float]:
    """Capture work, replay it on other input, and compare."""
    module = device.module
    with device.by_torch():
        graph, capture = _graph_class(device)(), module.graph
    a, b = device.normal(64, 64).float(), device.normal(64, 64).float()
    there = device.put(a)
    side = module.Stream()
    side.wait_stream(module.current_stream())
    with module.stream(side):  # what sets itself up at its first use is not captured
        for _ in range(3):
            there @ there
    module.current_stream().wait_stream(side)
    with capture(graph):
        found = torch.relu(there @ there) + 1
    there.copy_(b)
    found.zero_()
    graph.replay()
    device.synchronize()
    reference = torch.relu(b.double() @ b.double()) + 1
    return {"error": device.agree(found, reference, 1e-4, "a replay")}


def _graph_class(device: Device) -> Any:
    """Return the class of graphs: every backend has it under the name of its own device type."""
    names = ("CUDAGraph", f"{device.kind.upper()}Graph")
    for name in names:
        if hasattr(device.module, name):
            return getattr(device.module, name)
    raise NotImplementedError(f"torch.{device.kind} has no {names[-1]}")


def _random(device: Device) -> None:
    """The state can be read and set: the same numbers again, and others after them."""
    module = torch if device.kind == "cpu" else device.module
    if not hasattr(module, "get_rng_state"):
        with device.by_torch():
            module = module.random
    place = () if device.kind in ("cpu", "mps") else (device.name,)  # of which there is one
    torch.manual_seed(int(device.integers(0, 2**31, 1)))
    kept = module.get_rng_state(*place)
    first = torch.randn(64, device=device.name).cpu()
    second = torch.randn(64, device=device.name).cpu()
    module.set_rng_state(kept, *place)
    again = torch.randn(64, device=device.name).cpu()
    if torch.equal(first, second):
        raise WrongResultError("two draws gave the same numbers")
    device.same(again, first, "a draw from the same state")


def _deterministic(device: Device) -> None:
    """The same sum over colliding indices, twice, bit by bit."""
    source = device.normal(20000).float()
    index = device.integers(0, 16, 20000)
    torch.use_deterministic_algorithms(True)
    try:
        found = [
            torch.zeros(16, device=device.name).index_add_(0, device.put(index), device.put(source))
            for _ in range(2)
        ]
    finally:
        torch.use_deterministic_algorithms(False)
    device.same(found[0], found[1].cpu(), "the second of two sums")
    reference = torch.zeros(16, dtype=torch.float64).index_add_(0, index, source.double())
    device.agree(found[0], reference, 1e-4, "a sum by index")


EXERCISES: Mapping[str, Callable[[Device], Any]] = {
    F.RUNTIME_STREAMS: _streams,
    F.RUNTIME_EVENTS: _events,
    F.RUNTIME_EVENT_TIMING: _event_timing,
    F.RUNTIME_STREAM_PRIORITIES: _priorities,
    F.RUNTIME_GRAPH_CAPTURE: _graph,
    F.RUNTIME_RNG_PER_DEVICE: _random,
    F.RUNTIME_DETERMINISTIC: _deterministic,
}
