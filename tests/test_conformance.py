"""The conformance kit: the example passes; a copy with planted lies fails, each one named."""

from __future__ import annotations

import json
import shutil

import pytest
from vendor_example import install, run

from accelcaps import Status
from accelcaps.checks.exercise import Exercise, Outcome
from accelcaps.conformance.kit import judged
from accelcaps.conformance.result import Mark

GROUPS = ("dtype", "device", "runtime", "memory", "attention", "comm", "x.quoll.kernel_counter")
"""All that a Quoll has claims of; compilers and the host are no matter of its own."""


@pytest.mark.parametrize(
    ("claim", "outcome", "mark"),
    [
        ("yes", "worked", "passed"), ("yes", "raised", "failed"), ("yes", "wrong", "failed"),
        ("yes", "timed out", "failed"), ("yes", "absent", "left"), ("degraded", "worked", "passed"),
        ("degraded", "raised", "failed"), ("no", "raised", "passed"), ("no", "absent", "passed"),
        ("no", "worked", "failed"), ("no", "wrong", "failed"), ("no", "crashed", "failed"),
        ("no", "timed out", "failed"), ("unknown", "raised", "passed"),
        ("unknown", "worked", "passed"), ("unknown", "crashed", "failed"),
        ("yes", "not tried", "left"), ("yes", "unstable", "failed"),
    ],
)  # fmt: skip
def test_how_a_claim_is_judged(claim, outcome, mark):
    found, text = judged(Status(claim), Exercise("dtype.bf16", Outcome(outcome), "what it said"))

    assert found is Mark(mark)
    assert "what it said" in text


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    return install(tmp_path_factory.mktemp("example"))


def conformance(path, *arguments, **environment):
    done = run("-m", "accelcaps", "conformance", "quoll", *arguments, "--json", "--quiet",
               path=path, **environment)  # fmt: skip
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


@pytest.fixture(scope="module")
def passed(installed, tmp_path_factory):
    page = tmp_path_factory.mktemp("published") / "quoll.md"
    status, found = conformance(installed, *GROUPS, "--write", str(page))
    return status, found, page.read_text()


@pytest.mark.stack
class TestTheExample:
    def test_it_conforms(self, passed):
        status, found, _ = passed

        assert [r for r in found["results"] if r["mark"] == "failed"] == []
        assert status == 0

    def test_every_criterion_is_asked(self, passed):
        criteria = {r["criterion"] for r in passed[1]["results"]}

        assert criteria == {
            "loads", "declared", "sourced", "rules", "imports", "context", "fork", "time",
            "round trip", "claim",
        }  # fmt: skip

    def test_a_forced_kernel_that_did_not_run_does_not_pass(self, passed):
        """torch falls back to its plain attention on a device without the kernel."""
        flash = passed[1]["exercises"]["attention.flash_attention"]

        assert flash["outcome"] != "worked"

    def test_without_a_known_backend_no_collective_is_judged(self, passed):
        assert passed[1]["exercises"]["comm.all_reduce"]["outcome"] == "not tried"

    def test_its_own_feature_is_exercised_by_its_own_check(self, passed):
        assert passed[1]["exercises"]["x.quoll.kernel_counter"]["text"] == "5 sums, 5 kernels"

    def test_the_page_to_publish_says_what_was_found(self, passed):
        page = passed[2]

        assert "**quoll conforms" in page
        assert "the device is simulated" in page
        assert "| dtype.bf16 | yes | worked" in page
        assert "accelcaps conformance quoll" in page


@pytest.mark.stack
def test_an_older_generation_conforms_too(installed):
    status, found = conformance(installed, "dtype", QUOLL_ARCH="q1")
    by_feature = {r["subject"]: r["text"] for r in found["results"]}

    assert status == 0
    assert by_feature["dtype.bf16"].startswith("claimed no; raised")


@pytest.mark.stack
def test_its_ops_are_built_run_and_compared(installed):
    """One in C++, by a check of its own; one in Python, by the check for its name."""
    status, found = conformance(installed, "op.quoll_axpy", "op.fused_adam")

    assert status == 0
    assert 0 < found["exercises"]["op.quoll_axpy"]["measured"]["error"] < 1e-6
    assert "5 steps beside torch" in found["exercises"]["op.fused_adam"]["text"]


# File of the example → what stands there → what the lie makes of it.
LIES = {
    "a type that is not there": (
        "accelcaps_quoll/accelerator.py",
        "            F.DTYPE_FP64, F.DTYPE_FP64_STORAGE,",
        "            F.DTYPE_FP64_STORAGE,",
    ),
    "the type's row": (
        "accelcaps_quoll/accelerator.py",
        "    F.DTYPE_FP32: all_of",
        '    F.DTYPE_FP64: all_of(ON_A_DEVICE).source("a lie"),\n    F.DTYPE_FP32: all_of',
    ),
    "wrong numbers": (
        "torch_quoll/tensor.py",
        "        found = op(*args, **kwargs)\n",
        "        found = op(*args, **kwargs)\n"
        "        if name == 'mm' and found.dtype is torch.bfloat16:\n"
        "            found = found * 1.1\n",
    ),
    "a hang": (
        "torch_quoll/device.py",
        "    return _generator.get_state()",
        "    import threading\n    threading.Event().wait()\n    return _generator.get_state()",
    ),
    "a crash": (
        "torch_quoll/tensor.py",
        '    name = op._schema.name.partition("::")[2]\n',
        '    name = op._schema.name.partition("::")[2]\n'
        "    if name == 'copy_' and args[0].dtype is torch.float8_e5m2:\n"
        "        print('the card fell out', flush=True)\n"
        "        import os\n"
        "        os.abort()\n",
    ),
    "a context in the caller": (
        "accelcaps_quoll/accelerator.py",
        '    title = "Quoll"\n',
        '    title = "Quoll"\n\n'
        "    def devices(self):\n"
        "        import torch, torch_quoll\n"
        "        torch.ones(1, device='quoll')\n"
        "        return super().devices()\n\n",
    ),
    "an undeclared feature": (
        "accelcaps_quoll/accelerator.py",
        "        KERNEL_COUNTER: all_of(ON_A_DEVICE)",
        '        Feature("x.quoll.turbo", "turbo", "faster"): all_of(ON_A_DEVICE).source("a lie"),\n'
        "        KERNEL_COUNTER: all_of(ON_A_DEVICE)",
    ),
}


def lie(site):
    for file, there, instead in LIES.values():
        path = site / file
        text = path.read_text()
        assert text.count(there) == 1, there
        path.write_text(text.replace(there, instead))
    table = site / "accelcaps_quoll/accelerator.py"
    table.write_text(
        table.read_text().replace("import Accelerator, Code,", "import Accelerator, Code, Feature,")
    )


@pytest.fixture(scope="module")
def lied(installed, tmp_path_factory):
    site = tmp_path_factory.mktemp("lies") / "site"
    shutil.copytree(installed, site)
    lie(site)
    status, found = conformance(site, "dtype", "runtime.rng_per_device", "--deadline", "15")
    assert status == 1
    return found


def failures(found, criterion):
    return {
        r["subject"]: r["text"]
        for r in found["results"]
        if r["criterion"] == criterion and r["mark"] == "failed"
    }


@pytest.mark.stack
class TestACopyWithSixLies:
    @pytest.mark.parametrize(
        ("subject", "words"),
        [
            ("dtype.fp64", "raised, RuntimeError: a Quoll has no torch.float64"),
            ("dtype.bf16", "wrong, a matrix product is off by"),
            ("runtime.rng_per_device", "timed out, its process did not answer within 15 s"),
            (
                "dtype.fp8_e5m2.storage",
                "crashed, its process was ended by signal SIGABRT: the card",
            ),
        ],
    )
    def test_a_claim_that_does_not_hold_is_named(self, lied, subject, words):
        assert f"claimed yes; {words}" in failures(lied, "claim")[subject]

    def test_no_true_claim_is_called_a_lie(self, lied):
        assert set(failures(lied, "claim")) == {
            "dtype.fp64", "dtype.bf16", "runtime.rng_per_device", "dtype.fp8_e5m2.storage",
            "dtype.fp8_e5m2",  # claimed no, and it does not fail cleanly
        }  # fmt: skip

    def test_the_undeclared_feature_is_named(self, lied):
        assert list(failures(lied, "declared")) == ["x.quoll.turbo"]

    def test_the_context_in_the_caller_is_named(self, lied):
        assert "a device context was made" in failures(lied, "context")[""]
        assert "torch" in failures(lied, "imports")[""]
        assert "cannot use the Quoll that its parent has opened" in failures(lied, "fork")[""]


@pytest.mark.stack
def test_the_pytest_plugin_makes_a_test_of_each_claim(installed, tmp_path):
    (tmp_path / "test_mine.py").write_text("def test_mine():\n    pass\n")
    done = run(
        "-m", "pytest", "-p", "accelcaps.conformance.pytest_plugin", "-p", "no:cacheprovider",
        "--accelcaps-conformance", "quoll", "--accelcaps-claims", "dtype.fp32,dtype.fp64,comm.gather",
        "-v", str(tmp_path), path=installed,
    )  # fmt: skip

    assert done.returncode == 0, done.stdout + done.stderr
    assert "test_mine PASSED" in done.stdout
    for name in ("loads", "imports", "fork", "claim: dtype.fp32", "claim: dtype.fp64"):
        assert f"quoll[{name}] PASSED" in done.stdout
    assert "quoll[claim: comm.gather] SKIPPED" in done.stdout


@pytest.mark.stack
def test_the_pytest_plugin_fails_with_the_finding(installed, tmp_path):
    site = tmp_path / "site"
    shutil.copytree(installed, site)
    lie(site)
    (tmp_path / "test_mine.py").write_text("def test_mine():\n    pass\n")
    done = run(
        "-m", "pytest", "-p", "accelcaps.conformance.pytest_plugin", "-p", "no:cacheprovider",
        "--accelcaps-conformance", "quoll", "--accelcaps-claims", "dtype.fp64",
        "-q", str(tmp_path / "test_mine.py"), path=site,
    )  # fmt: skip

    assert done.returncode == 1
    assert "claim dtype.fp64: failed: claimed yes; raised" in done.stdout
    assert "declared x.quoll.turbo: failed" in done.stdout


def test_a_package_that_does_not_load_fails_the_first_criterion(tmp_path):
    from test_vendor_plugin import offer

    offer(tmp_path, "quoll", "raise OSError('libquoll.so: cannot open')")
    status, found = conformance(tmp_path)

    assert status == 1
    assert [r["criterion"] for r in found["results"]] == ["loads"]
    assert "libquoll.so: cannot open" in found["results"][0]["text"]


def test_a_name_that_nobody_offers_is_an_error(tmp_path):
    done = run("-m", "accelcaps", "conformance", "wombat", path=tmp_path)

    assert done.returncode == 2
    assert "no accelerator is called 'wombat'" in done.stderr
