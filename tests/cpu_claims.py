"""Use, on the CPU, what features promise; print what worked. A program that tests start."""

import json
import os
import socket
import sys
import warnings

import torch

warnings.simplefilter("ignore")
DTYPES = {
    "fp64": torch.float64, "fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16,
    "complex64": torch.complex64, "complex128": torch.complex128, "int8": torch.int8,
    "fp8_e4m3": torch.float8_e4m3fn, "fp8_e5m2": torch.float8_e5m2,
    "fp8_e4m3fnuz": torch.float8_e4m3fnuz, "fp8_e5m2fnuz": torch.float8_e5m2fnuz,
}  # fmt: skip


def attempt(outcomes, name, use):
    try:
        ok = use()
    except Exception as error:
        outcomes[name] = f"{type(error).__name__}: {error}"[:160]
    else:
        outcomes[name] = "worked" if ok in (None, True) else f"gave {ok!r}"


def product(dtype):
    a = torch.randn(48, 48).to(dtype)
    if dtype is torch.int8:
        found, wide = torch._int_mm(a, a), a.long() @ a.long()
    elif dtype.itemsize == 1:
        one = torch.tensor(1.0)
        found = torch._scaled_mm(a, a.t().contiguous().t(), one, one, out_dtype=torch.float32)
        wide = a.double() @ a.double()
    else:
        a.requires_grad_(True)
        found = a @ a
        found.abs().sum().backward()
        wide = a.detach().to(torch.complex128 if a.is_complex() else torch.float64)
        wide = wide @ wide
    error = (found.detach().to(wide.dtype) - wide).abs().max() / wide.abs().max()
    return bool(error < 0.02)


def block_scaled(pack):
    scales = torch.ones(32, 1, dtype=torch.float8_e8m0fnu)
    a = torch.randn(32, 32).to(torch.float8_e4m3fn)
    a = a.view(torch.float4_e2m1fn_x2) if pack else a
    torch._scaled_mm(a, a.t(), scales, scales, out_dtype=torch.float32)


def attention(backend):
    from torch.nn.attention import SDPBackend, sdpa_kernel

    q = torch.randn(1, 2, 16, 32)
    with sdpa_kernel(getattr(SDPBackend, backend)):
        torch.nn.functional.scaled_dot_product_attention(q, q, q)


def autocast(dtype):
    with torch.autocast("cpu", dtype=dtype):
        return (torch.randn(8, 8) @ torch.randn(8, 8)).dtype is dtype


def scaler():
    parameter = torch.nn.Parameter(torch.ones(2))
    optimizer, grads = torch.optim.SGD([parameter], 0.1), torch.amp.GradScaler("cpu")
    grads.scale(parameter.sum()).backward()
    grads.step(optimizer)
    return bool(parameter[0] != 1)


def random_state():
    torch.manual_seed(1)
    kept = torch.get_rng_state()
    first = torch.randn(3)
    torch.set_rng_state(kept)
    return torch.equal(first, torch.randn(3))


def compiled():
    def f(x):
        return torch.sin(x) + 1

    x = torch.randn(8)
    return torch.allclose(torch.compile(f, backend="inductor")(x), f(x), atol=1e-5)


def ranges():
    torch.profiler.itt.range_push("name")
    torch.profiler.itt.range_pop()


def shared():
    return torch.ones(4).share_memory_().is_shared()


def one():
    found = {}
    for name, dtype in DTYPES.items():
        attempt(found, f"dtype.{name}", lambda dtype=dtype: product(dtype))
        attempt(found, f"dtype.{name}.storage",
                lambda dtype=dtype: torch.equal(torch.ones(3).to(dtype).to(torch.float32), torch.ones(3)))  # fmt: skip
    attempt(found, "dtype.mxfp8", lambda: block_scaled(False))
    attempt(found, "dtype.nvfp4", lambda: block_scaled(True))
    attempt(found, "dtype.bf16.autocast", lambda: autocast(torch.bfloat16))
    attempt(found, "dtype.fp16.autocast", lambda: autocast(torch.float16))
    attempt(found, "dtype.fp16.grad_scaler", scaler)
    attempt(found, "runtime.events", lambda: torch.Event("cpu").record())
    attempt(found, "runtime.event_timing", lambda: torch.Event("cpu", enable_timing=True).record())
    attempt(found, "runtime.rng_per_device", random_state)
    attempt(found, "runtime.deterministic", lambda: torch.use_deterministic_algorithms(False))
    attempt(found, "runtime.profiler_ranges", ranges)
    attempt(found, "memory.pinned_host", lambda: torch.ones(3).pin_memory().is_pinned())
    attempt(found, "memory.stats", lambda: bool(torch.cpu.memory_stats()))
    attempt(found, "memory.ipc", shared)
    attempt(found, "attention.sdpa", lambda: attention("MATH"))
    attempt(found, "attention.flash_attention", lambda: attention("FLASH_ATTENTION"))
    attempt(found, "attention.mem_efficient", lambda: attention("EFFICIENT_ATTENTION"))
    attempt(found, "attention.cudnn", lambda: attention("CUDNN_ATTENTION"))
    attempt(found, "compile.inductor", compiled)
    attempt(found, "op.grouped_mm", lambda: torch._grouped_mm(
        torch.randn(16, 16).bfloat16(), torch.randn(2, 16, 16).bfloat16(),
        offs=torch.tensor([8, 16], dtype=torch.int32)).shape == (16, 16))  # fmt: skip
    return found


def collectives(rank):
    import torch.distributed as dist
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.distributed_c10d import _coalescing_manager

    dist.init_process_group("gloo", rank=rank, world_size=2)
    found = {}

    def expect(tensor, value):
        return bool((tensor.float() == value).all())

    def tensors(dtype):
        return (
            torch.ones(4).to(dtype) * (rank + 1) if dtype.itemsize > 1 else torch.ones(4).to(dtype)
        )

    def all_reduce(dtype, op=dist.ReduceOp.SUM, value=3.0):
        t = tensors(dtype)
        dist.all_reduce(t, op)
        return expect(t, value)

    def reduce(dtype):
        t = tensors(dtype)
        dist.reduce(t, 0)
        return rank != 0 or expect(t, 3)

    def broadcast(dtype):
        t = tensors(dtype)
        dist.broadcast(t, 1)
        return expect(t, 2)

    def all_gather(dtype):
        parts = [torch.zeros(4).to(dtype) for _ in range(2)]
        dist.all_gather(parts, tensors(dtype))
        return expect(parts[1], 2)

    def all_gather_into_tensor(dtype):
        whole = torch.zeros(8).to(dtype)
        dist.all_gather_into_tensor(whole, tensors(dtype))
        return expect(whole[4:], 2)

    def reduce_scatter(dtype, op=dist.ReduceOp.SUM, value=3.0):
        part = torch.zeros(4).to(dtype)
        dist.reduce_scatter(part, [tensors(dtype), tensors(dtype)], op)
        return expect(part, value)

    def reduce_scatter_tensor(dtype, op=dist.ReduceOp.SUM, value=3.0):
        part = torch.zeros(2).to(dtype)
        dist.reduce_scatter_tensor(part, tensors(dtype), op)
        return expect(part, value)

    def all_to_all_single(dtype):
        out = torch.zeros(4).to(dtype)
        dist.all_to_all_single(out, tensors(dtype))
        return expect(out[2:], 2)

    def send_recv(dtype):
        t = tensors(dtype)
        dist.send(t, 1) if rank == 0 else dist.recv(t, 0)
        return expect(t, 1)

    typed = {
        "all_reduce": all_reduce, "reduce": reduce, "broadcast": broadcast,
        "all_gather": all_gather, "all_gather_into_tensor": all_gather_into_tensor,
        "reduce_scatter": reduce_scatter, "reduce_scatter_tensor": reduce_scatter_tensor,
        "all_to_all_single": all_to_all_single, "send_recv": send_recv,
    }  # fmt: skip
    for name, use in typed.items():
        attempt(found, f"comm.{name}", lambda use=use: use(torch.float32))
        for aspect in ("bf16", "fp16"):
            attempt(found, f"comm.{name}.{aspect}", lambda use=use, a=aspect: use(DTYPES[a]))
    for name in (
        "all_reduce",
        "broadcast",
        "all_gather",
        "all_gather_into_tensor",
        "all_to_all_single",
    ):
        attempt(found, f"comm.{name}.fp8", lambda use=typed[name]: use(torch.float8_e4m3fn))
    average = dist.ReduceOp.AVG
    attempt(found, "comm.all_reduce.avg", lambda: all_reduce(torch.float32, average, 1.5))
    attempt(found, "comm.reduce_scatter.avg", lambda: reduce_scatter(torch.float32, average, 1.5))
    attempt(found, "comm.reduce_scatter_tensor.avg",
            lambda: reduce_scatter_tensor(torch.float32, average, 1.5))  # fmt: skip
    attempt(found, "comm.all_reduce.premul_sum",
            lambda: all_reduce(torch.float32, dist._make_nccl_premul_sum(2.0), 6.0))  # fmt: skip

    def all_to_all():
        out = [torch.zeros(2) for _ in range(2)]
        dist.all_to_all(out, list(tensors(torch.float32).chunk(2)))
        return expect(out[1], 2)

    def gather():
        parts = [torch.zeros(4) for _ in range(2)] if rank == 0 else None
        dist.gather(tensors(torch.float32), parts, 0)
        return rank != 0 or expect(parts[1], 2)

    def scatter():
        part = torch.zeros(4)
        dist.scatter(part, [torch.ones(4), torch.ones(4) * 2] if rank == 0 else None, 0)
        return expect(part, rank + 1)

    def objects():
        known = [None, None]
        dist.all_gather_object(known, {"rank": rank})
        return known[1] == {"rank": 1}

    def coalescing():
        t, u = tensors(torch.float32), tensors(torch.float32)
        with _coalescing_manager(device=torch.device("cpu")):
            dist.all_reduce(t)
            dist.broadcast(u, 1)
        return expect(t, 3) and expect(u, 2)

    attempt(found, "comm.all_to_all", all_to_all)
    attempt(found, "comm.gather", gather)
    attempt(found, "comm.scatter", scatter)
    attempt(found, "comm.barrier", dist.barrier)
    attempt(found, "comm.monitored_barrier", dist.monitored_barrier)
    attempt(found, "comm.object_collectives", objects)
    attempt(found, "comm.new_group", lambda: dist.barrier(dist.new_group([0, 1])))
    attempt(found, "comm.device_mesh", lambda: init_device_mesh("cpu", (2,)).size() == 2)
    attempt(found, "comm.coalescing", coalescing)
    if rank == 0:
        print("ANSWER", json.dumps(found), flush=True)


def two():
    import torch.multiprocessing as mp

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    mp.spawn(collectives, nprocs=2)


if __name__ == "__main__":
    if sys.argv[1] == "one":
        print("ANSWER", json.dumps(one()))
    else:
        two()
