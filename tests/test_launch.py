"""Programs that start ranks, and limits of the host that what they start runs into."""

from __future__ import annotations

import os

import pytest
from machines import ask, cpu_host, merged, tool

from accelcaps import Code, Facts, NotObserved, Status
from accelcaps import features as F
from accelcaps.accelerators.registry import sources
from accelcaps.facts.collectors import collectors
from accelcaps.facts.launchers import LaunchersCollector

LAUNCHERS = {
    "srun": F.LAUNCH_SLURM, "mpirun": F.LAUNCH_MPI, "pdsh": F.LAUNCH_PDSH, "numactl": F.LAUNCH_NUMACTL
}  # fmt: skip


def host(**sections):
    return ask(merged(cpu_host("avx2"), sections), "cpu")


def program(folder, name, text):
    (folder / name).write_text(f"#!/bin/sh\n{text}\n")
    (folder / name).chmod(0o755)


@pytest.mark.parametrize("name", LAUNCHERS)
class TestAProgram:
    def test_that_runs_is_a_yes_with_its_version(self, name, tmp_path, monkeypatch):
        program(tmp_path, name, "echo version 23.11.4")
        monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)

        found = LaunchersCollector().collect(Facts({}), "")
        verdict = host(launchers=found).explain(LAUNCHERS[name])
        assert Status.YES is verdict.status
        assert f"{name} 23.11.4: {tmp_path}/{name}" in str(verdict.reasons)

    def test_that_is_there_and_fails_is_a_no_with_its_complaint(self, name, tmp_path, monkeypatch):
        program(tmp_path, name, "echo libslurm.so.40: cannot open >&2; exit 127")
        monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)

        found = LaunchersCollector().collect(Facts({}), "")
        verdict = host(launchers=found).explain(LAUNCHERS[name])
        assert (verdict.status, verdict.reasons[0].code) == (Status.NO, Code.RUNTIME_FAILED)
        assert "libslurm.so.40: cannot open" in str(verdict)

    def test_that_is_not_there_is_a_no(self, name, tmp_path, monkeypatch):
        monkeypatch.setenv("PATH", str(tmp_path))

        found = LaunchersCollector().collect(Facts({}), "")
        verdict = host(launchers=found).explain(LAUNCHERS[name])
        assert (verdict.status, verdict.reasons[0].code) == (Status.NO, Code.SOFTWARE_MISSING)
        assert verdict.remedies

    def test_of_which_nothing_is_recorded_is_unknown(self, name):
        assert Status.UNKNOWN is host().explain(LAUNCHERS[name]).status


def test_the_remedy_is_for_the_package_manager_that_is_here():
    missing = {"numactl": tool(None)}

    def remedies(*managers):
        facts = host(launchers=missing, host={"package_managers": list(managers)})
        return facts.explain(F.LAUNCH_NUMACTL).remedies

    assert remedies("apt-get", "dpkg") == ("apt install numactl",)
    assert remedies("dnf", "rpm") == ("dnf install numactl",)


def test_torchrun_comes_with_torch():
    assert host().supports(F.LAUNCH_TORCHRUN)
    assert not ask({**cpu_host(), "torch": {"version": None}}, "cpu").supports(F.LAUNCH_TORCHRUN)


@pytest.mark.parametrize(
    ("fact", "status"),
    [
        (True, "yes"),
        (False, "no"),
        (NotObserved(Code.NOT_OBSERVED, "read-only").to_json(), "unknown"),
    ],
)
def test_direct_access_to_files_is_a_matter_of_the_file_system(fact, status):
    verdict = host(limits={"o_direct": fact}).explain(F.HOST_O_DIRECT)

    assert status == verdict.status
    assert ("ext4 or xfs" in str(verdict)) is (status == "no")


@pytest.mark.parametrize(
    ("fact", "status"),
    [("always", "yes"), ("madvise", "yes"), (512, "yes"), ("never", "no"), (None, "no")],
)
def test_huge_pages_are_a_mode_or_a_number_of_reserved_ones(fact, status):
    assert status == host(limits={"huge_pages": fact}).explain(F.HOST_HUGE_PAGES).status


def test_this_host_is_asked_about_direct_access_and_nothing_is_left_behind(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    found = Facts(collectors=collectors(sources())).get("limits", "o_direct")
    assert isinstance(found, (bool, NotObserved))
    assert list(tmp_path.iterdir()) == []
