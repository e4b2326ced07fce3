"""A stand-in for NVIDIA's management library, with one device; records its initialisation."""

import os
import types


class NVMLError_LibraryNotFound(Exception):  # noqa: N801, N818
    pass


def nvmlInit():
    with open(os.environ["SIMULATED_RECORD"], "a") as out:
        out.write(f"{os.getpid()} pynvml.nvmlInit\n")
    if os.environ.get("SIMULATED_NVML") == "crash":
        os.abort()
    if os.environ.get("SIMULATED_NVML") == "absent":
        raise NVMLError_LibraryNotFound("NVML Shared Library Not Found")


def nvmlShutdown():
    pass


def nvmlSystemGetDriverVersion():
    return os.environ.get("SIMULATED_DRIVER", "570.124.06")


def nvmlSystemGetCudaDriverVersion_v2():
    return 12080


def nvmlDeviceGetCount():
    return 1


def nvmlDeviceGetHandleByIndex(index):
    return index


def nvmlDeviceGetName(handle):
    return "Simulated H100"


def nvmlDeviceGetUUID(handle):
    return "GPU-00000000-simulated"


def nvmlDeviceGetCudaComputeCapability(handle):
    return (9, 0)


def nvmlDeviceGetMemoryInfo(handle):
    return types.SimpleNamespace(total=80 * 2**30)


def nvmlDeviceGetPciInfo(handle):
    return types.SimpleNamespace(busId="00000000:01:00.0")


def nvmlDeviceGetMigMode(handle):
    return (0, 0)
