"""Which accelerator is chosen, and that no device is touched in the caller's process."""

from __future__ import annotations

import json
import os
import sys
import warnings
from pathlib import Path

import pytest
from machines import cpu_host, cuda_host, gpu

import accelcaps
from accelcaps import Facts, UnknownAcceleratorError
from accelcaps.accelerators import registry

SITE = Path(__file__).parent / "simulated" / "site"
H100 = gpu("NVIDIA H100", "9.0")


@pytest.fixture
def here(monkeypatch):
    """Let a written machine be this one."""

    def be(facts):
        monkeypatch.setattr(registry, "_here", {})
        monkeypatch.setattr(registry, "_facts_here", [Facts(facts, name="this machine")])

    return be


def test_the_first_usable_accelerator_is_chosen(here):
    here(cuda_host(H100))

    assert accelcaps.get_accelerator().name == "cuda"
    assert accelcaps.why().chosen == "cuda"


def test_without_a_card_it_is_the_cpu_and_nobody_is_warned(here):
    here(cpu_host("avx2"))

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert accelcaps.get_accelerator().name == "cpu"
    choice = accelcaps.why()
    assert choice.overlooked == ()
    names = [candidate.name for candidate in choice.candidates]
    assert set(names) == {
        "cuda", "rocm", "hpu", "npu", "mlu", "sdaa", "supa", "klxpu", "xpu", "mps", "cpu"
    }  # fmt: skip
    assert names[-1] == "cpu"


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        (cuda_host(H100, torch="2.13.0+cpu", cuda=None), "built without CUDA"),
        (cuda_host(H100, cuda="13.0", driver="550.54.14"), "needs at least 580.65"),
        (cuda_host(gpu("RTX 5090", "12.0")), "none for compute capability 12.0"),
        (cuda_host(H100, driver=None) | {"devices": {"cuda": {
            "driver": None, "list": [], "visible_to_system": [{"pci": "0000:01:00.0", "id": "x"}]}}},
         "no NVIDIA driver is loaded"),
    ],
)  # fmt: skip
def test_a_card_that_cannot_be_used_is_never_silently_the_cpu(here, facts, words):
    here(facts)

    with pytest.warns(UserWarning, match=f"using cpu, although cuda hardware is there.*{words}"):
        acc = accelcaps.get_accelerator()
    assert acc.name == "cpu"
    assert [candidate.name for candidate in accelcaps.why().overlooked] == ["cuda"]
    assert words in str(accelcaps.why())


@pytest.mark.parametrize("variable", ["ACCELCAPS_ACCELERATOR", "DS_ACCELERATOR"])
def test_a_variable_overrides(here, monkeypatch, variable):
    here(cuda_host(H100))
    monkeypatch.setenv(variable, "cpu")

    assert accelcaps.get_accelerator().name == "cpu"
    assert f"{variable} says so" == accelcaps.why().because


def test_our_variable_goes_before_deepspeeds(here, monkeypatch):
    here(cuda_host(H100))
    monkeypatch.setenv("ACCELCAPS_ACCELERATOR", "cpu")
    monkeypatch.setenv("DS_ACCELERATOR", "cuda")

    assert accelcaps.get_accelerator().name == "cpu"


@pytest.mark.parametrize("variable", ["ACCELCAPS_ACCELERATOR", "DS_ACCELERATOR"])
def test_a_wrong_value_is_an_error_that_lists_the_right_ones(here, monkeypatch, variable):
    here(cpu_host("avx2"))
    monkeypatch.setenv(variable, "gpu")

    with pytest.raises(UnknownAcceleratorError, match=rf"{variable}.*'gpu'.*cuda, rocm, .*cpu"):
        accelcaps.get_accelerator()


def test_a_wrong_name_is_an_error_that_lists_the_right_ones():
    with pytest.raises(UnknownAcceleratorError, match=r"'gpu'; known are cuda, rocm, .*cpu"):
        accelcaps.get_accelerator("gpu")


def test_both_families_of_one_host_can_be_asked(here):
    here(cuda_host(H100))

    cuda, cpu = accelcaps.get_accelerator("cuda"), accelcaps.get_accelerator("cpu")
    assert cuda.facts is cpu.facts
    assert cuda.supports("dtype.fp8_e4m3")
    assert cpu.supports("device.synchronous")
    assert cuda is accelcaps.get_accelerator("cuda")


def test_a_variable_does_not_steer_the_answer_for_another_machine(monkeypatch):
    monkeypatch.setenv("ACCELCAPS_ACCELERATOR", "cpu")

    assert accelcaps.get_accelerator(facts=Facts(cuda_host(H100), name="x")).name == "cuda"


def test_hardware_without_software_is_still_asked_about():
    facts = {"devices": {"cuda": {"list": [H100], "visible_to_system": []}}}

    assert accelcaps.why(Facts(facts, name="x")).chosen == "cuda"


def test_the_choice_serialises():
    choice = accelcaps.why(Facts(cuda_host(H100), name="x"))

    data = json.loads(json.dumps(choice.to_json()))
    assert data["chosen"] == "cuda"
    chosen = [candidate["name"] for candidate in data["candidates"] if candidate["chosen"]]
    assert chosen == ["cuda"]


ASK = """
import json, os, sys
import torch
import accelcaps
from accelcaps import features as F
acc = accelcaps.get_accelerator("cuda")
accelcaps.why()
answers = {str(k): v.status.value for k, v in acc.features().items()}
record = open(os.environ["SIMULATED_RECORD"]).read().split("\\n")
mine = [line for line in record if line.startswith(f"{os.getpid()} ")]
theirs = [line.split()[1] for line in record if line and not line.startswith(f"{os.getpid()} ")]
"""


@pytest.fixture
def simulated_gpu(tmp_path, monkeypatch):
    """A process in which a CUDA build of torch with one device is simulated."""
    record = tmp_path / "record"
    record.touch()
    monkeypatch.setenv("SIMULATED_RECORD", str(record))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(SITE), *filter(None, sys.path)]))
    return record


def test_asking_makes_no_call_that_could_touch_a_device_in_this_process(simulated_gpu, python):
    """DeepSpeed#7918, #7252, PR 8078: every such call was made by a child."""
    done = python(ASK + "print(json.dumps([mine, sorted(set(theirs)), answers]))")

    mine, theirs, answers = json.loads(done.stdout)
    assert mine == []
    assert {"cuda.is_available", "cuda._lazy_init", "pynvml.nvmlInit"} <= set(theirs)
    assert answers["device.available"] == "yes"
    assert answers["dtype.fp8_e4m3"] == "yes"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_child_can_use_the_device_after_its_parent_asked(simulated_gpu, python):
    code = (
        ASK
        + """
pid = os.fork()
if pid == 0:
    torch.cuda.init()
    print("used", torch.cuda.get_device_capability(), acc.supports(F.DTYPE_BF16), flush=True)
    os._exit(0)
print("status", os.waitpid(pid, 0)[1])
"""
    )
    done = python(code)

    assert "used (9, 0) True" in done.stdout, done.stderr
    assert "status 0" in done.stdout


def test_visibility_can_be_set_after_asking(simulated_gpu, python):
    code = (
        ASK
        + """
os.environ["CUDA_VISIBLE_DEVICES"] = "0,1"
print(torch.cuda.device_count())
"""
    )
    assert python(code).stdout.strip() == "2"


def test_what_is_imported_already_is_not_imported_again(simulated_gpu, python):
    """A training script pays for no second torch where none is needed."""
    code = """
import torch
import accelcaps.facts.isolation as isolation
asked = []
original = isolation.run_probe
isolation.run_probe = lambda probe, *a, **k: asked.append(probe) or original(probe, *a, **k)
import accelcaps.facts.torch
accelcaps.facts.torch.run_probe = isolation.run_probe
import accelcaps
acc = accelcaps.get_accelerator("cuda")
acc.explain("build.kernel_image")
print([p for p in asked if "torch" in p], acc.facts.get("torch", "runtime", "arch_list"))
"""
    assert python(code).stdout.strip() == "[] ['sm_80', 'sm_90']"


def test_a_management_library_that_crashes_does_not_stop_torch(simulated_gpu, monkeypatch, python):
    monkeypatch.setenv("SIMULATED_NVML", "crash")

    done = python(
        "import accelcaps; print(accelcaps.get_accelerator('cuda').explain('device.available'))"
    )

    assert done.stdout.startswith("device.available: yes")


def test_a_management_library_that_crashes_is_unknown(simulated_gpu, monkeypatch, python):
    """Where torch sees no device either, nobody can tell why."""
    monkeypatch.setenv("SIMULATED_NVML", "crash")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    code = """
import accelcaps
verdict = accelcaps.get_accelerator("cuda").explain("device.available")
print(verdict.status, verdict.reasons[0].code, "SIGABRT" in str(verdict))
"""
    assert python(code).stdout.strip() == "unknown probe.crashed True"


def test_a_driver_that_is_too_old_is_believed_where_torch_agrees(
    simulated_gpu, monkeypatch, python
):
    monkeypatch.setenv("SIMULATED_DRIVER", "470.10.01")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    code = """
import accelcaps
print(accelcaps.get_accelerator("cuda").explain("build.driver").status)
"""
    # The simulated torch runs on it all the same, as with a forward compatibility package.
    assert python(code).stdout.strip() == "yes"


def test_devices_that_nvml_does_not_tell_are_those_that_torch_sees(
    simulated_gpu, monkeypatch, python
):
    """An integrated GPU, or a host where NVML does not work, is not "no device"."""
    monkeypatch.setenv("SIMULATED_NVML", "absent")
    code = """
import accelcaps
acc = accelcaps.get_accelerator("cuda")
print(acc.explain("device.available").status, acc.devices()[0]["name"], acc.limits["limit.cores"])
"""
    assert python(code).stdout.strip() == "yes Simulated H100 132"
