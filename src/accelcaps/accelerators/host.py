"""What the host offers to any accelerator: limits, and limits as values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from accelcaps import features as F
from accelcaps.accelerators.references import BACKENDS, TORCH_INSTALLED, install, package
from accelcaps.facts.limits import UNLIMITED
from accelcaps.facts.model import NotObserved
from accelcaps.rules import Finding, Question, Rule, fact, value_of
from accelcaps.verdict import Code, Evidence, Reason, Status

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accelcaps.feature import Feature

__all__ = ["HOST", "megabytes", "value"]

_MIB = 2**20
_SHM_NEEDED = 512 * _MIB


def value(path: str, label: str, *, count: bool = False) -> Rule:
    """Make the rule of a limit: its value is the fact at ``path`` (or the length of that list)."""
    reference = fact(path, label)

    def read(question: Question) -> Finding:
        found: Any = reference.value(question)
        if isinstance(found, NotObserved):
            return Finding(Status.UNKNOWN, Evidence.DETECTED, (found.reason(),))
        if found is None:
            reason = Reason(Code.SOFTWARE_MISSING, f"{label}: there is none here")
            return Finding(Status.NO, question.facts.evidence, (reason,))
        return Finding(Status.YES, question.facts.evidence, value=len(found) if count else found)

    return value_of(read)


def _shm() -> Rule:
    def judge(question: Question) -> Finding:
        size = question.facts.get("limits", "shm_bytes")
        if isinstance(size, NotObserved):
            return Finding(Status.UNKNOWN, Evidence.DETECTED, (size.reason(),))
        if size is None:
            reason = Reason(Code.RESOURCE_LIMIT, "there is no /dev/shm")
            return Finding(Status.NO, question.facts.evidence, (reason,))
        enough = size >= _SHM_NEEDED
        text = (
            f"/dev/shm has {megabytes(size)}; NCCL and data loader workers need "
            f"{megabytes(_SHM_NEEDED)} or more"
        )
        return Finding(
            Status.YES if enough else Status.NO,
            question.facts.evidence,
            (Reason(Code.MET if enough else Code.RESOURCE_LIMIT, text),),
        )

    return value_of(judge)


def _memlock() -> Rule:
    def judge(question: Question) -> Finding:
        limit = question.facts.get("limits", "memlock_bytes")
        evidence = question.facts.evidence
        if isinstance(limit, NotObserved):
            return Finding(Status.UNKNOWN, Evidence.DETECTED, (limit.reason(),))
        privileged = question.facts.get("limits", "may_lock_any") is True
        if limit == UNLIMITED or privileged:
            how = "the process has CAP_IPC_LOCK" if privileged else "memlock is unlimited"
            return Finding(Status.YES, evidence, (Reason(Code.MET, how),))
        text = (
            f"a process may lock {megabytes(limit)}; registering memory for RDMA, and "
            "DeepSpeed's native pinning, lock whole buffers"
        )
        status = Status.DEGRADED if limit >= 2**30 else Status.NO
        code = Code.LIMITED if status is Status.DEGRADED else Code.RESOURCE_LIMIT
        return Finding(status, evidence, (Reason(code, text),))

    return value_of(judge)


def _huge_pages() -> Rule:
    def judge(question: Question) -> Finding:
        found = question.facts.get("limits", "huge_pages")
        evidence = question.facts.evidence
        if isinstance(found, NotObserved):
            return Finding(Status.UNKNOWN, Evidence.DETECTED, (found.reason(),))
        if found is None or found == "never":
            text = (
                "the kernel gives no huge pages" if found else "this kernel tells of no huge pages"
            )
            return Finding(Status.NO, evidence, (Reason(Code.RESOURCE_LIMIT, text),))
        text = f"{found} pages are reserved" if isinstance(found, int) else f"mode {found}"
        return Finding(Status.YES, evidence, (Reason(Code.MET, f"huge pages: {text}"),))

    return value_of(judge)


def _launcher(program: str, *, slurm: bool = False, **packages: str) -> Rule:
    """Hold where a program that starts or binds ranks was found and runs."""

    def judge(question: Question) -> Finding:
        found = question.facts.get("launchers", program)
        if isinstance(found, NotObserved):
            return Finding(Status.UNKNOWN, Evidence.DETECTED, (found.reason(),))
        if found.get("path") is None:
            reason = Reason(Code.SOFTWARE_MISSING, f"{program} is not on PATH")
        elif not found.get("runs"):
            text = f"{program} does not work: {found.get('error') or 'it fails'}"
            reason = Reason(Code.RUNTIME_FAILED, text)
        else:
            version = f" {found['version']}" if found.get("version") else ""
            reason = Reason(Code.MET, f"{program}{version}: {found['path']}")
            return Finding(Status.YES, question.facts.evidence, (reason,))
        return Finding(Status.NO, question.facts.evidence, (reason,))

    offered = "start from a node of a Slurm cluster" if slurm else install(**packages)
    return value_of(judge).remedy(offered)


def _in_container(inside: str, outside: str | None) -> Any:
    def remedy(question: Question) -> str | None:
        container = question.facts.get("host", "container")
        return inside if isinstance(container, str) else outside

    return remedy


def megabytes(size: int) -> str:
    """Return a size for people: ``64 MiB``, ``1.5 GiB``."""
    if size >= 2**30:
        return f"{size / 2**30:.3g} GiB"
    return f"{size / _MIB:.3g} MiB"


HOST: Mapping[Feature, Rule] = {
    F.HOST_SHM: _shm()
    .remedy(
        _in_container(
            "start the container with --shm-size=1g or --ipc=host",
            "mount -o remount,size=1G /dev/shm (in a container: --shm-size=1g or --ipc=host)",
        )
    )
    .source(
        "NCCL User Guide, Troubleshooting, Shared memory; DeepSpeed 0.19.8, env_report.py (warns "
        "below 512 MB)"
    ),
    F.HOST_MEMLOCK: _memlock()
    .remedy("ulimit -l unlimited (in a container: --ulimit memlock=-1)")
    .source("NCCL User Guide, Troubleshooting, networking: memlock unlimited"),
    F.HOST_O_DIRECT: fact("limits.o_direct", "O_DIRECT", code=Code.RESOURCE_LIMIT)
    .holds("the working folder takes O_DIRECT", "the working folder's file system refuses O_DIRECT")
    .remedy("keep swap files on a local ext4 or xfs file system")
    .source("Linux manual, open, O_DIRECT; DeepSpeed 0.19.8, ops/csrc/aio, which opens with it"),
    F.HOST_HUGE_PAGES: _huge_pages()
    .remedy("echo madvise > /sys/kernel/mm/transparent_hugepage/enabled (as root)")
    .source("Linux kernel documentation, Transparent Hugepage Support; hugetlbpage"),
    F.LAUNCH_TORCHRUN: TORCH_INSTALLED.then(
        BACKENDS.is_not_empty("this PyTorch is built without torch.distributed").where_recorded()
    ).source("PyTorch 2.13, torch/distributed/run.py"),
    F.LAUNCH_SLURM: _launcher("srun", slurm=True).source("Slurm documentation, srun"),
    F.LAUNCH_MPI: _launcher("mpirun", apt_get="openmpi-bin", dnf="openmpi").source(
        "DeepSpeed 0.19.8, launcher/multinode_runner.py"
    ),
    F.LAUNCH_PDSH: _launcher("pdsh", apt_get="pdsh", dnf="pdsh").source(
        "DeepSpeed 0.19.8, launcher/multinode_runner.py"
    ),
    F.LAUNCH_NUMACTL: _launcher("numactl", apt_get="numactl", dnf="numactl").source(
        "DeepSpeed 0.19.8, utils/numa.py"
    ),
    F.LIMIT_MEMLOCK_BYTES: value("limits.memlock_bytes", "lockable memory").source("getrlimit"),
    F.LIMIT_SHM_BYTES: value("limits.shm_bytes", "size of /dev/shm").source("statvfs"),
    F.DEEPSPEED_INSTALLED: package("deepspeed").source("the installed distributions"),
}
