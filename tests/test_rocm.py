"""AMD GPUs: what depends on the architecture, PyTorch, and the ROCm that it is built with."""

from __future__ import annotations

import pytest

from accelcaps import Code, Facts, Status
from accelcaps import features as F
from accelcaps.accelerators.registry import get_accelerator
from accelcaps.facts.probes import amd_kfd
from accelcaps.facts.visibility import visible
from accelcaps.profiles import profile, read_stack

YES, NO, DEGRADED, UNKNOWN = Status.YES, Status.NO, Status.DEGRADED, Status.UNKNOWN
CARDS = ("mi100", "mi250x", "mi300x", "mi355x", "rx-7900-xtx")


def card(name, torch="2.11.0+rocm7.1", **variables):
    facts = profile(f"amd-{name}").facts(read_stack(f"torch={torch}")).to_json()
    facts["host"] = {"system": "Linux", "environment": variables}
    return get_accelerator("rocm", Facts(facts, name=name))


def device(arch, torch="2.11.0+rocm7.1", *, built=False, **variables):
    """A card of another architecture; ``built``: with the wheel just as it is released."""
    facts = profile("amd-mi300x").facts(read_stack(f"torch={torch}")).to_json()
    facts["devices"]["rocm"]["list"][0]["arch"] = arch
    if not built:
        facts["torch"]["runtime"]["arch_list"].append(arch)
    facts["host"] = {"system": "Linux", "environment": variables}
    return get_accelerator("rocm", Facts(facts, name=arch))


@pytest.mark.parametrize(
    ("feature", "statuses"),
    [
        (F.DTYPE_FP64, (YES, YES, YES, YES, DEGRADED)),
        (F.DTYPE_TF32, (NO, NO, YES, DEGRADED, NO)),
        (F.DTYPE_BF16, (YES, YES, YES, YES, YES)),
        (F.DTYPE_FP8_E4M3, (NO, NO, NO, YES, NO)),
        (F.DTYPE_FP8_E4M3FNUZ, (NO, NO, YES, NO, NO)),
        (F.DTYPE_MXFP4, (NO, NO, NO, YES, NO)),
        (F.DTYPE_NVFP4, (NO, NO, NO, NO, NO)),
        (F.DTYPE_INT4, (NO, YES, YES, YES, NO)),
        (F.ATTENTION_FLASH_ATTENTION, (NO, YES, YES, YES, YES)),
        (F.BUILD_KERNEL_IMAGE, (YES, YES, YES, YES, YES)),
        (F.BUILD_CUDA, (NO, NO, NO, NO, NO)),
    ],
)
def test_each_generation_has_its_own_answer(feature, statuses):
    assert tuple(card(name).explain(feature).status for name in CARDS) == statuses


def test_bf16_that_torch_calls_supported_is_emulated_before_wmma_and_mfma():
    verdict = device("gfx1030").explain(F.DTYPE_BF16)
    assert verdict.status is DEGRADED
    assert verdict.reasons[-1].code is Code.EMULATED


@pytest.mark.parametrize(
    ("torch", "status"),
    [
        ("1.13.1+rocm5.2", NO),
        ("2.0.1+rocm5.4.2", UNKNOWN),  # merged too near its release to tell
        ("2.1.0+rocm5.6", YES),
    ],
)
def test_graphs_are_told_by_the_torch_that_has_them(torch, status):
    assert device("gfx90a", torch, built=True).explain(F.RUNTIME_GRAPH_CAPTURE).status is status


def test_an_architecture_with_features_counts_as_the_architecture():
    assert device("gfx90a:sramecc+:xnack-").supports(F.DTYPE_INT4)


def test_an_architecture_nobody_looked_up_is_unknown_and_named():
    verdict = device("gfx1310").explain(F.DTYPE_BF16)
    assert verdict.status is UNKNOWN
    assert "gfx1310" in verdict.reasons[-1].text


class TestKernelImages:
    def test_a_wheel_without_code_for_the_card_is_a_no_that_makes_the_device_unusable(self):
        verdict = card("mi355x", "2.9.0+rocm6.4").explain(F.BUILD_KERNEL_IMAGE)
        assert verdict.status is NO
        assert verdict.reasons[0].code is Code.BUILD_ARCH_MISSING
        assert not card("mi355x", "2.9.0+rocm6.4").supports(F.DEVICE_AVAILABLE)

    def test_an_override_of_the_architecture_is_degraded(self):
        assert device("gfx1031", built=True).explain(F.BUILD_KERNEL_IMAGE).status is NO
        told = device("gfx1031", built=True, HSA_OVERRIDE_GFX_VERSION="10.3.0")
        assert told.explain(F.BUILD_KERNEL_IMAGE).status is DEGRADED


class TestVersions:
    @pytest.mark.parametrize(
        ("torch", "variables", "status"),
        [
            ("2.6.0+rocm6.2", {"HIPBLASLT_ALLOW_TF32": "1"}, NO),
            ("2.8.0+rocm6.4", {}, NO),
            ("2.8.0+rocm6.4", {"HIPBLASLT_ALLOW_TF32": "1"}, YES),
            ("2.11.0+rocm7.1", {}, YES),
        ],
    )
    def test_tensorfloat_needs_a_variable_before_torch_2_10(self, torch, variables, status):
        assert card("mi300x", torch, **variables).explain(F.DTYPE_TF32).status is status

    def test_flash_attention_of_other_rdna_cards_must_be_asked_for(self):
        verdict = device("gfx1101").explain(F.ATTENTION_FLASH_ATTENTION)
        assert verdict.status is NO
        assert verdict.remedies == ("export TORCH_ROCM_AOTRITON_ENABLE_EXPERIMENTAL=1",)
        asked = device("gfx1101", TORCH_ROCM_AOTRITON_ENABLE_EXPERIMENTAL="1")
        assert asked.explain(F.ATTENTION_FLASH_ATTENTION).status is DEGRADED

    def test_a_torch_for_cuda_does_not_make_an_amd_card_usable(self):
        facts = profile("amd-mi300x").facts(read_stack("torch=2.8.0+cu128"))
        verdict = get_accelerator("rocm", facts).explain(F.DEVICE_AVAILABLE)
        assert verdict.status is NO
        assert "install a PyTorch built with ROCm" in verdict.remedies


def test_the_collective_backend_is_rccl_under_the_name_of_nccl():
    verdict = card("mi300x").explain(F.COMM_BACKEND)
    assert (verdict.status, verdict.value) == (YES, "nccl")


class TestVisibility:
    NAMES = ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")
    CARDS = tuple({"uuid": f"GPU-{number:016x}", "index": number} for number in range(4))

    @pytest.mark.parametrize(
        ("variables", "shown"),
        [
            ({}, [0, 1, 2, 3]),
            ({"ROCR_VISIBLE_DEVICES": "2,3"}, [2, 3]),
            ({"ROCR_VISIBLE_DEVICES": "2,3", "HIP_VISIBLE_DEVICES": "1"}, [3]),
            ({"ROCR_VISIBLE_DEVICES": "GPU-0000000000000001"}, [1]),
            ({"CUDA_VISIBLE_DEVICES": "3"}, [3]),
            ({"HIP_VISIBLE_DEVICES": "1", "CUDA_VISIBLE_DEVICES": "3"}, [1]),
        ],
    )
    def test_each_variable_numbers_what_the_one_before_it_left(self, variables, shown):
        seen = visible(self.CARDS, variables, self.NAMES)
        assert [number for number, there in enumerate(seen) if there] == shown


def _node(folder, **properties):
    bank = folder / "mem_banks" / "0"
    bank.mkdir(parents=True)
    (folder / "properties").write_text("".join(f"{k} {v}\n" for k, v in properties.items()))
    (bank / "properties").write_text(f"heap_type 1\nsize_in_bytes {64 * 2**30}\nflags 0\n")


def test_the_kernel_drivers_topology_tells_the_devices(tmp_path, monkeypatch):
    _node(tmp_path / "0", cpu_cores_count=64, simd_count=0)
    _node(
        tmp_path / "10", cpu_cores_count=0, simd_count=440, simd_per_cu=4, gfx_target_version=90010,
        wave_front_size=64, lds_size_in_kb=64, location_id=0xC100, domain=0, unique_id=0xAB12,
    )  # fmt: skip
    _node(
        tmp_path / "9", cpu_cores_count=16, simd_count=8, simd_per_cu=2, gfx_target_version=100302
    )
    monkeypatch.setattr(amd_kfd, "_NODES", tmp_path)
    told = {}
    amd_kfd.probe(lambda name, value: told.update({name: value}))
    integrated, discrete = told["devices"]
    assert integrated["arch"] == "gfx1032"
    assert integrated["integrated"]
    assert discrete == {
        "uuid": "GPU-000000000000ab12", "pci": "0000:c1:00.0", "index": 1, "name": "gfx90a",
        "arch": "gfx90a", "memory_bytes": 64 * 2**30, "multiprocessors": 110, "warp_size": 64,
        "shared_memory_per_block": 65536, "integrated": False,
    }  # fmt: skip
