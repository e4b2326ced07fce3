"""Whether DeepSpeed's communication starts: what its initialisation builds before any training."""

from __future__ import annotations

from collections.abc import Mapping

from accelcaps import features as F
from accelcaps.rules import Finding, Question, Rule, as_rule, value_of
from accelcaps.verdict import Status

__all__ = ["STARTS"]

_BUILDS = "deepspeed_shm_comm"
_ON_THE_CPU = "cpu"


def _starts(question: Question) -> Finding:
    """Hold, unless the installed DeepSpeed would build its shared-memory op here, and cannot.

    Where its builder calls itself compatible, initialising builds and loads it, and fails with it.
    Of DeepSpeed's accelerators only the CPU has one.
    """
    nothing = Finding(Status.YES, question.facts.evidence)
    if question.accelerator != _ON_THE_CPU:
        return nothing
    builder = question.facts.get("ops", _ON_THE_CPU, "builders", _BUILDS)
    if not isinstance(builder, Mapping) or builder.get("compatible") is not True:
        return nothing
    found = as_rule(F.OP_DEEPSPEED_SHM_COMM).judge(question)
    return nothing if found.status is Status.YES else found


STARTS: Rule = value_of(_starts).source(
    "DeepSpeed 0.19.8, comm/torch.py, TorchBackend and build_shm_op"
)
"""DeepSpeed can be initialised, as ``deepspeed.initialize`` does before anything else."""
