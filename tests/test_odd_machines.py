"""Machines that are odd and real: each was answered wrongly once, or could have been."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading

import pytest
from machines import ask, builder, cpu_host, cuda_host, gpu, ops, tool

import accelcaps
from accelcaps import Code, Facts, NotObserved, Status
from accelcaps import features as F
from accelcaps.accelerators import registry
from accelcaps.accelerators.registry import get_accelerator, sources
from accelcaps.cli import main
from accelcaps.facts import devices as device_facts
from accelcaps.facts.collectors import collectors
from accelcaps.facts.devices import DevicesCollector
from accelcaps.facts.isolation import Outcome, run_probe
from accelcaps.facts.packages import PackagesCollector
from accelcaps.facts.toolchain import ToolchainCollector

H100 = gpu("NVIDIA H100", "9.0")


def codes(verdict):
    return [reason.code for reason in verdict.reasons]


class TestNothingRecorded:
    @pytest.mark.parametrize("accelerator", ["cpu", "cuda"])
    def test_no_facts_are_no_yes(self, accelerator):
        """What the device and the system decide is unknown, not fine."""
        acc = ask({}, accelerator)

        for feature in (F.DTYPE_FP32, F.COMM_BACKEND, F.ATTENTION_SDPA, F.BUILD_CXX, F.ZERO_1):
            assert acc.explain(feature).status is Status.UNKNOWN

    def test_no_facts_are_no_hardware(self):
        choice = accelcaps.why(Facts({}, name="x"))

        assert (choice.chosen, choice.because) == ("cpu", "nothing else is usable")
        assert choice.overlooked == ()


class TestTorch:
    def test_one_that_cannot_be_imported_is_not_usable(self, tmp_path, monkeypatch):
        """Its files are there, and importing it fails."""
        (tmp_path / "torch").mkdir()
        (tmp_path / "torch/__init__.py").write_text(
            "raise OSError('libcudart.so.12: cannot open shared object file')"
        )
        (tmp_path / "torch/version.py").write_text("__version__ = '2.6.0+cpu'\ncuda = None\n")
        monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
        for name in [n for n in sys.modules if n.partition(".")[0] == "torch"]:
            monkeypatch.delitem(sys.modules, name)

        acc = get_accelerator("cpu", Facts(collectors=collectors(sources())))

        for feature in (F.DEVICE_AVAILABLE, F.DTYPE_FP32):
            verdict = acc.explain(feature)
            assert verdict.status is Status.UNKNOWN
            assert "libcudart.so.12" in str(verdict)

    @pytest.mark.parametrize("torch", ["2.5.0a0+e000cf0", "2.5.0.dev20240901+cu121", "2.5.0rc1"])
    def test_a_vendors_build_or_nightly_has_what_its_release_has(self, torch):
        acc = ask(cuda_host(H100, torch=torch))

        assert acc.explain(F.ATTENTION_CUDNN).status is Status.YES
        assert torch in str(acc.explain(F.ATTENTION_CUDNN))

    @pytest.mark.parametrize(
        ("python", "torch", "status"),
        [("3.13.0", "2.4.0", "no"), ("3.13.0", "2.6.0", "yes"), ("3.11.9", "2.1.0", "yes"),
         ("3.15.0", "2.14.0", "no"), ("3.12.1", "2.4.0", "yes")],
    )  # fmt: skip
    def test_compiling_on_a_new_python_names_the_one_torch_to_install(self, python, torch, status):
        facts = cpu_host("avx2", torch=torch, host={"python": {"version": python}})

        verdict = ask(facts, "cpu").explain(F.COMPILE_INDUCTOR)

        assert verdict.status == status
        if python == "3.13.0" and status == "no":
            assert len(verdict.reasons) == 1
            assert "needs PyTorch 2.6 or newer, found 2.4.0" in str(verdict)
            assert verdict.remedies == ("install PyTorch 2.6 or newer",)


class TestDevices:
    def test_a_device_that_torch_cannot_initialise_is_a_no(self):
        facts = cuda_host(H100)
        facts["torch"]["devices"] = {
            "cuda": {"available": True, "count": 0, "error": "RuntimeError: device is busy"}
        }

        verdict = ask(facts).explain(F.DEVICE_AVAILABLE)

        assert verdict.status is Status.NO
        assert codes(verdict) == [Code.RUNTIME_FAILED]
        assert "busy" in str(verdict)

    def collect(self, monkeypatch, nvml, torch, **variables):
        """Collect the devices with what NVML and torch tell."""
        outcome = Outcome({"driver": {"version": "570.1", "cuda": "12.8"}, "devices": nvml})
        monkeypatch.setattr(device_facts, "run_probe", lambda *a, **k: outcome)
        monkeypatch.setattr(device_facts, "_on_bus", lambda source: [])
        known = {
            "limits": {"visible_devices": variables},
            "torch": {"devices": {"cuda": {"available": True, "list": torch}}},
        }
        return DevicesCollector(sources()).collect(Facts(known, name="x"), "cuda")["list"]

    def test_where_a_number_may_mean_another_card_torch_tells_which(self, monkeypatch):
        fast, old = gpu("RTX 4090", "8.9"), gpu("GTX 1080", "6.1", number=1)

        found = self.collect(
            monkeypatch, [old | {"index": 0}, fast | {"index": 1}], [fast], CUDA_VISIBLE_DEVICES="0"
        )

        assert [device["name"] for device in found] == ["RTX 4090"]

    def test_a_part_of_a_card_has_the_memory_of_the_part(self, monkeypatch):
        whole = gpu("A100", "8.0", memory_bytes=80 * 2**30, mig=True)
        part = gpu("A100 MIG 1g.10gb", "8.0", memory_bytes=10 * 2**30)

        found = self.collect(monkeypatch, [whole], [part])

        assert [device["memory_bytes"] for device in found] == [10 * 2**30]

    def test_what_nvml_does_not_tell_torch_may(self, monkeypatch):
        untold = NotObserved(Code.NOT_OBSERVED, "NVML does not tell it").to_json()
        bare = gpu("GB10", "12.1", memory_bytes=untold)

        found = self.collect(monkeypatch, [bare], [gpu("GB10", "12.1", memory_bytes=7)])

        assert found[0]["memory_bytes"] == 7

    def test_a_capability_that_nobody_tells_is_unknown_and_no_old_card(self):
        facts = cuda_host(H100)
        untold = NotObserved(Code.NOT_OBSERVED, "NVML does not tell it").to_json()
        facts["devices"]["cuda"]["list"][0]["compute_capability"] = untold

        acc = ask(facts)
        assert acc.explain(F.BUILD_KERNEL_IMAGE).status is Status.UNKNOWN
        assert acc.explain(F.DTYPE_BF16).status is Status.UNKNOWN
        assert acc.explain(F.LIMIT_COMPUTE_CAPABILITY).status is Status.UNKNOWN

    def test_one_card_too_old_among_good_ones_is_named_and_can_be_left_out(self):
        good, bad = gpu("RTX 4090", "8.9"), gpu("GT 710", "3.5", number=1)
        acc = ask(cuda_host(good, bad))

        verdict = acc.explain(F.DEVICE_AVAILABLE)
        assert verdict.status is Status.NO
        assert (
            f"set CUDA_VISIBLE_DEVICES={good['uuid']} to use those devices alone"
            in verdict.remedies
        )
        assert "RTX 4090 (" not in "; ".join(r.text for r in acc.explain(F.DTYPE_BF16).reasons)

    def test_a_container_without_the_drivers_library_is_told_apart(self):
        facts = cuda_host(driver=None)
        facts["devices"]["cuda"]["visible_to_system"] = [{"pci": "0000:01:00.0", "id": "x"}]

        verdict = ask(facts).explain(F.DEVICE_AVAILABLE)

        assert "its driver are there, and its library is not" in str(verdict)
        assert any("--gpus all" in remedy for remedy in verdict.remedies)

    def test_a_driver_replaced_under_a_running_kernel_is_told_to_reboot(self):
        facts = cuda_host(H100)
        text = "the nvml probe raised NVMLError_LibRmVersionMismatch: Driver/library mismatch"
        broken = {"not_observed": {"code": "probe.crashed", "text": text}}
        facts["devices"]["cuda"] |= {"list": broken, "driver": broken}

        verdict = ask(facts).explain(F.DEVICE_AVAILABLE)

        assert verdict.status is Status.UNKNOWN
        assert any("reboot" in remedy for remedy in verdict.remedies)

    def test_a_package_that_is_installed_and_broken_is_no_attention(self):
        facts = cuda_host(H100, packages={"flash-attn": "2.7.4"})
        facts["imports"] = {"flash-attn": {"imported": False, "error": "undefined symbol: _ZN3c10"}}

        verdict = ask(facts).explain(F.ATTENTION_FLASH_ATTN_PACKAGE)

        assert verdict.status is Status.NO
        assert "undefined symbol" in str(verdict)


class TestOps:
    def test_a_prebuilt_op_of_a_device_that_is_not_here_is_unknown(self):
        op = builder("c++", "cuda", prebuilt=True)

        assert (
            ask(cuda_host(ops=ops("cuda", fused_adam=op))).explain(F.OP_FUSED_ADAM).status
            is Status.UNKNOWN
        )

    def test_a_folder_that_cannot_be_written_is_a_no(self):
        folder = {"path": "/ro/cpu_adam", "locked": False, "error": "Read-only file system: /ro"}
        facts = cpu_host("avx2", ops=ops("cpu", cpu_adam=builder(folder=folder)))

        verdict = ask(facts, "cpu").explain(F.OP_CPU_ADAM)

        assert verdict.status is Status.NO
        assert codes(verdict) == [Code.RESOURCE_LIMIT]
        assert any("TORCH_EXTENSIONS_DIR" in remedy for remedy in verdict.remedies)

    def test_a_lock_that_was_left_behind_is_no_yes(self):
        folder = {"path": "/c/cpu_adam", "locked": True, "error": None}
        facts = cpu_host("avx2", ops=ops("cpu", cpu_adam=builder(folder=folder)))

        verdict = ask(facts, "cpu").explain(F.OP_CPU_ADAM)

        assert verdict.status is Status.UNKNOWN
        assert "delete /c/cpu_adam/lock, where no build runs" in verdict.remedies

    def test_an_op_that_nobody_knows_is_unknown_where_builders_cannot_be_asked(
        self, tmp_path, capsys
    ):
        facts = cpu_host("avx2")
        place = tmp_path / "f.json"
        place.write_text(json.dumps({"schema_version": 1, "facts": facts}))

        assert main(["explain", "op.warp_drive_v9", "--facts", str(place)]) == 3
        assert main(["explain", "op.asyncio", "--facts", str(place)]) == 2

    def test_deepspeed_without_torch_asks_for_torch(self):
        facts = Facts({"packages": {"deepspeed": "0.19.8"}, "torch": {"version": None}},
                      [c for c in collectors(sources()) if c.section == ("ops",)])  # fmt: skip

        verdict = get_accelerator("cpu", facts).explain(F.OP_CPU_ADAM)

        assert verdict.status is Status.UNKNOWN
        assert verdict.remedies == ("pip install torch",)


class TestTools:
    def collect(self, monkeypatch, **variables):
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        return Facts({"toolchain": ToolchainCollector().collect(Facts(), "")}, name="x")

    def test_a_compiler_with_arguments_is_one_for_extensions_alone(self, monkeypatch):
        """torch's extension builder splits CXX; inductor and triton take it whole."""
        found = self.collect(monkeypatch, CXX="env c++", CC="env gcc").section("toolchain")

        assert found["cxx"]["path"] is not None
        assert found["gxx"]["path"] is None
        assert found["cc"]["path"] is None

    @pytest.mark.parametrize("value", ["", " ", "'unbalanced", "/bin/false"])
    def test_a_variable_that_names_no_compiler_is_to_be_unset(self, monkeypatch, value):
        facts = self.collect(monkeypatch, CXX=value).to_json()
        facts = cpu_host("avx2", toolchain=facts["toolchain"], host={"environment": {"CXX": value}})

        verdict = ask(facts, "cpu").explain(F.BUILD_CXX)

        assert verdict.status is Status.NO
        assert verdict.remedies == (f"unset CXX, which is {value!r}",)

    def test_nvcc_takes_its_own_host_compiler(self):
        facts = cuda_host(
            H100, toolchain={"cxx": tool("/usr/bin/c++", "14.2.0", kind="gcc"),
                             "nvcc": tool("/usr/local/cuda/bin/nvcc", "12.1")},
        )  # fmt: skip
        assert ask(facts).explain(F.BUILD_CUDA).status is Status.YES

        facts["toolchain"]["nvcc_host"] = tool("/usr/bin/gcc", "14.2.0", kind="gcc")
        assert ask(facts).explain(F.BUILD_CUDA).status is Status.NO

    @pytest.mark.parametrize(
        ("ours", "remedy"), [(True, "apt install python3-dev"), (False, "use a Python that")]
    )
    def test_headers_of_another_python_are_not_in_the_distributions_package(self, ours, remedy):
        facts = cpu_host(
            "avx2", toolchain={"python_headers": {"there": False, "of_distribution": ours}}
        )

        assert ask(facts, "cpu").explain(F.BUILD_PYTHON_HEADERS).remedies[0].startswith(remedy)

    def test_every_way_to_be_installed_counts(self, tmp_path, monkeypatch):
        (tmp_path / "deepspeed.egg-info").mkdir()
        (tmp_path / "deepspeed.egg-info/PKG-INFO").write_text("Name: deepspeed\nVersion: 0.14.0\n")
        (tmp_path / "foo-1.0-py3.11.egg-info").write_text("")
        (tmp_path / "Bar_Baz-2.0+cu1.dist-info").mkdir()
        monkeypatch.setattr(sys, "path", [str(tmp_path)])

        found = PackagesCollector().collect(Facts(), "")

        assert found == {"deepspeed": "0.14.0", "foo": "1.0", "bar-baz": "2.0+cu1"}


class TestCaller:
    def test_many_threads_may_ask_at_once(self):
        acc = ask(cuda_host(H100))
        start, wrong = threading.Barrier(8), []

        def run():
            start.wait()
            try:
                acc.features()
            except Exception as error:
                wrong.append(error)

        threads = [threading.Thread(target=run) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert wrong == []

    def test_an_interrupted_question_can_be_asked_again(self):
        class Interrupted:
            section, keyed_by, calls = ("host",), "", 0

            def collect(self, facts, key):
                type(self).calls += 1
                if self.calls == 1:
                    raise KeyboardInterrupt
                return {"system": "Linux"}

        facts = Facts(collectors=[Interrupted()])

        with pytest.raises(KeyboardInterrupt):
            facts.get("host", "system")
        assert facts.get("host", "system") == "Linux"

    def test_a_choice_made_on_purpose_is_not_warned_about(self, monkeypatch, recwarn):
        facts = Facts(cuda_host(gpu("RTX 5090", "12.0")), name="this machine")
        monkeypatch.setattr(registry, "_here", {})
        monkeypatch.setattr(registry, "_facts_here", [facts])
        monkeypatch.setenv("ACCELCAPS_ACCELERATOR", "cpu")

        assert accelcaps.get_accelerator().name == "cpu"
        assert not recwarn.list

    def test_a_probe_that_fails_is_no_hardware(self):
        crashed = {"not_observed": {"code": "probe.crashed", "text": "no"}}
        facts = cpu_host("avx2")
        facts["devices"]["cuda"] = {"list": crashed, "driver": crashed, "visible_to_system": []}

        assert accelcaps.why(Facts(facts, name="x")).overlooked == ()

    def test_a_module_in_the_working_folder_does_not_run_in_the_probe(self, tmp_path, monkeypatch):
        (tmp_path / "json.py").write_text("raise SystemExit('the wrong json')")
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])

        assert run_probe("simulated.probes:good", 1, deadline=20).failure is None

    @pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
    def test_a_terminal_without_our_characters_is_no_error(self, encoding):
        done = subprocess.run(
            [sys.executable, "-m", "accelcaps", "features", "zero"], capture_output=True,
            env={**os.environ, "PYTHONIOENCODING": encoding}, text=True,
        )  # fmt: skip
        report = subprocess.run(
            [sys.executable, "-c", "from accelcaps.cli import run; import sys; "
             "sys.argv[1:] = ['explain', 'device.available', '--accelerator', 'cpu']; run()"],
            capture_output=True, env={**os.environ, "PYTHONIOENCODING": encoding}, text=True,
        )  # fmt: skip

        assert (done.returncode, done.stderr) == (0, "")
        assert "Traceback" not in report.stderr

    def test_a_closed_output_is_no_error(self):
        done = subprocess.run(
            ["sh", "-c", f"{sys.executable} -m accelcaps features zero >&-"],
            capture_output=True,
            text=True,
        )

        assert "Traceback" not in done.stderr

    def test_asking_for_an_accelerator_does_not_fail_for_a_variable(
        self, monkeypatch, capsys, tmp_path
    ):
        monkeypatch.setenv("DS_ACCELERATOR", "xpu")
        monkeypatch.setattr(registry, "_here", {})
        monkeypatch.setattr(registry, "_facts_here", [Facts(cpu_host("avx2"), name="this machine")])

        assert main(["report", "--accelerator", "cpu"]) == 0
