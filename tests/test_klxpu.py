"""Kunlunxin XPUs, which torch_xmlir presents as torch.cuda: what that does not prove."""

from __future__ import annotations

import pytest
from machines import ask, cpu_host, merged

from accelcaps import Status
from accelcaps import features as F

ADDRESS = "0000:83:00.0"


def xpu(name="P800 OAM", number=0, **more):
    """One device as torch.cuda describes it."""
    return {
        "index": number, "name": name, "uuid": f"GPU-{number}", "memory_bytes": 96 * 2**30,
        "warp_size": 32, "compute_capability": "8.0", "visible": True, **more,
    }  # fmt: skip


def host(*xpus, **sections):
    """A host with XPUs, and with a CUDA build of PyTorch that torch_xmlir stands behind."""
    facts = cpu_host(
        torch="2.5.1+cu118",
        devices={
            "klxpu": {
                "driver": None,
                "list": list(xpus),
                "visible_to_system": [{"pci": ADDRESS, "id": "0x3686"}] if xpus else [],
            }
        },
    )
    facts["torch"]["runtime"]["backends"] = ["gloo", "nccl"]
    facts["packages"] |= {"torch-xmlir": "1.0.0", "flagtree": None, "vllm-kunlun": None}
    found = {
        "installed": True, "imports": True, "available": bool(xpus), "count": len(xpus),
        "error": None, "imitates": "torch.cuda",
    }  # fmt: skip
    facts["torch"]["devices"] = {"klxpu": found}
    return merged(facts, sections)


def told(verdict):
    return "; ".join(reason.text for reason in verdict.reasons)


def test_a_device_is_usable_under_torch_cudas_name():
    acc = ask(host(xpu()), "klxpu")

    assert acc.explain(F.DEVICE_AVAILABLE).status is Status.YES
    assert "torch.cuda is provided by its package" in told(acc.explain(F.DEVICE_AVAILABLE))


def test_figures_made_for_cuda_programs_are_not_passed_on():
    acc = ask(host(xpu()), "klxpu")

    assert acc.limits["limit.memory_bytes"] == 96 * 2**30
    for name in ("limit.warp_size", "limit.compute_capability", "limit.shared_memory_per_block"):
        assert name not in acc.limits


@pytest.mark.parametrize(
    ("environment", "status"),
    [
        ({}, Status.NO),
        ({"XPU_EVENT_KL3_ENABLE": "0"}, Status.NO),
        ({"XPU_EVENT_KL3_ENABLE": "1"}, Status.YES),
    ],
)
def test_timed_events_count_only_where_a_variable_turns_them_on(environment, status):
    acc = ask(host(xpu(), host={"environment": environment}), "klxpu")

    assert acc.explain(F.RUNTIME_EVENT_TIMING).status is status
    assert acc.explain(F.RUNTIME_EVENTS).status is Status.YES
    assert acc.explain(F.DEVICE_HOST_TIMERS).status is Status.YES


def test_without_timed_events_the_hosts_clock_is_offered():
    verdict = ask(host(xpu()), "klxpu").explain(F.RUNTIME_EVENT_TIMING)

    assert any("the host's clock" in remedy for remedy in verdict.remedies)


def test_what_is_told_of_kunlun3_is_not_told_of_others():
    p800, other = ask(host(xpu()), "klxpu"), ask(host(xpu("GPU")), "klxpu")

    assert p800.explain(F.DTYPE_FP8_E4M3).status is Status.NO
    assert "use fp16" in " ".join(p800.explain(F.DTYPE_FP8_E4M3).remedies)
    assert other.explain(F.DTYPE_FP8_E4M3).status is Status.UNKNOWN
    assert p800.explain(F.DTYPE_BF16_STORAGE).status is Status.YES
    assert other.explain(F.DTYPE_BF16_STORAGE).status is Status.UNKNOWN


def test_what_cuda_has_is_not_taken_to_be_there():
    acc = ask(host(xpu(), xpu(number=1)), "klxpu")

    assert acc.explain(F.COMM_BACKEND).value == "nccl"
    assert acc.explain(F.COMM_ALL_REDUCE_FP16).status is Status.YES
    for feature in (F.COMM_ALL_TO_ALL_SINGLE, F.MEMORY_PEER_ACCESS, F.DTYPE_TF32, F.ATTENTION_SDPA):
        assert acc.explain(feature).status is Status.UNKNOWN
    assert acc.explain(F.BUILD_CUDA).status is Status.NO
    assert acc.explain(F.COMPILE_DEEPCOMPILE).status is Status.NO


@pytest.mark.parametrize(
    ("version", "status"),
    [
        (None, Status.NO),
        ("0.7.0rc3+xpu3.6", Status.YES),
        ("0.7.0rc3+ascend3.2", Status.UNKNOWN),
    ],
)
def test_triton_runs_by_the_flagtree_that_is_built_for_xpus(version, status):
    facts = host(xpu(), packages={"flagtree": version, "triton": "3.1.0"})

    assert ask(facts, "klxpu").explain(F.TRITON_USABLE).status is status


def test_deepspeeds_own_word_counts_where_it_is_recorded():
    assert ask(host(xpu()), "klxpu").explain(F.DEEPSPEED_FP16).status is Status.UNKNOWN

    ops = {"klxpu": {"builders": {}, "accelerator": {"is_fp16_supported": True}}}
    assert ask(host(xpu(), ops=ops), "klxpu").explain(F.DEEPSPEED_FP16).status is Status.YES


def test_a_card_without_a_driver_says_where_it_is():
    facts = host(devices={"klxpu": {"visible_to_system": [{"pci": ADDRESS, "id": "0x3684"}]}})
    facts["torch"]["devices"]["klxpu"] |= {"installed": False, "error": "it is not installed"}
    verdict = ask(facts, "klxpu").explain(F.DEVICE_AVAILABLE)

    assert verdict.status is Status.NO
    assert ADDRESS in told(verdict)


def test_a_package_whose_libraries_are_missing_is_no_device_and_says_which():
    error = "torch_xmlir cannot be imported: OSError: libxpurt.so: cannot open shared object file"
    facts = host()
    facts["torch"]["devices"]["klxpu"] |= {"imports": False, "error": error}
    acc = ask(facts, "klxpu")

    assert acc.explain(F.DEVICE_AVAILABLE).status is Status.NO
    assert "libxpurt.so" in told(acc.explain(F.DEVICE_AVAILABLE))
    assert acc.explain(F.DTYPE_FP16).status is Status.UNKNOWN


@pytest.mark.parametrize("variable", ["XPU_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"])
def test_devices_that_a_variable_hides_are_told(variable):
    facts = host(xpu(visible=False), limits={"visible_devices": {variable: "7"}})
    verdict = ask(facts, "klxpu").explain(F.DEVICE_AVAILABLE)

    assert verdict.status is Status.NO
    assert f"unset {variable}" in verdict.remedies


def test_the_weaker_of_two_devices_decides_and_is_named():
    verdict = ask(host(xpu(), xpu("R300", 1)), "klxpu").explain(F.DTYPE_BF16_STORAGE)

    assert verdict.status is Status.UNKNOWN
    assert "R300 (GPU-1)" in told(verdict)
