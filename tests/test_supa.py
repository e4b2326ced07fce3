"""Biren GPUs: the family of the GPU, the torch_supa that fits it, and what Biren leaves open."""

from __future__ import annotations

import pytest
from machines import ask, cpu_host, merged

from accelcaps import Code, Status
from accelcaps import features as F


def biren(name, number=0, **more):
    """One GPU as torch.supa describes it."""
    return {"index": number, "name": name, "memory_bytes": 64 * 2**30, "visible": True, **more}


def host(*gpus, torch="2.10.0+cpu", plugin="1.0.0.21000+br2xx", **sections):
    """A host with Biren GPUs and the plugin for them."""
    facts = cpu_host(
        torch=torch,
        devices={
            "supa": {
                "driver": None,
                "list": list(gpus),
                "visible_to_system": [
                    {"pci": f"/dev/biren/card_{each['index']}", "id": "node"} for each in gpus
                ],
            }
        },
    )
    facts["packages"] |= {"torch-supa": plugin, "br-triton": None}
    found = {
        "installed": True, "imports": True, "available": bool(gpus), "count": len(gpus),
        "error": None, "imitates": "torch.cuda",
    }  # fmt: skip
    facts["torch"]["devices"] = {"supa": found}
    return merged(facts, sections)


def told(verdict):
    return "; ".join(reason.text for reason in verdict.reasons)


def test_a_gpu_with_its_plugin_is_usable_and_stands_in_for_torch_cuda():
    verdict = ask(host(biren("BR200")), "supa").explain(F.DEVICE_AVAILABLE)

    assert verdict.status is Status.YES
    assert "torch.cuda is provided by its package" in told(verdict)


def test_a_plugin_for_another_pytorch_is_refused():
    facts = host(biren("BR200"), torch="2.9.1+cpu")
    verdict = ask(facts, "supa").explain(F.DEVICE_AVAILABLE)

    assert verdict.status is Status.NO
    assert "is built for PyTorch 2.10.0, found 2.9.1" in told(verdict)


@pytest.mark.parametrize("patch", ["2.10.0", "2.10.1"])
def test_a_patch_release_of_the_same_pytorch_is_not_refused(patch):
    assert ask(host(biren("BR200"), torch=patch), "supa").supports(F.DEVICE_AVAILABLE)


@pytest.mark.parametrize("name", ["Biren106M", "BR104", "Biren 166L"])
def test_kernels_for_the_newer_family_do_not_run_on_the_older(name):
    acc = ask(host(biren(name)), "supa")

    for feature in (F.DEVICE_AVAILABLE, F.BUILD_KERNEL_IMAGE, F.RUNTIME_STREAMS):
        verdict = acc.explain(feature)
        assert verdict.status is Status.NO
        assert Code.SOFTWARE_BUILD in {reason.code for reason in verdict.reasons}
    assert "install the torch_supa that is built for br1xx" in verdict.remedies


def test_a_plugin_that_does_not_tell_its_family_leaves_the_kernels_open_and_the_gpu_usable():
    acc = ask(host(biren("Biren106M"), plugin="1.0.0.21000"), "supa")

    assert acc.supports(F.DEVICE_AVAILABLE)
    assert acc.explain(F.BUILD_KERNEL_IMAGE).status is Status.UNKNOWN


@pytest.mark.parametrize(
    ("name", "plugin", "fast", "open_"),
    [
        ("BR200", "1.0.0.21000+br2xx", F.DTYPE_FP16, F.DTYPE_BF16),
        ("Biren106M", "1.0.0.21000+br1xx", F.DTYPE_BF16, F.DTYPE_FP16),
        ("a name of no family", "1.0.0.21000+br2xx", F.DTYPE_FP16, F.DTYPE_BF16),
    ],
)
def test_speed_is_answered_for_the_family_that_it_is_told_of(name, plugin, fast, open_):
    acc = ask(host(biren(name), plugin=plugin), "supa")

    assert acc.explain(fast).status is Status.YES
    assert acc.explain(open_).status is Status.UNKNOWN
    assert acc.supports(F.DTYPE_FP16_STORAGE)
    assert acc.supports(F.DTYPE_BF16_STORAGE)


def test_float64_neither_computes_nor_lies_there():
    acc = ask(host(biren("BR200")), "supa")

    for feature in (F.DTYPE_FP64, F.DTYPE_FP64_STORAGE, F.DTYPE_COMPLEX128):
        assert acc.explain(feature).status is Status.NO


def test_collectives_that_biren_did_not_verify_stay_open():
    acc = ask(host(biren("BR200"), biren("BR200", 1)), "supa")

    assert acc.explain(F.COMM_BACKEND).value == "bccl"
    assert acc.explain(F.COMM_ALL_REDUCE_BF16).status is Status.YES
    assert acc.explain(F.COMM_ALL_GATHER_FP8).status is Status.YES
    for feature in (F.COMM_REDUCE, F.COMM_GATHER_FP16, F.COMM_ALL_REDUCE_FP8):
        assert acc.explain(feature).status is Status.UNKNOWN
    assert acc.explain(F.COMM_MONITORED_BARRIER).status is Status.NO


def test_inductor_needs_birens_triton():
    facts = host(biren("BR200"))
    assert "br-triton" in told(ask(facts, "supa").explain(F.COMPILE_INDUCTOR))

    facts["packages"]["br-triton"] = "3.2.0"
    assert ask(facts, "supa").explain(F.TRITON_USABLE).status is Status.YES


def test_a_package_without_a_gpu_is_no_gpu():
    acc = ask(host(), "supa")

    assert acc.explain(F.DEVICE_AVAILABLE).status is Status.NO
    assert acc.explain(F.DTYPE_FP16).status is Status.UNKNOWN


def test_a_package_whose_libraries_are_missing_says_which():
    error = "torch_supa cannot be imported: OSError: libsupart.so: cannot open shared object file"
    facts = host()
    facts["torch"]["devices"]["supa"] |= {"imports": False, "error": error}
    verdict = ask(facts, "supa").explain(F.DEVICE_AVAILABLE)

    assert verdict.status is Status.NO
    assert "libsupart.so" in told(verdict)


def test_gpus_that_a_variable_hides_are_told():
    facts = host(
        biren("BR200", visible=False), limits={"visible_devices": {"SUPA_VISIBLE_DEVICES": "7"}}
    )
    verdict = ask(facts, "supa").explain(F.DEVICE_AVAILABLE)

    assert verdict.status is Status.NO
    assert "unset SUPA_VISIBLE_DEVICES" in verdict.remedies


def test_the_weaker_of_two_gpus_decides_and_is_named():
    facts = host(biren("BR200"), biren("Biren106M", 1, uuid="B-1"))
    verdict = ask(facts, "supa").explain(F.BUILD_KERNEL_IMAGE)

    assert verdict.status is Status.NO
    assert "Biren106M (B-1)" in told(verdict)
