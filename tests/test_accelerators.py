"""The capability tables: complete, cited, and right where a fact decides."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from machines import ask, cpu_host, cuda_host, gpu

from accelcaps import (
    Code,
    Evidence,
    Facts,
    Feature,
    LimitNotKnownError,
    Status,
    UnknownFeatureError,
    UnsupportedFeatureError,
    Verdict,
)
from accelcaps import features as F
from accelcaps.accelerators.base import Accelerator
from accelcaps.accelerators.registry import ACCELERATORS
from accelcaps.errors import CircularRuleError
from accelcaps.features import REGISTRY
from accelcaps.rules import all_of, value_of, yes

H100 = gpu("NVIDIA H100 80GB HBM3", "9.0", memory_bytes=80 * 2**30)
NAMES = [kind.name for kind in ACCELERATORS]


def both(facts):
    return [ask(facts, name) for name in NAMES]


MACHINES = {
    "h100": cuda_host(H100, torch="2.13.0+cu126", cuda="12.6", driver="570.124.06"),
    "cpu": cpu_host("avx2"),
    "no torch": cpu_host("avx2", torch={"version": None, "cuda": None}),
    "nothing": {},
}
MACHINES["no torch"]["torch"] = {"version": None}


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("feature", list(REGISTRY), ids=str)
def test_every_feature_has_a_rule_everywhere_and_every_rule_a_source(feature, name, machine):
    verdict = ask(MACHINES[machine], name).explain(feature)

    assert feature == verdict.feature
    assert not any("says nothing of" in reason.text for reason in verdict.reasons), verdict
    if not feature.startswith("op.") or verdict.status is not Status.UNKNOWN:
        assert verdict.source, verdict


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("name", NAMES)
def test_whatever_does_not_work_says_why(name, machine):
    """Invariant 4: every no and every degraded has a reason; so has every unknown."""
    for verdict in ask(MACHINES[machine], name).features().values():
        if verdict.status is not Status.YES:
            assert any(r.code not in (Code.MET, Code.NOTE) for r in verdict.reasons), verdict
            assert all(reason.text for reason in verdict.reasons)


@pytest.mark.parametrize("name", NAMES)
def test_verdicts_serialise_both_ways(name):
    for verdict in ask(MACHINES["h100"], name).features().values():
        assert verdict == Verdict.from_json(verdict.to_json())


@given(st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
))  # fmt: skip
def test_a_strange_value_never_raises_and_never_becomes_a_yes_for_a_dtype(value):
    """Facts may come from anywhere; a version that is none is not a version."""
    facts = cuda_host(H100)
    facts["devices"]["cuda"]["list"][0]["compute_capability"] = value
    facts["torch"]["version"] = value

    for feature in (F.DTYPE_FP8_E4M3, F.BUILD_CUDA, F.ZERO_3, F.LIMIT_COMPUTE_CAPABILITY):
        assert "raised" not in str(ask(facts).explain(feature))


# NVIDIA's published table of what the tensor cores take (CUDA Programming Guide, table 33), and
# the throughput tables for the rest, with current software.
@pytest.mark.parametrize(
    ("capability", "expected"),
    [
        ("6.0", "fp64=yes fp16=yes bf16=no tf32=no fp8_e4m3=no int8=no int4=no nvfp4=no"),
        ("6.1", "fp64=degraded fp16=degraded bf16=no tf32=no fp8_e4m3=no int8=degraded int4=no"),
        ("7.0", "fp64=yes fp16=yes bf16=degraded tf32=no fp8_e4m3=no int8=degraded int4=no"),
        ("7.5", "fp64=degraded fp16=yes bf16=degraded tf32=no fp8_e4m3=no int8=yes int4=no"),
        ("8.0", "fp64=yes fp16=yes bf16=yes tf32=yes fp8_e4m3=no int8=yes int4=yes mxfp8=no"),
        (
            "8.6",
            "fp64=degraded fp16=yes bf16=yes tf32=yes fp8_e4m3=no int8=yes complex128=degraded",
        ),
        ("8.9", "fp64=degraded bf16=yes fp8_e4m3=yes fp8_e5m2=yes mxfp8=no nvfp4=no complex64=yes"),
        ("9.0", "fp64=yes bf16=yes fp8_e4m3=yes fp8_e5m2=yes mxfp8=no mxfp4=no nvfp4=no"),
        ("10.0", "fp64=yes bf16=yes fp8_e4m3=yes mxfp8=yes mxfp4=yes nvfp4=yes complex128=yes"),
        ("10.3", "fp64=degraded bf16=yes fp8_e4m3=yes mxfp8=yes mxfp4=yes nvfp4=yes"),
        ("12.0", "fp64=degraded bf16=yes fp8_e4m3=yes mxfp8=degraded mxfp4=no nvfp4=degraded"),
    ],
)
def test_data_types_follow_nvidias_tables(capability, expected):
    archs = [f"sm_{n}" for n in (60, 70, 75, 80, 86, 90, 100, 120)]
    facts = cuda_host(gpu("GPU", capability), torch="2.13.0+cu130", cuda="12.9",
                      driver="580.95.05", archs=archs)  # fmt: skip
    acc = ask(facts)

    for item in expected.split():
        name, _, status = item.partition("=")
        assert (name, status) == (name, acc.explain(f"dtype.{name}").status.value)


@pytest.mark.parametrize(
    ("feature", "torch", "cuda", "status"),
    [
        (F.DTYPE_FP8_E4M3, "2.0.1", "11.8", "no"), (F.DTYPE_FP8_E4M3, "2.1.0", "11.8", "yes"),
        (F.DTYPE_FP8_E4M3, "2.1.0", "11.7", "no"), (F.DTYPE_NVFP4, "2.13.0", "12.8", "no"),
        (F.RUNTIME_GRAPH_CAPTURE, "1.9.0", "11.1", "no"), (F.ATTENTION_CUDNN, "2.4.0", "12.1", "no"),
        (F.MEMORY_EXPANDABLE_SEGMENTS, "2.0.1", "11.8", "no"),
    ],
)  # fmt: skip
def test_software_that_is_too_old_is_a_no_on_any_hardware(feature, torch, cuda, status):
    facts = cuda_host(H100, torch=torch, cuda=cuda)

    assert status == ask(facts).explain(feature).status


def test_hardware_alone_is_judged_without_software():
    """A profile of a card tells what the card can do."""
    facts = {"devices": {"cuda": {"list": [gpu("Tesla T4", "7.5")], "visible_to_system": []}}}

    assert Status.DEGRADED is ask(facts).explain(F.DTYPE_BF16).status
    assert Status.YES is ask(facts).explain(F.DTYPE_FP16).status


class TestAsking:
    def test_zero_is_declared_by_no_accelerator(self):
        """It follows, with the chain that explains it."""
        for kind in ACCELERATORS:
            assert not [feature for feature in kind.capabilities if feature.group == "zero"]
        verdict = ask(MACHINES["h100"]).explain(F.ZERO_3)
        assert "comm.reduce_scatter_tensor" in [part.feature for part in verdict.because]

    def test_supports_agrees_with_explain_for_every_feature(self):
        acc = ask(MACHINES["h100"])

        for feature, verdict in acc.features().items():
            assert verdict.supported() is acc.supports(feature)
            assert verdict.supported(degraded=False) is acc.supports(feature, degraded=False)
            assert verdict.supported() is acc.supports(str(feature))

    def test_a_name_that_does_not_exist_is_an_error_everywhere(self):
        acc = ask(MACHINES["h100"])

        for call in (acc.supports, acc.explain, acc.require, acc.best_of, acc.features):
            with pytest.raises(UnknownFeatureError, match=r"dtype\.bf16"):
                call("dtype.bf17")
        with pytest.raises(UnknownFeatureError):
            acc.limits["limit.memory"]

    def test_a_feature_that_nobody_registered_is_no_feature(self):
        made_up = Feature("dtype.bf17", "bf17", "made up")

        with pytest.raises(UnknownFeatureError):
            ask(MACHINES["h100"]).supports(made_up)

    def test_require_is_silent_where_all_is_there(self):
        ask(MACHINES["h100"]).require(F.DTYPE_BF16, F.ZERO_3)

    def test_require_counts_unknown_as_missing(self):
        with pytest.raises(
            UnsupportedFeatureError, match="1 required feature is not available on cuda"
        ):
            ask(MACHINES["cpu"]).require(F.DTYPE_BF16)

    def test_best_of_nothing_that_works_raises_with_all_reasons(self):
        with pytest.raises(UnsupportedFeatureError) as error:
            ask(cuda_host(gpu("TITAN X", "6.1"))).best_of(F.DTYPE_BF16, F.DTYPE_FP8_E4M3)
        assert len(error.value.missing) == 2

    def test_a_limit_that_is_not_known_says_why(self):
        limits = ask(MACHINES["cpu"]).limits

        with pytest.raises(LimitNotKnownError, match="there is no device on this host"):
            limits["limit.memory_bytes"]
        assert "limit.memory_bytes" not in limits
        assert "limit.shm_bytes" in limits
        assert len(limits) == len(list(limits)) == len(dict(limits))

    def test_evidence_is_detected_where_a_fact_decided(self):
        acc = ask(MACHINES["h100"])

        assert Evidence.DETECTED is acc.explain(F.DTYPE_BF16).evidence
        assert Evidence.DECLARED is acc.explain(F.DTYPE_FP8_E4M3FNUZ).evidence

    def test_a_remedy_that_does_not_help_is_not_offered(self):
        """triton cannot be installed into working where there is no hardware for it."""
        assert ask(MACHINES["cpu"], "cpu").explain(F.TRITON_USABLE).remedies == ()

    def test_a_vendors_accelerator_is_one_table(self):
        class Toy(Accelerator):
            name = "toy"
            title = "Toy"
            capabilities = {
                F.DEVICE_AVAILABLE: yes("always").source("the toy's box"),
                F.DEVICE_SYNCHRONOUS: yes().source("the toy's box"),
                **{
                    feature: all_of(F.DEVICE_AVAILABLE).source("the toy's box")
                    for feature in REGISTRY.in_group("comm")
                },
            }

        toy = Toy(Facts({}, name="test"))

        assert toy.supports(F.ZERO_3)
        assert Status.UNKNOWN is toy.explain(F.DTYPE_BF16).status

    def test_a_rule_that_raises_is_unknown_and_says_so(self):
        class Broken(Accelerator):
            name = "broken"
            title = "Broken"
            capabilities = {F.DTYPE_FP16: value_of(lambda question: 1 / 0)}

        verdict = Broken(Facts({}, name="test")).explain(F.DTYPE_FP16)

        assert Status.UNKNOWN is verdict.status
        assert "the rule raised ZeroDivisionError" in str(verdict)

    def test_rules_in_a_circle_are_an_error_with_the_chain(self):
        class Circle(Accelerator):
            name = "circle"
            title = "Circle"
            capabilities = {
                F.DTYPE_FP16: all_of(F.DTYPE_BF16),
                F.DTYPE_BF16: all_of(F.DTYPE_FP16),
            }

        with pytest.raises(CircularRuleError, match=r"dtype\.fp16 → dtype\.bf16 → dtype\.fp16"):
            Circle(Facts({}, name="test")).explain(F.DTYPE_FP16)


@pytest.mark.parametrize(
    ("capability", "feature", "remedies"),
    [
        ("7.5", F.DTYPE_BF16, ("use fp16",)),
        ("8.6", F.DTYPE_FP8_E4M3, ("use bf16",)),
        ("7.0", F.DTYPE_FP8_E4M3, ("use fp16",)),
        ("6.1", F.DTYPE_FP8_E4M3, ("use fp32",)),
        ("6.1", F.DTYPE_BF16, ("use fp32",)),
        ("8.0", F.DTYPE_FP64_STORAGE, ()),
    ],
)
def test_the_type_to_use_instead_is_one_that_works_here(capability, feature, remedies):
    assert ask(cuda_host(gpu("GPU", capability))).explain(feature).remedies == remedies


@pytest.mark.parametrize("feature", [F.DTYPE_FP8_E4M3, F.DTYPE_BF16, F.ZERO_3])
def test_a_device_that_cannot_be_used_has_only_remedies_for_that(feature):
    facts = cuda_host(gpu("V100", "7.0"), torch="2.13.0+cpu", cuda=None, host={"wsl": True})

    verdict = ask(facts).explain(feature)

    assert verdict.status is Status.NO
    assert verdict.remedies == ("install a PyTorch built with CUDA",)


def test_a_runtime_that_was_tried_and_failed_says_what_it_said():
    facts = cuda_host(H100)
    error = "RuntimeError: CUDA error: system not yet initialized"
    facts["torch"]["devices"] = {"cuda": {"available": False, "count": 0, "error": error}}

    verdict = ask(facts).explain(F.DEVICE_AVAILABLE)

    assert verdict.status is Status.NO
    assert [reason.code for reason in verdict.reasons] == [Code.RUNTIME_FAILED]
    assert "system not yet initialized" in str(verdict)


def test_flags_alone_judge_a_cpu_that_nobody_here_owns():
    facts = {"cpu": {"flags": ["avx512f", "avx512_bf16"]}}

    assert ask(facts, "cpu").explain(F.DTYPE_BF16).status is Status.YES
    assert ask(facts, "cpu").explain(F.DTYPE_FP16).remedies == ("use bf16",)
