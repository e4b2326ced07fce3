"""A stand-in for a CUDA build of torch that records every call that could touch a device."""

import os
import types

from torch import distributed, version  # noqa: F401

__version__ = version.__version__


def _record(name):
    with open(os.environ["SIMULATED_RECORD"], "a") as out:
        out.write(f"{os.getpid()} {name}\n")


class _Cuda(types.ModuleType):
    """Behaves as torch.cuda does about contexts and forks, on one simulated device."""

    owner = None

    def _lazy_init(self):
        _record("cuda._lazy_init")
        if type(self).owner not in (None, os.getpid()):
            raise RuntimeError("Cannot re-initialize CUDA in forked subprocess")
        type(self).owner = os.getpid()

    def init(self):
        self._lazy_init()

    def is_available(self):
        _record("cuda.is_available")
        return bool(os.environ.get("CUDA_VISIBLE_DEVICES", "0"))

    def device_count(self):
        _record("cuda.device_count")
        return len([x for x in os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",") if x])

    def get_device_properties(self, index):
        _record("cuda.get_device_properties")
        self._lazy_init()
        return types.SimpleNamespace(
            name="Simulated H100", major=9, minor=0, total_memory=80 * 2**30,
            multi_processor_count=132, warp_size=32, uuid="00000000-simulated",
        )  # fmt: skip

    def get_device_capability(self, index=0):
        _record("cuda.get_device_capability")
        self._lazy_init()
        return (9, 0)

    def current_device(self):
        _record("cuda.current_device")
        self._lazy_init()
        return 0

    def can_device_access_peer(self, a, b):
        _record("cuda.can_device_access_peer")
        return True


cuda = _Cuda("torch.cuda")
_C = types.SimpleNamespace(
    _cuda_getArchFlags=lambda: "sm_80 sm_90",
    _nccl_version=lambda: (2 << 32) | (21 << 16) | 5,
    _has_cudnn=True,
    _GLIBCXX_USE_CXX11_ABI=True,
)
backends = types.SimpleNamespace(
    cpu=types.SimpleNamespace(get_cpu_capability=lambda: "AVX2"),
    mkldnn=types.SimpleNamespace(is_available=lambda: True),
)
profiler = types.SimpleNamespace(itt=types.SimpleNamespace(is_available=lambda: True))


def get_device_module(device=None):
    _record("get_device_module")
    return cuda
