"""Several families on one host, packages without devices, and packages that pretend.

What cannot be had is simulated: a torch of a page, and vendors' modules of a line. The kinds are
those of DeepSpeed PRs 6845, 7299 and 8054, and huggingface/accelerate#3754.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from machines import ask, cuda_host, gpu, merged

import accelcaps
from accelcaps import Code, Facts, Status
from accelcaps import features as F

SITE = Path(__file__).parent / "simulated" / "site"
TORCH = """
import types
from torch import version
__version__ = version.__version__

class Family(types.ModuleType):
    def __init__(self, name, *devices):
        super().__init__(name)
        self.devices = devices
        self.is_available = lambda: bool(devices)
        self.is_available.__module__ = name
    def init(self): pass
    def device_count(self): return len(self.devices)
    def get_device_properties(self, index): return self.devices[index]
    def get_device_name(self, index): return self.devices[index].name

def device(name, **more):
    return types.SimpleNamespace(name=name, total_memory=16 * 2**30, **more)

class distributed:
    is_available = is_gloo_available = is_nccl_available = lambda: True

_C = types.SimpleNamespace(_cuda_getArchFlags=lambda: "sm_80 sm_90",
                           _nccl_version=lambda: (2 << 32) | (21 << 16) | 5)
cuda = Family("torch.cuda")
"""
NVIDIA = 'cuda = Family("torch.cuda", device("Simulated H100", major=9, minor=0, uuid="1"))\n'
INTEL = (
    'xpu = Family("torch.xpu", device("{}", is_integrated_gpu={}, has_fp16=True, has_fp64=True))\n'
)


@pytest.fixture
def host(tmp_path):
    """Ask a fresh interpreter that finds this torch, and these modules beside it."""

    def why(torch, *, cuda=None, xpu=None, nvml=True, **modules):
        (tmp_path / "torch").mkdir()
        (tmp_path / "torch/__init__.py").write_text(TORCH + torch)
        (tmp_path / "torch/version.py").write_text(
            f"__version__ = '2.13.0'\ncuda = {cuda!r}\nhip = None\nxpu = {xpu!r}\n"
        )
        for name, text in modules.items():
            (tmp_path / f"{name}.py").write_text(text)
        if nvml:
            (tmp_path / "pynvml.py").write_text((SITE / "pynvml.py").read_text())
        done = subprocess.run(
            [sys.executable, "-m", "accelcaps", "why", "--json"],
            env={
                **os.environ,
                "SIMULATED_RECORD": str(tmp_path / "record"),
                "PYTHONPATH": os.pathsep.join([str(tmp_path), *filter(None, sys.path)]),
            },
            capture_output=True, text=True, check=True, timeout=120,
        )  # fmt: skip
        choice = json.loads(done.stdout)
        return choice, {each["name"]: each["available"] for each in choice["candidates"]}

    return why


def words(available):
    return "; ".join(reason["text"] for reason in available["reasons"])


def test_a_package_that_imports_and_has_no_device_is_ignored(host):
    """ipex beside a CUDA build of torch (PR 6845)."""
    choice, available = host(NVIDIA, cuda="12.6", intel_extension_for_pytorch="")

    assert choice["chosen"] == "cuda"
    assert available["xpu"]["status"] == "no"


def test_a_discrete_card_is_chosen_before_an_integrated_one_and_that_is_said(host):
    """accelerate#3754: an integrated XPU beside a CUDA card."""
    intel = INTEL.format("Intel(R) UHD Graphics 770", True)
    choice, available = host(NVIDIA + intel, cuda="12.6", xpu="20250200")

    assert choice["chosen"] == "cuda"
    assert available["xpu"]["status"] == "yes"
    assert "xpu (integrated) can be used too" in choice["because"]


def test_a_discrete_card_of_another_family_is_told_too(host):
    intel = INTEL.format("Intel(R) Arc(TM) A770 Graphics", False)
    choice, _available = host(NVIDIA + intel, cuda="12.6", xpu="20250200")

    assert choice["chosen"] == "cuda"
    assert "xpu can be used too" in choice["because"]


def test_an_integrated_card_is_chosen_where_it_is_the_only_one(host):
    intel = INTEL.format("Intel(R) UHD Graphics 770", True)
    choice, _ = host(intel, xpu="20250200", nvml=False)

    assert choice["chosen"] == "xpu"


def test_a_package_that_cannot_load_its_library_is_a_reasoned_no(host):
    """PR 7299: the import fails with an OSError, which nobody expects."""
    error = "libascend_hal.so: cannot open shared object file: No such file or directory"
    choice, available = host("", torch_npu=f"raise OSError({error!r})", nvml=False)

    assert choice["chosen"] == "cpu"
    assert available["npu"]["status"] == "no"
    assert f"torch_npu cannot be imported: OSError: {error}" in words(available["npu"])


@pytest.mark.parametrize(
    "text",
    [
        "raise RuntimeError('driver too old')",
        "import sys; sys.exit(3)",
        "import os; os.abort()",
        "raise KeyboardInterrupt",
    ],
)
def test_a_package_that_fails_in_any_way_leaves_the_others_alone(host, text):
    choice, available = host(NVIDIA, cuda="12.6", torch_npu=text)

    assert choice["chosen"] == "cuda"
    assert available["npu"]["status"] in ("no", "unknown")
    assert words(available["npu"])


def test_a_package_that_imitates_cuda_is_itself_and_not_cuda(host):
    """PR 8054: torch.cuda is provided by torch_supa."""
    supa = """
import torch
def is_available(): return True
torch.supa = torch.Family("torch.supa", torch.device("Simulated BR106"))
torch.cuda = torch.Family("torch.cuda", torch.device("Simulated BR106"))
torch.cuda.is_available = is_available
"""
    choice, available = host("", torch_supa=supa, nvml=False)

    assert choice["chosen"] == "supa"
    assert "torch.cuda is provided by" in words(available["supa"])
    assert available["cuda"]["status"] == "no"


def test_torchs_own_cuda_is_not_asked_where_another_package_provides_it(host):
    """Loaded with torch itself, as its autoloading does."""
    autoloaded = """
def is_available(): return True
is_available.__module__ = "torch_supa"
cuda = Family("torch.cuda", device("Simulated BR106", major=9, minor=0, uuid="1"))
cuda.is_available = is_available
"""
    choice, available = host(autoloaded, cuda="12.6", nvml=False)

    assert choice["chosen"] != "cuda"
    assert available["cuda"]["status"] == "no"
    assert "torch.cuda is provided by torch_supa" in words(available["cuda"])


def test_what_answers_below_torch_cuda_is_itself_and_not_cuda(host):
    """torch_xmlir presents Kunlunxin XPUs by a CUDA build of torch, and replaces no function."""
    xpu = 'cuda = Family("torch.cuda", device("P800 OAM", major=8, minor=0, uuid="1"))\n'
    choice, available = host(xpu, cuda="11.8", nvml=False, torch_xmlir="")

    assert choice["chosen"] == "klxpu"
    assert "torch.cuda is provided by" in words(available["klxpu"])
    assert "torch.cuda is provided by torch_xmlir" in words(available["cuda"])


class TestMixedDevices:
    """Each device is answered for itself; the weakest decides, and is named."""

    def test_the_weakest_decides_and_is_named_by_its_uuid(self):
        old = gpu("Tesla V100", "7.0", number=1)
        verdict = ask(cuda_host(gpu("A100", "8.0"), old)).explain(F.DTYPE_BF16)

        assert Status.DEGRADED is verdict.status
        assert f"Tesla V100 ({old['uuid']})" in str(verdict)
        assert "A100" not in verdict.reasons[0].text

    def test_a_device_without_a_uuid_is_named_by_its_address(self):
        old = gpu("Tesla V100", "7.0", number=1, uuid=None)
        verdict = ask(cuda_host(gpu("A100", "8.0"), old)).explain(F.DTYPE_BF16)

        assert f"Tesla V100 ({old['pci']})" in str(verdict)

    def test_the_able_ones_can_be_used_alone(self):
        new, old = gpu("H100", "9.0"), gpu("A100", "8.0", number=1)
        verdict = ask(cuda_host(new, old)).explain(F.DTYPE_FP8_E4M3)

        assert Status.NO is verdict.status
        assert f"set CUDA_VISIBLE_DEVICES={new['uuid']} to use those devices alone" in str(verdict)

    def test_the_order_of_the_devices_changes_nothing(self):
        both = gpu("H100", "9.0"), gpu("A100", "8.0", number=1)
        one, other = (ask(cuda_host(*order)) for order in (both, reversed(both)))

        for feature in (F.DTYPE_BF16, F.DTYPE_FP8_E4M3, F.TRITON_DEVICE):
            assert one.explain(feature).status is other.explain(feature).status
            assert set(one.explain(feature).reasons) == set(other.explain(feature).reasons)

    def test_a_hidden_device_is_not_asked(self):
        old = gpu("Tesla V100", "7.0", number=1, visible=False)

        assert Status.YES is ask(cuda_host(gpu("A100", "8.0"), old)).explain(F.DTYPE_BF16).status


def test_two_families_of_one_machine_are_each_answered_for():
    """Written down as a report has it: a CUDA build of torch, an Intel GPU on the bus."""
    facts = merged(
        cuda_host(gpu("A100", "8.0")),
        {"devices": {"xpu": {"list": [], "visible_to_system": [{"pci": "0000:00:02.0"}]}}},
    )
    choice = accelcaps.why(Facts(facts, name="x"))

    xpu = next(each for each in choice.candidates if each.name == "xpu")
    assert choice.chosen == "cuda"
    assert (xpu.available.status, xpu.visible) == (Status.NO, True)
    assert xpu.available.reasons[0].code in (Code.DRIVER_MISSING, Code.SOFTWARE_BUILD)


BACKEND = """
import os
def _import_device_backends():
    raise RuntimeError(
        "Failed to load the backend extension: torch_npu. You can disable extension auto-loading "
        "with TORCH_DEVICE_BACKEND_AUTOLOAD=0."
    ) from ImportError("libhccl.so: cannot open shared object file")
if os.environ.get("TORCH_DEVICE_BACKEND_AUTOLOAD", "1") == "1":
    _import_device_backends()
"""


class TestABackendThatTorchLoadsByItself:
    """torch_npu without CANN makes ``import torch`` itself fail, for the CPU too."""

    def test_the_real_cause_and_the_way_out_are_told(self, host):
        choice, available = host(BACKEND, torch_npu="import torch", nvml=False)

        assert available["cpu"]["status"] == available["npu"]["status"] == "no"
        assert "libhccl.so" in words(available["cpu"])
        assert "libhccl.so" in words(available["npu"])
        assert "export TORCH_DEVICE_BACKEND_AUTOLOAD=0" in available["cpu"]["remedies"]
        assert choice["chosen"] == "cpu"

    def test_without_it_the_cpu_works(self, host, monkeypatch):
        monkeypatch.setenv("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")
        _, available = host(BACKEND, torch_npu="import torch", nvml=False)

        assert available["cpu"]["status"] == "yes"
