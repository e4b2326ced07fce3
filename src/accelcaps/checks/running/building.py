"""Compilers: build something small with each, run it, and see that it did what it should."""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from accelcaps import features as F
from accelcaps.checks.running.device import NotTriedError, WrongResultError
from accelcaps.facts.toolchain import c_compilers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from accelcaps.checks.running.device import Device

__all__ = ["EXERCISES"]


def _run(command: list[str], folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise RuntimeError(
            f"{command[0]} exited with status {done.returncode}: {' / '.join(said[-2:])}"
        )
    return done.stdout


def _folder(device: Device, name: str) -> Path:
    made = Path(device.spec["scratch"], name)
    made.mkdir(parents=True)
    return made


def _c_compiler() -> str:
    for command in c_compilers():
        if shutil.which(command):
            return command
    raise FileNotFoundError(f"no C compiler: {' or '.join(c_compilers())} is not on PATH")


def _cc(device: Device) -> None:
    """Compile a C program that adds two random numbers, and run it."""
    folder = _folder(device, "cc")
    a, b = device.integers(0, 10**6, 2).tolist()
    source = f'#include <stdio.h>\nint main(void) {{ printf("%d", {a} + {b}); return 0; }}\n'
    (folder / "sum.c").write_text(source)
    _run([_c_compiler(), "sum.c", "-o", "sum"], folder)
    said = _run([str(folder / "sum")], folder)
    if said != str(a + b):
        raise WrongResultError(f"the program says that {a} + {b} is {said!r}")


def _headers(device: Device) -> None:
    """Compile a source that includes Python.h, and uses it, as an extension build does."""
    compiler = os.environ.get("CXX", "c++").split()
    if shutil.which(compiler[0]) is None:
        raise NotTriedError(f"there is no C++ compiler {compiler[0]} to look for them with")
    folder = _folder(device, "headers")
    (folder / "module.cpp").write_text(
        "#include <Python.h>\nPyObject *made() { return PyLong_FromLong(PY_MAJOR_VERSION); }\n"
    )
    include = sysconfig.get_paths()["include"]
    command = [*compiler, "-c", "-fPIC", f"-I{include}", "module.cpp", "-o", "module.o"]
    try:
        _run(command, folder)
    except RuntimeError as error:
        if "Python.h" in str(error):
            raise
        raise NotTriedError(f"the compiler fails for another reason: {error}") from error


def _ninja(device: Device) -> None:
    """Let ninja make a file."""
    folder = _folder(device, "ninja")
    number = str(int(device.integers(0, 10**6, 1)))
    (folder / "build.ninja").write_text(
        f"rule write\n  command = echo {number} > $out\nbuild made: write\n"
    )
    program = shutil.which("ninja")
    if program is None:
        raise FileNotFoundError("ninja is not on PATH")
    _run([program], folder)
    if (folder / "made").read_text().strip() != number:
        raise WrongResultError("ninja did not make what it was asked for")


_CXX = """
torch::Tensor combine(torch::Tensor a, torch::Tensor b, double factor) {
  return a * factor + b.sin();
}
"""
_DEVICE = """
#include <torch/extension.h>
__global__ void kernel(const float* a, const float* b, float* out, float factor, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = a[i] * factor + sinf(b[i]);
}
torch::Tensor combine(torch::Tensor a, torch::Tensor b, double factor) {
  auto out = torch::empty_like(a);
  kernel<<<(a.numel() + 255) / 256, 256>>>(
      a.data_ptr<float>(), b.data_ptr<float>(), out.data_ptr<float>(), factor, a.numel());
  return out;
}
"""
_SYCL = """
#include <torch/extension.h>
#include <c10/xpu/XPUStream.h>
#include <sycl/sycl.hpp>
torch::Tensor combine(torch::Tensor a, torch::Tensor b, double factor) {
  auto out = torch::empty_like(a);
  const float *x = a.data_ptr<float>(), *y = b.data_ptr<float>();
  float *z = out.data_ptr<float>(), f = factor;
  c10::xpu::getCurrentXPUStream().queue().parallel_for(
      sycl::range<1>(a.numel()), [=](sycl::id<1> i) { z[i] = x[i] * f + sycl::sin(y[i]); });
  return out;
}
"""
_DECLARED = "torch::Tensor combine(torch::Tensor a, torch::Tensor b, double factor);"


def _extension(kind: str) -> Callable[[Device], dict[str, Any]]:
    """Compile an extension of torch, load it, run it on the device, and compare."""

    def use(device: Device) -> dict[str, Any]:
        from torch.utils import cpp_extension

        if shutil.which("ninja") is None:
            raise NotTriedError(
                "ninja is not on PATH, and torch builds with it when it loads at once"
            )
        name = f"accelcaps_{kind}_{device.spec['seed']}"
        if kind == "cxx":
            built = cpp_extension.load_inline(
                name, [_CXX], functions=["combine"], build_directory=_folder(device, kind)
            )
        elif kind == "sycl":
            built = cpp_extension.load_inline(
                name, [_DECLARED], sycl_sources=[_SYCL], functions=["combine"],
                build_directory=_folder(device, kind),
            )  # fmt: skip
        else:
            _is_built_for(kind)
            built = cpp_extension.load_inline(
                name, [_DECLARED], [_DEVICE], functions=["combine"],
                build_directory=_folder(device, kind),
            )  # fmt: skip
        where = device.put if kind != "cxx" else torch.clone
        a, b = device.normal(1000).float(), device.normal(1000).float()
        factor = float(device.normal(1))
        found = built.combine(where(a), where(b), factor)
        reference = a.double() * factor + b.double().sin()
        return {"error": device.agree(found, reference, 1e-6, "what the extension gave")}

    return use


def _is_built_for(kind: str) -> None:
    """Raise where this torch is built for another of the two that share a compiler's interface."""
    if getattr(torch.version, kind) is None:
        raise RuntimeError(f"this PyTorch is built without {kind.upper()}")


EXERCISES: Mapping[str, Callable[[Device], Any]] = {
    F.BUILD_CC: _cc,
    F.BUILD_CXX: _extension("cxx"),
    F.BUILD_CUDA: _extension("cuda"),
    F.BUILD_HIP: _extension("hip"),
    F.BUILD_SYCL: _extension("sycl"),
    F.BUILD_NINJA: _ninja,
    F.BUILD_PYTHON_HEADERS: _headers,
}
