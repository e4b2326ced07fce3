"""``op.*``: what an op's builder says, joined with what it needs, checked against the toolchain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from accelcaps import features as F
from accelcaps.accelerators.references import ON_A_DEVICE
from accelcaps.facts.model import NotObserved
from accelcaps.features import REGISTRY
from accelcaps.ops.libraries import LIBRARIES, install_command
from accelcaps.ops.provided import PROVIDED, SOURCE
from accelcaps.rules import Finding, Question, Rule, as_rule, best, worst
from accelcaps.verdict import Code, Evidence, Reason, Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accelcaps.facts import Facts

__all__ = ["OpRule", "reflected_ops"]

_SOURCE = "DeepSpeed {version}: {cls}, asked and rehearsed"
_BUILD_FEATURES = {
    "c++": F.BUILD_CXX,
    "cuda": F.BUILD_CUDA,
    "hip": F.BUILD_HIP,
    "sycl": F.BUILD_SYCL,
}
# What does the same work without the op, by a key of the training configuration.
_WITHOUT_THE_OP: Mapping[str, str] = {
    "fused_adam": "set optimizer.params.torch_adam to true in the DeepSpeed configuration",
    "cpu_adam": "set optimizer.params.torch_adam to true in the DeepSpeed configuration",
    "async_io": "offload to cpu instead of nvme in the DeepSpeed configuration",
}


def reflected_ops(facts: Facts, accelerator: str) -> list[str]:
    """Return the names ``op.*`` that the installed DeepSpeed offers on an accelerator."""
    builders = facts.section("ops", accelerator, "builders")
    return sorted(f"op.{name}" for name in builders if not _is_placeholder(builders[name]))


@dataclass(frozen=True)
class OpRule(Rule):
    """The rule for one op, whatever accelerator and whatever DeepSpeed: it reads the builder.

    Levels are kept apart in the reasons: provided by this accelerator; says compatible; what it
    needs is present; prebuilt, or built earlier.
    """

    name: str

    def judge(self, question: Question) -> Finding:
        """Judge the op from the facts ``ops.<accelerator>.builders.<name>``."""
        builders = question.facts.get("ops", question.accelerator, "builders")
        if isinstance(builders, NotObserved):
            if builders.code is Code.NOT_RECORDED:
                return _declared(self.name, question)
            missing = builders.code is Code.SOFTWARE_MISSING
            package = "torch" if "PyTorch" in builders.text else "deepspeed"
            return _unknown(builders, (f"pip install {package}",) if missing else ())
        version = question.facts.get("ops", question.accelerator, "accelerator", "deepspeed")
        version = "" if isinstance(version, NotObserved) else version
        builder = builders.get(self.name)
        stated = NotObserved.read(builder)
        if stated is not None:
            return _unknown(stated)
        if builder is None or _is_placeholder(builder):
            text = (
                f"op.{self.name}: DeepSpeed {version} has no such op for the "
                f"{question.accelerator} accelerator"
            )
            reason = Reason(Code.NOT_IMPLEMENTED, text)
            return Finding(Status.NO, question.facts.evidence, (reason,), sources=(_SOURCE.format(
                version=version, cls="its list of op builders"),))  # fmt: skip
        finding = self._judge_builder(builder, question)
        source = _SOURCE.format(version=version, cls=builder.get("class", self.name))
        remedies = finding.remedies
        if finding.status is Status.NO and self.name in _WITHOUT_THE_OP:
            remedies = (*remedies, _WITHOUT_THE_OP[self.name])
        return replace(finding, sources=(source,), remedies=remedies)

    def _judge_builder(self, builder: Mapping[str, Any], question: Question) -> Finding:
        if builder.get("prebuilt"):
            loads = _met(question, "it was built when DeepSpeed was installed, and loads")
            return worst([*_refusal(builder, question), *_device(builder, question), loads])
        willing = [*_compatibility(builder, question), *_refusal(builder, question)]
        first = [as_rule(f"op.{name}").judge(question) for name in builder.get("loads_first", ())]
        bound = list(_binding(builder, question))
        if builder.get("compiles") is False and not builder.get("refusal"):
            nothing = _met(question, "nothing is compiled: its builder loads Python")
            return worst([*willing, *first, *_device(builder, question), *bound, nothing])
        ninja = as_rule(F.BUILD_NINJA).judge(question)
        build = worst([*_needs(builder, question)])
        earlier = _earlier_build(builder, question)
        if earlier is not None:  # ninja builds again only what it does not find up to date
            build = earlier if builder["cached"].get("fresh") else best([earlier, build])
        return worst([*willing, *first, ninja, build, *bound, *_folder(builder, question)])


def _declared(name: str, question: Question) -> Finding:
    """Judge an op where nobody asked a DeepSpeed: by what a release of it provides."""
    provided = PROVIDED.get(question.accelerator)
    if provided is not None and name not in provided and f"op.{name}" in REGISTRY:
        text = (
            f"op.{name}: DeepSpeed 0.19.8 has no such op for the {question.accelerator} accelerator"
        )
        reason = Reason(Code.NOT_IMPLEMENTED, text)
        return Finding(Status.NO, Evidence.DECLARED, (reason,), sources=(SOURCE,))
    text = f"whether op.{name} loads depends on the software, which is not recorded"
    reason = Reason(Code.NOT_RECORDED, text)
    return Finding(Status.UNKNOWN, question.facts.evidence, (reason,), sources=(SOURCE,))


def _is_placeholder(builder: Any) -> bool:
    return isinstance(builder, Mapping) and bool(builder.get("placeholder"))


def _compatibility(builder: Mapping[str, Any], question: Question) -> Iterator[Finding]:
    """Yield what ``is_compatible`` says, and all reasons it gave."""
    if builder.get("compatible_error"):
        text = f"its builder's compatibility check fails: {builder['compatible_error']}"
        yield _no(question, Reason(Code.BUILDER_REFUSED, text))
    elif builder.get("compatible") is False:
        missing = list(_functions(builder, question))
        yield from missing
        said = [line for line in builder.get("said", ()) if line]
        text = f"its builder says: {' / '.join(said)}" if said else "its builder refuses, unsaid"
        yield _no(question, Reason(Code.BUILDER_REFUSED, text))
    elif builder.get("compatible"):
        yield _met(question, "its builder says compatible")


def _functions(builder: Mapping[str, Any], question: Question) -> Iterator[Finding]:
    """Yield the library functions that the builder looked for and did not find."""
    for function in builder.get("functions", ()):
        if function.get("found"):
            continue
        for library in function.get("libraries", ()):
            yield _library_without(library, function["name"], question)


def _library_without(library: str, function: str, question: Question) -> Finding:
    """Say why a library does not offer a function here: too old, or only half installed."""
    known = LIBRARIES.get(library)
    here = question.facts.section("libraries", library)
    since = known.symbols.get(function) if known else None
    found = here.get("version")
    remedies = list(_install(library, question))
    if found and since and _older(str(found), since):
        text = f"{function} needs lib{library} {since} or newer, found {found}"
        remedies = [
            f"install lib{library} {since} or newer (from source, with its folders in CPATH and "
            "LIBRARY_PATH)",
            "use a DeepSpeed version that tests for an older function",
        ]
        return _no(question, Reason(Code.LIBRARY_VERSION, text), remedies)
    if here.get("file") is not None:  # so the builder's own test program is what failed
        text = f"its builder's test for {function} fails, although lib{library} is there"
        compiler = as_rule(F.BUILD_CC).judge(question)
        reason = Reason(Code.BUILDER_REFUSED, text)
        return worst([_no(question, reason), compiler])
    if here.get("runtime"):
        text = (
            f"lib{library} is installed without its development files: the linker finds no "
            f"lib{library}.so for {function}"
        )
    else:
        text = f"the linker finds no {function} in lib{library}"
    return _no(question, Reason(Code.LIBRARY_MISSING, text), remedies)


def _refusal(builder: Mapping[str, Any], question: Question) -> Iterator[Finding]:
    """Yield what the builder's own methods raised."""
    refusal = builder.get("refusal")
    if not refusal:
        return
    module = refusal.get("module")
    if module:
        package = {"dskernels": "deepspeed-kernels"}.get(module, module)
        text = f"its builder needs the Python module {module}, which is not installed"
        yield _no(question, Reason(Code.SOFTWARE_MISSING, text), [f"pip install {package}"])
        return
    where = f" in {refusal['where']}" if refusal.get("where") else ""
    text = f"its builder raises {refusal['type']}{where}: {refusal['text']}"
    named = [each for each in LIBRARIES.values() if each.variable and each.variable in text]
    remedies = [remedy for each in named for remedy in _install(each.name, question)]
    yield _no(question, Reason(Code.BUILDER_REFUSED, text), remedies)


def _needs(builder: Mapping[str, Any], question: Question) -> Iterator[Finding]:
    """Yield the toolchain, headers, libraries and flags that a build needs."""
    languages = builder.get("languages", ())
    for language in languages:
        yield as_rule(_BUILD_FEATURES[language]).judge(question)
    yield from _device(builder, question)
    build = builder.get("build") or {}
    for source in build.get("sources_missing", ()):
        reason = Reason(Code.SOFTWARE_MISSING, f"its source file {source} is not there")
        yield _no(question, reason, ["reinstall DeepSpeed"])
    for header in build.get("headers_missing", ()):
        library = next((each for each in LIBRARIES.values() if each.header == header), None)
        reason = Reason(Code.LIBRARY_MISSING, f"the compiler finds no {header}")
        yield _no(question, reason, list(_install(library.name, question)) if library else [])
    for library_name in build.get("libraries_missing", ()):
        reason = Reason(Code.LIBRARY_MISSING, f"the linker finds no lib{library_name}")
        yield _no(question, reason, list(_install(library_name, question)))
    if build.get("flags_error"):
        text = f"the compiler does not take what the builder asks for: {build['flags_error']}"
        yield _no(question, Reason(Code.TOOLCHAIN_MISMATCH, text))
    yield _met(question, "what it needs is present")


def _binding(builder: Mapping[str, Any], question: Question) -> Iterator[Finding]:
    """Yield that DeepSpeed's own modules use another builder of this name."""
    if builder.get("bound") is False:
        text = (
            "only by get_accelerator().create_op_builder(): DeepSpeed's own modules keep the "
            "builder of the accelerator that it found when it was imported"
        )
        reason = Reason(Code.LIMITED, text)
        yield Finding(Status.DEGRADED, question.facts.evidence, (reason,))


def _device(builder: Mapping[str, Any], question: Question) -> Iterator[Finding]:
    """Yield the device that an op needs which is not in C++ alone: it runs there."""
    if set(builder.get("languages", ())) - {"c++"}:
        yield ON_A_DEVICE.judge(question)


def _earlier_build(builder: Mapping[str, Any], question: Question) -> Finding | None:
    """Judge a build that lies in the cache; ``None`` where there is none."""
    cached = builder.get("cached")
    if not cached:
        return None
    remedies = [f"delete {cached['path'].rpartition('/')[0]}"]
    flags = question.facts.get("cpu", "flags")
    lacking = [f for f in cached.get("isa", ()) if isinstance(flags, list) and f not in flags]
    findings = []
    if lacking:
        text = f"the cached build needs {', '.join(lacking)}, which this CPU lacks"
        own = "give each kind of node a TORCH_EXTENSIONS_DIR of its own"
        findings.append(_no(question, Reason(Code.BUILD_STALE, text), [own, *remedies]))
    if not cached.get("fresh"):
        text = "the cached build belongs to another torch, compiler or set of flags"
        if cached.get("error"):
            text += f" ({cached['error']})"
        findings.append(_no(question, Reason(Code.BUILD_STALE, text), remedies))
    elif cached.get("loads") is False:
        text = f"the cached build does not load: {cached.get('error')}"
        findings.append(_no(question, Reason(Code.BUILD_STALE, text), remedies))
    if findings:
        return worst(findings)
    return _met(question, "a build of it is cached, up to date, and loads")


def _folder(builder: Mapping[str, Any], question: Question) -> Iterator[Finding]:
    """Yield what is wrong with the folder that torch builds in, or finds an earlier build in."""
    folder = builder.get("folder") or {}
    if folder.get("error"):
        reason = Reason(Code.RESOURCE_LIMIT, f"torch cannot write its build: {folder['error']}")
        remedy = "set TORCH_EXTENSIONS_DIR to a folder that can be written"
        yield _no(question, reason, [remedy])
    elif folder.get("locked"):
        text = (
            f"a lock lies in {folder['path']}: another build runs, or one was interrupted, and "
            "loading waits for it"
        )
        reason = Reason(Code.BUILD_STALE, text)
        remedy = f"delete {folder['path']}/lock, where no build runs"
        yield Finding(Status.UNKNOWN, question.facts.evidence, (reason,), (remedy,))


def _install(library: str, question: Question) -> Iterator[str]:
    known = LIBRARIES.get(library)
    if known is None:
        return
    managers = question.facts.get("host", "package_managers")
    command = install_command(known.packages, managers)
    if command:
        yield command
    elif known.hint:
        yield known.hint


def _older(found: str, since: str) -> bool:
    from packaging.version import InvalidVersion, Version

    try:
        return Version(found) < Version(since)
    except InvalidVersion:
        return False


def _met(question: Question, text: str) -> Finding:
    return Finding(Status.YES, question.facts.evidence, (Reason(Code.MET, text),))


def _no(question: Question, reason: Reason, remedies: list[str] | None = None) -> Finding:
    return Finding(Status.NO, question.facts.evidence, (reason,), tuple(remedies or ()))


def _unknown(stated: NotObserved, remedies: tuple[str, ...] = ()) -> Finding:
    return Finding(Status.UNKNOWN, Evidence.DETECTED, (stated.reason(),), remedies)
