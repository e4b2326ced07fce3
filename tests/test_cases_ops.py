"""Situations of real users about ops and toolchains; see test_cases.py."""

from __future__ import annotations

import machines
import pytest
from machines import ask, builder, cpu_host, cuda_host, gpu, ops

from accelcaps import Code, Status
from accelcaps import features as F


def codes(verdict):
    return [reason.code for reason in verdict.reasons]


def text(verdict):
    return "; ".join(reason.text for reason in verdict.reasons)


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
    path = "/home/user/.cache/torch_extensions/py310_cu117/fused_adam/fused_adam.so"
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
        assert any(
            r.startswith("delete /home/user/.cache/torch_extensions") for r in verdict.remedies
        )
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
