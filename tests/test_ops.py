"""Op reflection: builders that misbehave in every way, and the real ones of the real DeepSpeed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from machines import ask, builder, cpu_host, ops

from accelcaps import Code, Facts, Status, UnknownFeatureError
from accelcaps import features as F
from accelcaps.accelerators.registry import get_accelerator, sources
from accelcaps.facts.collectors import collectors
from accelcaps.facts.ops import OpsCollector

SITE = Path(__file__).parent / "simulated" / "site"
needs_cxx = pytest.mark.skipif(
    subprocess.run(["sh", "-c", "c++ --version"], capture_output=True).returncode != 0,
    reason="there is no C++ compiler",
)


@pytest.fixture
def simulated(monkeypatch, tmp_path):
    """Ask the simulated DeepSpeed with these ops."""

    def accelerator(*names, deadline=30.0):
        monkeypatch.setattr(sys, "path", [str(SITE), *sys.path])
        monkeypatch.setenv("SIMULATED_OPS", ",".join(names))
        monkeypatch.setenv("SIMULATED_RECORD", str(tmp_path / "record"))
        monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(tmp_path / "extensions"))
        others = [c for c in collectors(sources()) if not isinstance(c, OpsCollector)]
        return get_accelerator(
            "cpu", Facts(collectors=[*others, OpsCollector(sources(), deadline)])
        )

    return accelerator


def text(verdict):
    return "; ".join(reason.text for reason in verdict.reasons)


@needs_cxx
def test_a_builder_of_any_name_becomes_an_op(simulated):
    """No list is kept by hand: a name the vocabulary does not have is an op all the same."""
    acc = simulated("good", "deepspeed_not_implemented")

    assert Status.YES is acc.explain("op.good").status
    assert "op.good" in acc.features("op.*")
    assert "DeepSpeed 0.99.0: Good" in acc.explain("op.good").source


def test_a_placeholder_is_no_op_at_all(simulated):
    acc = simulated("good", "deepspeed_not_implemented")

    assert not [f for f in acc.features("op.*") if "not_implemented" in f]
    with pytest.raises(UnknownFeatureError):
        acc.explain("op.deepspeed_not_implemented")


def test_an_op_that_is_not_provided_is_a_no_with_its_name(simulated):
    verdict = simulated("good").explain(F.OP_FUSED_LAMB)

    assert Status.NO is verdict.status
    assert [reason.code for reason in verdict.reasons] == [Code.NOT_IMPLEMENTED]
    assert text(verdict) == "op.fused_lamb: DeepSpeed 0.99.0 has no such op for the cpu accelerator"


def test_all_that_a_builder_prints_becomes_reasons(simulated, capfd):
    verdict = simulated("refusing").explain("op.refusing")

    assert Status.NO is verdict.status
    assert "the linker finds no frob in libfrob" in text(verdict)
    assert "it wants libfrob / and a newer moon" in text(verdict)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("name", "code", "words"),
    [
        (
            "raising",
            Code.BUILDER_REFUSED,
            "raises ValueError in extra_ldflags: Didn't find FROB_ROOT",
        ),
        ("raising_check", Code.BUILDER_REFUSED, "compatibility check fails: KeyError: 'FROB_HOME'"),
        (
            "needs_module",
            Code.SOFTWARE_MISSING,
            "the Python module frob_kernels, which is not installed",
        ),
        ("sourceless", Code.SOFTWARE_MISSING, "/nowhere/op.cpp is not there"),
    ],
)
def test_a_builder_whose_methods_raise_is_a_no_with_that_reason(simulated, name, code, words):
    verdict = simulated(name).explain(f"op.{name}")

    assert Status.NO is verdict.status
    assert code in [reason.code for reason in verdict.reasons]
    assert words in text(verdict)


@needs_cxx
def test_what_the_sources_need_is_looked_for(simulated):
    """Through the op's own header, past the condition that does not hold."""
    acc = simulated("needy", "good")

    verdict = acc.explain("op.needy")
    assert Status.NO is verdict.status
    assert "the compiler finds no nobody_has_this.h" in text(verdict)
    assert "the linker finds no libnobody_has_this" in text(verdict)
    assert "only_elsewhere" not in text(acc.explain("op.good"))


@needs_cxx
def test_a_flag_that_the_compiler_does_not_take_is_told(simulated):
    verdict = simulated("strange").explain("op.strange")

    assert Status.NO is verdict.status
    assert Code.TOOLCHAIN_MISMATCH in [reason.code for reason in verdict.reasons]
    assert "no-such-flag-anywhere" in text(verdict)


@pytest.mark.parametrize(
    ("name", "code", "words", "deadline"),
    [
        ("crashing", Code.PROBE_CRASHED, "SIGSEGV", 30),
        ("exiting", Code.PROBE_CRASHED, "exited with status 5", 30),
        ("hanging", Code.PROBE_TIMEOUT, "at hanging", 4),
    ],
)
def test_a_builder_that_takes_the_probe_down_is_unknown_and_alone(
    simulated, name, code, words, deadline
):
    """Invariant 3; the ops before and after it get their answers."""
    acc = simulated("raising", name, "refusing", deadline=deadline)

    verdict = acc.explain(f"op.{name}")
    assert Status.UNKNOWN is verdict.status
    assert code is verdict.reasons[0].code
    assert words in text(verdict)
    assert Status.NO is acc.explain("op.raising").status
    assert Status.NO is acc.explain("op.refusing").status


@needs_cxx
def test_an_op_that_loads_another_first_rests_on_it(simulated):
    acc = simulated("dependent", "good")

    assert "op.good" in [part.feature for part in acc.explain("op.dependent").because]


def test_a_prebuilt_op_needs_no_compiler(simulated, monkeypatch):
    monkeypatch.setenv("CXX", "/bin/false")

    assert Status.YES is simulated("prebuilt").explain("op.prebuilt").status


def test_deepspeeds_own_word_may_be_none_or_raise(simulated):
    acc = simulated("good")

    assert Status.NO is acc.explain(F.DEEPSPEED_FP16).status
    assert Status.UNKNOWN is acc.explain(F.DEEPSPEED_BF16).status


def test_without_deepspeed_ops_are_unknown(monkeypatch):
    facts = cpu_host("avx2")
    facts["ops"] = {"cpu": {"not_observed": {"code": "software.missing",
                                             "text": "DeepSpeed is not installed"}}}  # fmt: skip

    verdict = ask(facts, "cpu").explain(F.OP_CPU_ADAM)

    assert Status.UNKNOWN is verdict.status
    assert text(verdict) == "DeepSpeed is not installed"
    assert verdict.remedies == ("pip install deepspeed",)


def test_what_a_facts_file_does_not_have_is_unknown():
    verdict = ask(cpu_host("avx2"), "cpu").explain(F.OP_CPU_ADAM)

    assert Status.UNKNOWN is verdict.status
    assert Code.NOT_RECORDED is verdict.reasons[0].code


@pytest.mark.parametrize("without", ["ninja", "cxx"])
def test_every_builder_needs_ninja_and_a_compiler(without):
    missing = {"command": without, "path": None, "runs": False, "version": None, "error": None}
    facts = cpu_host("avx2", toolchain={without: missing}, ops=ops("cpu", cpu_adam=builder()))

    verdict = ask(facts, "cpu").explain(F.OP_CPU_ADAM)

    assert Status.NO is verdict.status
    assert Code.TOOLCHAIN_MISSING is verdict.reasons[0].code


@pytest.fixture(scope="module")
def real():
    """The accelerator of this machine with the installed DeepSpeed."""
    return get_accelerator("cpu", Facts(collectors=collectors(sources())))


@pytest.mark.stack
class TestRealDeepSpeed:
    def test_every_builder_is_an_op_and_each_has_an_answer(self, real):
        code = (
            "from deepspeed.ops.op_builder.all_ops import ALL_OPS; "
            "print('NAMES', *[n for n, b in ALL_OPS.items() "
            "if 'NotImplemented' not in type(b).__name__])"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True,
            env={**os.environ, "DS_ACCELERATOR": "cpu"}, check=True,
        )  # fmt: skip
        line = next(each for each in done.stdout.splitlines() if each.startswith("NAMES"))
        offered = {f"op.{name}" for name in line.split()[1:]}

        judged = real.features("op.*")
        assert offered <= set(judged)
        not_provided = [
            f for f, v in judged.items() if Code.NOT_IMPLEMENTED in [r.code for r in v.reasons]
        ]
        assert not offered & set(not_provided)
        assert Status.UNKNOWN not in {judged[name].status for name in offered}

    def test_every_builder_of_the_installed_deepspeed_has_a_constant(self, real):
        """The vocabulary names what is there (a newer one is still reflected)."""
        builders = real.facts.section("ops", "cpu", "builders")

        names = {f"op.{n}" for n, b in builders.items() if not b.get("placeholder")}
        assert names <= {str(feature) for feature in F.REGISTRY}

    def test_oneccl_is_a_no_where_ds_report_says_okay(self, real):
        verdict = real.explain(F.OP_DEEPSPEED_CCL_COMM)

        assert Status.NO is verdict.status
        assert "CCL_ROOT" in text(verdict)
        assert any("setvars.sh" in remedy for remedy in verdict.remedies)

    def test_ops_of_cuda_are_told_apart_without_a_gpu(self):
        acc = get_accelerator("cuda", Facts(collectors=collectors(sources())))

        verdict = acc.explain(F.OP_FUSED_ADAM)
        assert Status.NO is verdict.status
        assert acc.features("op.*").keys() >= {"op.fused_adam", "op.quantizer", "op.gds"}
