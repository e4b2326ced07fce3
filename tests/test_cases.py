"""Situations of real users, written down as facts, with the answers that are right.

Each class is one kind of situation; the named machines are from public reports, and the
parametrised ones around them are the kind.
"""

from __future__ import annotations

import machines
import pytest
from machines import ask, builder, cpu_host, cuda_host, gpu, ops

from accelcaps import Code, Status, UnsupportedFeatureError
from accelcaps import features as F


def codes(verdict):
    return [reason.code for reason in verdict.reasons]


def text(verdict):
    return "; ".join(reason.text for reason in verdict.reasons)


class TestEmulatedBf16:
    """bf16 below compute capability 8.0 (pytorch PR 148322, pytorch#124996)."""

    @pytest.mark.parametrize(
        ("name", "capability", "torch"),
        [("Tesla T4", "7.5", "2.4.0+cu121"), ("Tesla V100-SXM2-32GB", "7.0", "2.2.2+cu121")],
    )
    def test_it_is_degraded_although_torch_says_supported(self, name, capability, torch):
        verdict = ask(cuda_host(gpu(name, capability), torch=torch)).explain(F.DTYPE_BF16)

        assert Status.DEGRADED is verdict.status
        assert codes(verdict) == [Code.HARDWARE_TOO_OLD, Code.EMULATED]
        assert f"compute capability is {capability}, needs at least 8.0" in text(verdict)
        assert "emulated through fp32" in text(verdict)
        assert verdict.remedies == ("use fp16",)

    def test_fp16_is_native_there(self):
        assert Status.YES is ask(cuda_host(gpu("Tesla T4", "7.5"))).explain(F.DTYPE_FP16).status

    def test_the_best_of_both_is_fp16_on_a_t4_and_bf16_on_an_a100(self):
        wanted = (F.DTYPE_FP8_E4M3, F.DTYPE_BF16, F.DTYPE_FP16)

        assert ask(cuda_host(gpu("Tesla T4", "7.5"))).best_of(*wanted) == F.DTYPE_FP16
        assert ask(cuda_host(gpu("A100", "8.0"))).best_of(*wanted) == F.DTYPE_BF16
        assert ask(cuda_host(gpu("H100", "9.0"))).best_of(*wanted) == F.DTYPE_FP8_E4M3

    @pytest.mark.parametrize(
        ("capability", "status"),
        [("6.1", "no"), ("7.0", "degraded"), ("7.5", "degraded"), ("8.0", "yes"), ("8.6", "yes"),
         ("8.9", "yes"), ("9.0", "yes")],
    )  # fmt: skip
    def test_the_threshold_is_where_the_hardware_changes(self, capability, status):
        verdict = ask(cuda_host(gpu("GPU", capability))).explain(F.DTYPE_BF16)

        assert status == verdict.status


class TestPascal:
    """bf16 and fp16 are both refused, and both are told (DeepSpeed#6723, #4977)."""

    @pytest.mark.parametrize("name", ["TITAN X", "GeForce GTX 1080 Ti"])
    def test_both_types_and_both_refusals_at_6_1(self, name):
        acc = ask(cuda_host(gpu(name, "6.1")))

        bf16, fp16 = acc.explain(F.DTYPE_BF16), acc.explain(F.DTYPE_FP16)
        assert Status.NO is bf16.status
        assert "CUBLAS_STATUS_NOT_SUPPORTED" in text(bf16)
        assert "use fp32" in bf16.remedies
        assert Status.DEGRADED is fp16.status
        assert "1/64" in text(fp16)
        assert "use fp32" in fp16.remedies

    def test_fp16_is_fast_at_6_0(self):
        acc = ask(cuda_host(gpu("Tesla P100-PCIE-16GB", "6.0")))

        assert Status.YES is acc.explain(F.DTYPE_FP16).status
        assert Status.NO is acc.explain(F.DTYPE_BF16).status

    @pytest.mark.parametrize("capability", ["6.0", "6.1"])
    def test_deepspeed_refuses_fp16_by_policy(self, capability):
        verdict = ask(cuda_host(gpu("GPU", capability))).explain(F.DEEPSPEED_FP16)

        assert Status.NO is verdict.status
        assert Code.POLICY is verdict.reasons[0].code
        assert "policy, not hardware" in text(verdict)
        assert any("DS_ALLOW_DEPRECATED_FP16=1" in remedy for remedy in verdict.remedies)

    def test_the_variable_lifts_the_policy(self):
        facts = cuda_host(
            gpu("P100", "6.0"), host={"environment": {"DS_ALLOW_DEPRECATED_FP16": "1"}}
        )

        assert Status.YES is ask(facts).explain(F.DEEPSPEED_FP16).status

    def test_a_program_that_requires_both_is_told_both(self):
        with pytest.raises(UnsupportedFeatureError) as error:
            ask(cuda_host(gpu("TITAN X", "6.1"))).require(F.DTYPE_BF16, F.DEEPSPEED_FP16)

        assert [v.feature for v in error.value.missing] == ["dtype.bf16", "deepspeed.fp16"]
        assert "dtype.bf16: no" in str(error.value)
        assert "deepspeed.fp16: no" in str(error.value)


XEON_4114 = ("avx2", "avx512f", "avx512dq", "avx512cd", "avx512bw", "avx512vl")
SAPPHIRE_RAPIDS = (*XEON_4114, "avx512_bf16", "avx512_fp16", "amx_bf16", "amx_tile", "amx_int8")


class TestCpuFlags:
    """The instruction set decides (ipex#178, DeepSpeed PR 8398, DeepSpeed#5718)."""

    def test_both_half_types_are_degraded_without_units(self):
        acc = ask(cpu_host(*XEON_4114), "cpu")

        bf16, fp16 = acc.explain(F.DTYPE_BF16), acc.explain(F.DTYPE_FP16)
        assert Status.DEGRADED is bf16.status
        assert "no avx512_bf16" in text(bf16)
        assert "no amx_bf16" in text(bf16)
        assert Status.DEGRADED is fp16.status
        assert "no avx512_fp16" in text(fp16)
        assert "in software" in text(fp16)

    def test_deepspeed_refuses_fp16_there(self):
        verdict = ask(cpu_host(*XEON_4114), "cpu").explain(F.DEEPSPEED_FP16)

        assert Status.NO is verdict.status
        assert Code.POLICY in codes(verdict)
        assert any("bf16" in remedy for remedy in verdict.remedies)

    def test_deepspeeds_own_word_counts_where_it_was_asked(self):
        said = {"cpu": {"builders": {}, "accelerator": {"is_fp16_supported": None}}}

        verdict = ask(cpu_host(*SAPPHIRE_RAPIDS, ops=said), "cpu").explain(F.DEEPSPEED_FP16)

        assert Status.NO is verdict.status

    @pytest.mark.parametrize("feature", [F.DTYPE_BF16, F.DTYPE_FP16, F.DTYPE_INT8])
    def test_sapphire_rapids_has_all(self, feature):
        assert Status.YES is ask(cpu_host(*SAPPHIRE_RAPIDS), "cpu").explain(feature).status

    @pytest.mark.parametrize(
        ("flags", "bf16", "fp16"),
        [
            (("avx2",), "degraded", "degraded"),
            (("avx512f", "avx512_bf16"), "yes", "degraded"),
            (("avx512f", "avx512_fp16"), "degraded", "yes"),
            (("avx_ne_convert",), "degraded", "degraded"),
            (("asimd", "asimdhp", "fphp"), "degraded", "yes"),
            (("asimd", "asimdhp", "fphp", "bf16"), "yes", "yes"),
            ((), "degraded", "degraded"),
        ],
    )
    def test_each_type_follows_its_own_flags(self, flags, bf16, fp16):
        acc = ask(cpu_host(*flags), "cpu")

        assert (bf16, fp16) == (acc.explain(F.DTYPE_BF16).status, acc.explain(F.DTYPE_FP16).status)

    def test_flags_that_nobody_recorded_are_unknown(self):
        facts = cpu_host()
        del facts["cpu"]

        assert Status.UNKNOWN is ask(facts, "cpu").explain(F.DTYPE_BF16).status

    def test_torch_that_is_too_old_for_fp16_is_told(self):
        verdict = ask(cpu_host(*SAPPHIRE_RAPIDS, torch="2.1.2"), "cpu").explain(F.DTYPE_FP16)

        assert Status.NO is verdict.status
        assert "PyTorch is 2.1.2, needs at least 2.2" in text(verdict)


def async_io(function="io_submit", found=False, **build):
    """The async_io builder that looked for a function of libaio."""
    return builder(
        compatible=found,
        said=[] if found else ["async_io requires the dev libaio .so object and headers"],
        functions=[{"name": function, "libraries": ["aio"], "found": found}],
        build={**builder()["build"], "libraries": ["aio"], **build},
    )


def with_aio(managers, function="io_submit", deepspeed="0.19.8", **aio):
    library = {"file": None, "header": None, "runtime": None, "version": None, **aio}
    return cuda_host(
        gpu("A100", "8.0"),
        host={"package_managers": managers},
        libraries={"aio": library},
        ops=ops("cuda", deepspeed, async_io=async_io(function)),
    )


class TestLibaio:
    """libaio is missing, half installed, or too old (DeepSpeed#4189, #4968, #7346)."""

    @pytest.mark.parametrize(
        ("managers", "command"),
        [
            (["dpkg"], "apt install libaio-dev"),
            (["apt-get", "dpkg"], "apt install libaio-dev"),
            (["rpm"], "yum install libaio-devel"),
            (["dnf", "rpm"], "dnf install libaio-devel"),
            (["yum", "rpm"], "yum install libaio-devel"),
            (["zypper", "rpm"], "zypper install libaio-devel"),
            (["pacman"], "pacman -S libaio"),
            (["apk"], "apk add libaio-dev"),
        ],
    )
    def test_the_remedy_is_this_distributions_command(self, managers, command):
        verdict = ask(with_aio(managers, runtime="libaio.so.1")).explain(F.OP_ASYNC_IO)

        assert Status.NO is verdict.status
        assert Code.LIBRARY_MISSING is verdict.reasons[0].code
        assert "without its development files" in verdict.reasons[0].text
        assert command == verdict.remedies[0]
        assert not any("install" in r and r != command for r in verdict.remedies)

    def test_no_command_is_offered_where_no_package_manager_is(self):
        verdict = ask(with_aio([])).explain(F.OP_ASYNC_IO)

        assert not any("install" in remedy for remedy in verdict.remedies)

    def test_a_library_that_is_too_old_is_told_so(self):
        """Not to install what is installed."""
        facts = with_aio(
            ["dnf", "rpm"], "io_pgetevents", "0.16.8", file="/usr/lib64/libaio.so.1.0.1",
            header="/usr/include/libaio.h", runtime="libaio.so.1", version="0.3.111",
        )  # fmt: skip

        verdict = ask(facts).explain(F.OP_ASYNC_IO)

        assert Status.NO is verdict.status
        assert Code.LIBRARY_VERSION is verdict.reasons[0].code
        assert "io_pgetevents needs libaio 0.3.112 or newer, found 0.3.111" in text(verdict)
        assert any("0.3.112" in remedy for remedy in verdict.remedies)
        assert any("DeepSpeed version" in remedy for remedy in verdict.remedies)
        assert not any("libaio-devel" in remedy for remedy in verdict.remedies)

    def test_a_test_program_that_fails_beside_a_present_library_blames_the_compiler(self):
        facts = with_aio(
            ["apt-get"],
            file="/usr/lib/libaio.so",
            header="/usr/include/libaio.h",
            version="0.3.113",
        )
        facts["toolchain"]["cc"] = machines.tool("/bin/false", error="it fails") | {"runs": False}

        verdict = ask(facts).explain(F.OP_ASYNC_IO)

        assert Code.TOOLCHAIN_BROKEN in codes(verdict)
        assert Code.LIBRARY_MISSING not in codes(verdict)

    def test_a_builder_that_is_satisfied_still_needs_the_header(self):
        """LDFLAGS can satisfy the builder's link test while the real build finds no header."""
        facts = cuda_host(
            gpu("A100", "8.0"),
            ops=ops("cuda", async_io=async_io(found=True, headers_missing=["libaio.h"])),
        )

        verdict = ask(facts).explain(F.OP_ASYNC_IO)

        assert Status.NO is verdict.status
        assert "the compiler finds no libaio.h" in text(verdict)
        assert "apt install libaio-dev" in verdict.remedies


def runtime_image(*names):
    """A container with a GPU and a CUDA runtime, without the compiler."""
    facts = cuda_host(
        gpu("Tesla P100-PCIE-16GB", "6.0"),
        gpu("Tesla P100-PCIE-16GB", "6.0", number=1),
        torch="2.0.1+cu117",
        cuda="11.7",
        host={"container": "docker"},
        packages={"nvidia-cuda-nvcc-cu11": "11.7.99"},
        toolchain={"nvcc": {"path": None, "runs": False, "version": None, "error": None}},
        ops=ops("cuda", **{name: builder("c++", "cuda") for name in names}),
    )
    facts["toolchain"]["nvcc"]["path"] = None
    return facts


class TestRuntimeImage:
    """CUDA_HOME is there and has no nvcc (DeepSpeed#4553, #7452)."""

    @pytest.mark.parametrize("name", ["fused_adam", "fused_lamb", "transformer", "some_new_op"])
    def test_an_op_in_cuda_is_a_no_although_its_builder_says_compatible(self, name):
        verdict = ask(runtime_image(name)).explain(f"op.{name}")

        assert Status.NO is verdict.status
        assert Code.TOOLCHAIN_MISSING in codes(verdict)
        assert "no nvcc in /usr/local/cuda/bin (a runtime-only install)" in text(verdict)
        assert any("devel image" in remedy for remedy in verdict.remedies)
        assert any("cuda-nvcc" in remedy for remedy in verdict.remedies)

    def test_fused_adam_can_be_done_without(self):
        verdict = ask(runtime_image("fused_adam")).explain(F.OP_FUSED_ADAM)

        assert any("torch_adam" in remedy for remedy in verdict.remedies)

    def test_zero_needs_no_op(self):
        acc = ask(runtime_image("fused_adam"))

        assert Status.YES is acc.explain(F.ZERO_1).status
        assert Status.YES is acc.explain(F.ZERO_3).status

    def test_an_op_in_cxx_alone_is_not_affected(self):
        facts = runtime_image()
        facts["ops"] = ops("cuda", cpu_adam=builder("c++"))

        assert Status.YES is ask(facts).explain(F.OP_CPU_ADAM).status

    def test_no_toolkit_at_all_is_told_differently(self):
        facts = runtime_image("fused_adam")
        facts["toolchain"]["cuda_home"] = None

        assert "there is no CUDA toolkit" in text(ask(facts).explain(F.OP_FUSED_ADAM))

    def test_nvcc_that_does_not_run_is_broken_not_missing(self):
        facts = runtime_image("fused_adam")
        facts["toolchain"]["nvcc"] = machines.tool("/opt/cuda/bin/nvcc", error="bad ELF") | {
            "runs": False
        }

        verdict = ask(facts).explain(F.OP_FUSED_ADAM)

        assert Code.TOOLCHAIN_BROKEN in codes(verdict)
        assert "bad ELF" in text(verdict)


class TestToolkitAndTorch:
    """nvcc of one CUDA, torch of another (DeepSpeed#2902, #3105, MII#277)."""

    def verdict(self, nvcc, torch_cuda, **environment):
        facts = cuda_host(
            gpu("A100", "8.0"),
            torch=f"2.1.0+cu{torch_cuda.replace('.', '')}",
            cuda=torch_cuda,
            driver="580.95.05",
            host={"environment": environment},
            toolchain={"nvcc": machines.tool("/usr/local/cuda/bin/nvcc", nvcc),
                       "nvcc_host": machines.tool("/usr/bin/gcc", "9.4.0", kind="gcc")},
            ops=ops("cuda", fused_adam=builder("c++", "cuda")),
        )  # fmt: skip
        return ask(facts).explain(F.OP_FUSED_ADAM)

    @pytest.mark.parametrize(
        ("nvcc", "torch_cuda"),
        [("12.0", "11.8"), ("11.7", "12.1"), ("9.1", "11.8"), ("12.0", "11.7"), ("13.0", "12.6")],
    )
    def test_major_versions_that_differ_are_a_no(self, nvcc, torch_cuda):
        verdict = self.verdict(nvcc, torch_cuda)

        assert Status.NO is verdict.status
        assert Code.TOOLCHAIN_MISMATCH in codes(verdict)
        assert f"nvcc is of CUDA {nvcc}, this PyTorch is built with CUDA {torch_cuda}" in text(
            verdict
        )
        assert any("DS_SKIP_CUDA_CHECK=1" in r and "own risk" in r for r in verdict.remedies)
        assert any(f"install CUDA toolkit {torch_cuda}" in r for r in verdict.remedies)

    @pytest.mark.parametrize(
        ("nvcc", "torch_cuda"), [("11.1", "11.7"), ("11.3", "11.8"), ("13.1", "13.0")]
    )
    def test_minor_versions_may_differ(self, nvcc, torch_cuda):
        assert Status.YES is self.verdict(nvcc, torch_cuda).status

    def test_the_users_risk_is_the_users(self):
        verdict = self.verdict("12.0", "11.8", DS_SKIP_CUDA_CHECK="1")

        assert Status.DEGRADED is verdict.status
        assert "DS_SKIP_CUDA_CHECK is 1" in text(verdict)

    def test_a_host_compiler_too_new_for_nvcc_is_told(self):
        facts = cuda_host(
            gpu("A100", "8.0"),
            cuda="11.8",
            toolchain={"nvcc_host": machines.tool("/usr/bin/gcc", "13.2.0", kind="gcc"),
                       "nvcc": machines.tool("/usr/local/cuda/bin/nvcc", "11.8")},
        )  # fmt: skip

        verdict = ask(facts).explain(F.BUILD_CUDA)

        assert Status.NO is verdict.status
        assert "takes GCC older than 12, found 13.2.0" in text(verdict)
        assert any("g++-11" in remedy for remedy in verdict.remedies)

    def test_a_toolkit_that_dropped_the_device_is_told(self):
        facts = cuda_host(
            gpu("V100", "7.0"), torch="2.14.1+cu130", cuda="13.0", driver="580.95.05",
            archs=["sm_70"], toolchain={"cuda_archs": ["sm_75", "sm_80", "sm_90"]},
        )  # fmt: skip

        verdict = ask(facts).explain(F.BUILD_CUDA)

        assert Status.NO is verdict.status
        assert "does not compile for compute capability 7.0" in text(verdict)


def cached(fresh, **more):
    path = "/root/.cache/torch_extensions/py310_cu117/fused_adam/fused_adam.so"
    return {"path": path, "fresh": fresh, "isa": [], **more}


NO_CXX = {"command": "c++", "path": None, "runs": False, "version": None, "error": None}


class TestEarlierBuild:
    """A build in the cache: of another torch, or of another node (DeepSpeed#3410, #5677, #7556)."""

    def test_a_stale_build_and_no_compiler_is_a_no_with_both_reasons(self):
        facts = cuda_host(
            gpu("A100", "8.0"),
            toolchain={"cxx": NO_CXX},
            ops=ops("cuda", fused_adam=builder("c++", "cuda", cached=cached(
                False, error="undefined symbol: _ZN3c104cuda20CUDACachingAllocator9allocatorE"))),
        )  # fmt: skip

        verdict = ask(facts).explain(F.OP_FUSED_ADAM)

        assert Status.NO is verdict.status
        assert {Code.BUILD_STALE, Code.TOOLCHAIN_MISSING} <= set(codes(verdict))
        assert "belongs to another torch" in text(verdict)
        assert "_ZN3c104cuda20CUDACachingAllocator9allocatorE" in text(verdict)
        assert any(r.startswith("delete /root/.cache/torch_extensions") for r in verdict.remedies)
        assert "apt install g++" in verdict.remedies

    def test_a_stale_build_is_built_again_where_a_compiler_is(self):
        facts = cuda_host(
            gpu("A100", "8.0"), ops=ops("cuda", cpu_adam=builder(cached=cached(False)))
        )

        assert Status.YES is ask(facts).explain(F.OP_CPU_ADAM).status

    def test_a_fresh_build_needs_no_compiler(self):
        facts = cpu_host("avx2", toolchain={"cxx": NO_CXX},
                         ops=ops("cpu", cpu_adam=builder(cached=cached(True, loads=True))))  # fmt: skip

        assert Status.YES is ask(facts, "cpu").explain(F.OP_CPU_ADAM).status

    def test_but_it_needs_ninja_all_the_same(self):
        facts = cpu_host("avx2", toolchain={"ninja": NO_CXX | {"command": "ninja"}},
                         ops=ops("cpu", cpu_adam=builder(cached=cached(True, loads=True))))  # fmt: skip

        verdict = ask(facts, "cpu").explain(F.OP_CPU_ADAM)

        assert Status.NO is verdict.status
        assert "ninja is not on PATH" in text(verdict)

    def test_a_fresh_build_that_does_not_load_is_a_no_with_or_without_compiler(self):
        """ninja finds it up to date, so it would not be built again."""
        build = builder(cached=cached(True, loads=False, error="ImportError: undefined symbol"))
        facts = cpu_host("avx2", ops=ops("cpu", cpu_adam=build))

        verdict = ask(facts, "cpu").explain(F.OP_CPU_ADAM)

        assert Status.NO is verdict.status
        assert "does not load: ImportError: undefined symbol" in text(verdict)

    @pytest.mark.parametrize("cxx", [None, "/usr/bin/c++"])
    def test_a_shared_cache_of_another_kind_of_node(self, cxx):
        """Node A has avx512f and built; node B has not."""
        build = builder(cached=cached(True, loads=True, isa=["avx512f"]))
        tools = {"cxx": machines.tool(cxx, "12.2.0") if cxx else NO_CXX}
        node_a = cpu_host("avx2", "avx512f", toolchain=tools, ops=ops("cpu", cpu_adam=build))
        node_b = cpu_host("avx2", toolchain=tools, ops=ops("cpu", cpu_adam=build))

        assert Status.YES is ask(node_a, "cpu").explain(F.OP_CPU_ADAM).status
        verdict = ask(node_b, "cpu").explain(F.OP_CPU_ADAM)
        assert Status.NO is verdict.status
        assert "the cached build needs avx512f, which this CPU lacks" in text(verdict)
        assert any("TORCH_EXTENSIONS_DIR" in remedy for remedy in verdict.remedies)


class TestHostLimits:
    """What the host allows (DeepSpeed#2977, PR 4015, torchtitan#853, nccl-tests#206)."""

    def test_wsl_limits_pinned_memory(self):
        facts = cuda_host(
            gpu("RTX 4090", "8.9"), driver="572.83",
            host={"wsl": True, "kernel": "5.15.167.4-microsoft-standard-WSL2"},
        )  # fmt: skip

        verdict = ask(facts).explain(F.MEMORY_PINNED_HOST)

        assert Status.DEGRADED is verdict.status
        assert "WSL limits pinned memory" in text(verdict)
        assert verdict.remedies == ("set pin_memory: false",)

    def test_pinned_memory_is_fine_elsewhere(self):
        assert Status.YES is ask(cuda_host(gpu("A100", "8.0"))).explain(F.MEMORY_PINNED_HOST).status

    @pytest.mark.parametrize("accelerator", ["cuda", "cpu"])
    def test_dockers_default_shared_memory_is_too_small(self, accelerator):
        facts = cuda_host(
            gpu("A100", "8.0"), host={"container": "docker"}, limits={"shm_bytes": 67108864}
        )

        verdict = ask(facts, accelerator).explain(F.HOST_SHM)

        assert Status.NO is verdict.status
        assert codes(verdict) == [Code.RESOURCE_LIMIT]
        assert "/dev/shm has 64 MiB" in text(verdict)
        assert verdict.remedies == ("start the container with --shm-size=1g or --ipc=host",)

    @pytest.mark.parametrize(
        ("size", "status"),
        [(0, "no"), (2**29 - 1, "no"), (2**29, "yes"), (2**34, "yes"), (None, "no")],
    )
    def test_shared_memory_is_enough_from_512_mib(self, size, status):
        facts = cuda_host(gpu("A100", "8.0"), limits={"shm_bytes": size})

        assert status == ask(facts).explain(F.HOST_SHM).status

    def test_rdma_needs_memory_that_may_be_locked(self):
        facts = cuda_host(
            gpu("H100", "9.0"), limits={"memlock_bytes": 8192 * 1024, "infiniband": ["mlx5_0"]}
        )

        verdict = ask(facts).explain(F.COMM_GPU_DIRECT_RDMA)

        assert Status.NO is verdict.status
        assert Code.RESOURCE_LIMIT is verdict.reasons[0].code
        assert "a process may lock 8 MiB" in text(verdict)
        assert any("ulimit -l unlimited" in r and "memlock=-1" in r for r in verdict.remedies)

    def test_a_privileged_process_is_not_bound_by_the_limit(self):
        facts = cuda_host(
            gpu("H100", "9.0"), limits={"memlock_bytes": 8192 * 1024, "may_lock_any": True}
        )

        assert Status.YES is ask(facts).explain(F.HOST_MEMLOCK).status

    def test_rdma_without_an_adapter_is_a_no(self):
        verdict = ask(cuda_host(gpu("H100", "9.0"))).explain(F.COMM_GPU_DIRECT_RDMA)

        assert Status.NO is verdict.status
        assert Code.HARDWARE_MISSING is verdict.reasons[0].code
