"""``accelcaps verify`` on this machine's CPU, with the real torch, DeepSpeed, gloo and compilers."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys

import pytest
import truth_ops

import accelcaps
from accelcaps import Status, VerificationError
from accelcaps import features as F

pytestmark = pytest.mark.stack
can_build = pytest.mark.skipif(
    not (shutil.which("c++") and shutil.which("ninja")), reason="no C++ compiler, or no ninja"
)


def accelcaps_cli(*arguments, timeout=600, **environment):
    return subprocess.run(
        [sys.executable, "-m", "accelcaps", *arguments],
        env={**os.environ, **environment}, capture_output=True, text=True, timeout=timeout,
    )  # fmt: skip


@pytest.fixture(scope="module")
def everything():
    """All that needs no op to be built, exercised once."""
    done = accelcaps_cli("verify", "--accelerator", "cpu", "--json", "--quiet")
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


class TestTheCpu:
    def test_every_claim_holds(self, everything):
        status, found = everything

        assert found["disagreements"] == []
        assert status == 0

    def test_nothing_is_left_undecided(self, everything):
        unknown = [n for n, v in everything[1]["verdicts"].items() if v["status"] == "unknown"]

        assert unknown == []

    def test_most_of_the_vocabulary_that_a_cpu_can_try_was_tried(self, everything):
        verdicts = everything[1]["verdicts"].values()

        assert sum(v["evidence"] == "verified" for v in verdicts) >= 140

    def test_each_says_what_was_claimed_and_what_happened(self, everything):
        found = everything[1]

        assert found["verdicts"]["dtype.fp32"]["claimed"] == "yes"
        assert found["exercises"]["dtype.fp32"]["measured"]["error"] < 1e-5
        assert found["exercises"]["dtype.bf16"]["measured"]["ratio"] > 0
        assert found["exercises"]["dtype.fp16"]["seed"] is not None

    @pytest.mark.parametrize(
        ("feature", "status"),
        [
            (F.COMM_ALL_REDUCE_BF16, "yes"), (F.COMM_REDUCE_SCATTER, "yes"),
            (F.COMM_ALL_REDUCE_FP8, "no"),
        ],
    )  # fmt: skip
    def test_collectives_of_this_torch_by_exercise(self, everything, feature, status):
        """Older versions are told by rule, in test_collectives.py."""
        verdict = everything[1]["verdicts"][feature]

        assert (verdict["status"], verdict["evidence"]) == (status, "verified")
        if status == "no":
            assert "Invalid scalar type" in verdict["reasons"][-1]["text"]


def test_a_verified_feature_in_python():
    acc = accelcaps.get_accelerator("cpu")
    verdict = acc.verify(F.MEMORY_UNIFIED)

    assert str(verdict.evidence) == "verified"
    assert acc.explain(F.MEMORY_UNIFIED) == verdict


def test_a_profile_cannot_be_verified():
    from accelcaps.profiles import profile

    facts = profile("nvidia-v100").facts(None)
    with pytest.raises(VerificationError, match="is a record"):
        accelcaps.get_accelerator("cuda", facts).verify(F.DTYPE_BF16)


def test_what_has_no_check_is_told_and_not_decided():
    done = accelcaps_cli("verify", "memory.unified", "limit.cores", "--accelerator", "cpu")

    assert done.returncode == 3
    assert "limit.cores: there is no check for it" in done.stdout
    assert "every claim held" in done.stdout
    assert "memory.unified: worked" in done.stderr  # the progress


def test_a_name_that_does_not_exist_is_an_error():
    done = accelcaps_cli("verify", "dtype.bf61", "--accelerator", "cpu")

    assert done.returncode == 2
    assert "did you mean" in done.stderr


@pytest.mark.parametrize("options", [("--jobs", "0"), ("--deadline", "-1"), ("--jobs", "two")])
def test_options_that_make_no_sense_are_errors(options):
    assert accelcaps_cli("verify", *options).returncode == 2


def test_a_wrong_claim_is_shown_and_exits_1():
    """A user forces a yes; the exercise stands beside it."""
    script = (
        "import sys, accelcaps\n"
        "from accelcaps import cli, features as F\n"
        "from accelcaps.accelerators.cpu import Cpu\n"
        "from accelcaps.rules import yes\n"
        "Cpu.capabilities = {**Cpu.capabilities, F.COMM_ALL_REDUCE_FP8: yes('a lie').source('x')}\n"
        "sys.exit(cli.main(['verify', 'comm.all_reduce.fp8', '--accelerator', 'cpu', '--quiet']))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)

    assert done.returncode == 1, done.stderr
    assert "claims that are wrong: 1" in done.stdout
    assert "claimed yes, failed when run: RuntimeError: Invalid scalar type" in " ".join(
        done.stdout.split()
    )
    assert "1 claimed wrongly" in done.stdout


def test_an_interruption_keeps_what_was_learned():
    """Ctrl-C after the first answer: it is shown, the rest is counted, and no child is left."""
    process = subprocess.Popen(
        [sys.executable, "-m", "accelcaps", "verify", "memory.unified", "compile", "build.cxx",
         "--accelerator", "cpu", "--jobs", "1"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    for line in process.stderr:
        if "device.available: worked" in line:
            process.send_signal(signal.SIGINT)
            break
    out, error = process.communicate(timeout=60)

    assert process.returncode == 130
    assert "available" in out
    assert "1 verified" in out
    assert "interrupted; " in error


def test_a_report_that_is_verified_first_is_read_back_verified(tmp_path):
    """The report carries what happened, so that its facts give the same verdicts again."""
    script = (
        "import sys, json, accelcaps\n"
        "from accelcaps import features as F\n"
        "from accelcaps.accelerators.registry import choose\n"
        "from accelcaps.reports.document import report_document\n"
        "acc = accelcaps.get_accelerator('cpu')\n"
        "acc.verify(F.COMM_ALL_REDUCE_FP8)\n"
        "json.dump(report_document(acc, choose()), open(sys.argv[1], 'w'))\n"
    )
    path = tmp_path / "report.json"
    subprocess.run([sys.executable, "-c", script, path], check=True, timeout=300)

    acc = accelcaps.get_accelerator("cpu", accelcaps.read_facts(path))
    verdict = acc.explain(F.COMM_ALL_REDUCE_FP8)
    assert (str(verdict.evidence), verdict.status) == ("verified", Status.NO)
    assert verdict.claimed is Status.NO


def few(*arguments):
    """Run the command line with a few checks only."""
    script = (
        "import sys\n"
        "from accelcaps import cli\n"
        "from accelcaps.checks import catalog\n"
        "few = ('presence', 'memory', 'host')\n"
        "catalog.CHECKS = tuple(check for check in catalog.CHECKS if check.name in few)\n"
        "sys.exit(cli.main(sys.argv[1:]))\n"
    )
    return subprocess.run(
        [sys.executable, "-c", script, *arguments], capture_output=True, text=True, timeout=300
    )


def test_a_report_can_verify_first():
    done = few("report", "--verify", "--accelerator", "cpu", "--json", "--quiet")
    report = json.loads(done.stdout)

    assert done.returncode == 0, done.stderr
    assert report["verdicts"]["memory.unified"]["evidence"] == "verified"
    assert report["verdicts"]["dtype.bf16"]["evidence"] != "verified"
    assert report["facts"]["exercised"]["cpu"]["memory.unified"]["outcome"] == "worked"


@pytest.mark.parametrize("condition", ["CXX fails", "no ninja", "no compiler"])
def test_without_a_tool_the_claims_still_hold(condition, tmp_path):
    """On the CPU, DeepSpeed builds an op before it trains anything: without it, no ZeRO."""
    hidden = {
        "no ninja": ("ninja",),
        "no compiler": ("c++", "g++", "clang++", "gcc", "cc", "clang"),
    }
    environment = (
        {"CXX": "/bin/false"}
        if condition == "CXX fails"
        else truth_ops.without(*hidden[condition], into=tmp_path / "bin")
    )
    done = accelcaps_cli(
        "verify", "build", "compile", "zero.1", "zero.3", "parallel.fsdp2", "optimizer.adagrad",
        "deepspeed.bf16", "--accelerator", "cpu", "--json", "--quiet", **environment,
    )  # fmt: skip
    found = json.loads(done.stdout)

    assert {n: found["verdicts"][n]["reasons"] for n in found["disagreements"]} == {}
    for feature in ("zero.1", "zero.3", "optimizer.adagrad", "deepspeed.bf16"):
        assert found["verdicts"][feature]["status"] == "no"
        assert found["verdicts"][feature]["claimed"] == "no"
    assert found["verdicts"]["parallel.fsdp2"]["status"] == "yes"  # torch's own needs no op


@can_build
@pytest.mark.parametrize("op", ["op.pin_memory", "op.deepspeed_shm_comm"])
def test_an_op_is_built_in_an_empty_folder_run_and_compared(op, tmp_path):
    done = accelcaps_cli(
        "verify", op, "--accelerator", "cpu", "--json", "--quiet",
        TORCH_EXTENSIONS_DIR=str(tmp_path / "theirs"),
    )  # fmt: skip
    found = json.loads(done.stdout)

    assert done.returncode == 0, done.stdout
    assert found["verdicts"][op]["evidence"] == "verified"
    assert found["verdicts"][op]["status"] == "yes"
    assert not (tmp_path / "theirs").exists()  # the user's own builds are neither used nor touched


@can_build
@pytest.mark.slow
def test_every_op_and_what_trains_by_it():
    done = accelcaps_cli(
        "verify", "op", "optimizer", "offload", "--accelerator", "cpu", "--json", "--quiet",
        timeout=1800,
    )  # fmt: skip
    found = json.loads(done.stdout)

    assert found["disagreements"] == []
    for op in ("cpu_adam", "cpu_adagrad", "cpu_lion", "fused_adam"):
        assert "5 steps beside torch" in found["exercises"][f"op.{op}"]["text"]
