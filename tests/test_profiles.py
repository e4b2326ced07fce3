"""Hardware nobody here owns, with and without software on it."""

from __future__ import annotations

import json

import pytest

from accelcaps import Evidence, ProfileError, Status
from accelcaps import features as F
from accelcaps.accelerators.registry import ACCELERATORS, get_accelerator
from accelcaps.cli import main
from accelcaps.profiles import profile, profiles, read_stack

NAMES = [
    "nvidia-p100",
    "nvidia-v100",
    "nvidia-t4",
    "nvidia-rtx-2080-ti",
    "nvidia-rtx-3090",
    "nvidia-a10",
    "nvidia-a100-40gb",
    "nvidia-a100-80gb",
    "nvidia-l4",
    "nvidia-l40s",
    "nvidia-rtx-4090",
    "nvidia-h100",
    "nvidia-h200",
    "nvidia-gh200",
    "nvidia-b200",
    "nvidia-gb300",
    "nvidia-rtx-5090",
    "nvidia-rtx-pro-6000",
    "amd-mi100",
    "amd-mi210",
    "amd-mi250x",
    "amd-mi300x",
    "amd-mi325x",
    "amd-mi355x",
    "amd-rx-7900-xtx",
    "intel-max-1550",
    "intel-arc-a770",
    "intel-arc-b580",
    "intel-gaudi-2",
    "intel-gaudi-3",
    "huawei-ascend-910b",
    "apple-m1",
    "apple-m2",
    "apple-m3",
    "apple-m4",
    "cpu-skylake-avx512",
    "cpu-cascadelake",
    "cpu-icelake",
    "cpu-sapphirerapids",
    "cpu-zen2",
    "cpu-zen3",
    "cpu-zen4",
    "cpu-zen5",
    "cpu-neoverse-v1",
    "cpu-neoverse-v2",
]


def on(name, stack=None):
    found = profile(name)
    return get_accelerator(found.accelerator, found.facts(read_stack(stack) if stack else None))


@pytest.mark.parametrize("name", NAMES)
def test_the_hardware_is_described(name):
    assert name == profile(name).name


@pytest.mark.parametrize("each", profiles(), ids=lambda each: each.name)
class TestEveryProfile:
    def test_it_is_of_an_accelerator_there_is(self, each):
        assert each.accelerator in {kind.name for kind in ACCELERATORS}

    def test_every_fact_has_a_source(self, each):
        facts = {f"device.{name}" for name in each.device}
        facts |= {f"{s}.{name}" for s, values in each.sections.items() for name in values}

        assert facts == set(each.sources)
        assert all(len(source) > 10 for source in each.sources.values())

    def test_what_it_says_is_only_declared(self, each):
        acc = on(each.name)

        assert {Evidence.DECLARED} == {
            acc.explain(f).evidence for f in ("dtype.fp32", "dtype.fp16", "dtype.bf16", "zero.1")
        }

    def test_it_can_compute(self, each):
        assert on(each.name).supports(F.DTYPE_FP32)

    def test_whether_a_device_is_available_is_not_claimed(self, each):
        if each.accelerator != "cpu":
            assert Status.UNKNOWN is on(each.name).explain(F.DEVICE_AVAILABLE).status


def test_a_card_too_new_for_a_torch_is_told_so():
    """RTX 5090 with a wheel that has no code for it (pytorch#145949 and its kind)."""
    verdict = on("nvidia-rtx-5090", "torch=2.6.0+cu126").explain(F.BUILD_KERNEL_IMAGE)

    assert Status.NO is verdict.status
    assert "12.0" in str(verdict)
    assert (
        Status.YES
        is on("nvidia-rtx-5090", "torch=2.7.0+cu128").explain(F.BUILD_KERNEL_IMAGE).status
    )


@pytest.mark.parametrize(
    ("driver", "status"), [("550.54", "no"), ("580.65.06", "yes"), (None, "unknown")]
)
def test_the_driver_can_be_named(driver, status):
    stack = "torch=2.13.0+cu130" + (f",driver={driver}" if driver else "")

    assert status == on("nvidia-h100", stack).explain(F.BUILD_DRIVER).status


def test_a_release_has_its_usual_build_where_none_is_named():
    named, usual = (on("nvidia-h100", f"torch=2.6.0{b}") for b in ("+cu124", ""))

    assert named.facts.get("torch", "cuda") == usual.facts.get("torch", "cuda") == "12.4"
    assert usual.facts.get("torch", "runtime", "comm_version") == "2.21.5"


def test_a_build_for_something_else_does_not_serve():
    verdict = on("nvidia-h100", "torch=2.6.0+cpu").explain(F.DEVICE_AVAILABLE)

    assert Status.NO is verdict.status
    assert "built without CUDA" in str(verdict)


def test_other_packages_can_be_named():
    assert on("nvidia-h100", "torch=2.6.0,flash-attn=2.7.4").supports("pkg.flash-attn")
    assert not on("nvidia-h100", "torch=2.6.0").supports("pkg.flash-attn")


@pytest.mark.parametrize(
    ("stack", "words"),
    [
        ("torch", "'torch' is not of the form name=version"),
        ("torch=", "'' is not a version"),
        ("torch=new", "'new' is not a version"),
        ("", "the software stack is empty"),
        ("torch=2.6.0+tpu", "no build is called 'tpu'"),
    ],
)
def test_software_that_cannot_be_understood_is_an_error(stack, words):
    with pytest.raises(ProfileError, match=words):
        profile("nvidia-h100").facts(read_stack(stack))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nvidia-h10", "did you mean nvidia-h100"),
        ("t4", "did you mean nvidia-t4"),
        ("abacus", "no profile is called 'abacus' .accelcaps profiles lists them"),
        ("./nowhere.json", "nowhere.json: cannot be read"),
    ],
)
def test_a_profile_there_is_not_is_an_error_with_the_nearest(name, words):
    with pytest.raises(ProfileError, match=words):
        profile(name)


MINE = {
    "schema_version": 1,
    "name": "my-card",
    "title": "My card",
    "accelerator": "cuda",
    "device": {"compute_capability": {"value": "8.9", "source": "printed on the box"}},
}


def test_a_file_of_ones_own_is_a_profile(tmp_path, capsys):
    (tmp_path / "mine.json").write_text(json.dumps(MINE))

    assert main(["explain", "dtype.fp8_e4m3", "--on", str(tmp_path / "mine.json")]) == 0
    assert "dtype.fp8_e4m3: yes (declared)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"device": {"compute_capability": {"value": "8.9"}}},
            "device.compute_capability: must contain .'source'",
        ),
        (
            {"device": {"compute_capability": {"value": 8.9, "source": "box"}}},
            "compute_capability.value: must be string",
        ),
        (
            {"device": {"memory_bytes": {"value": -1, "source": "box"}}},
            "memory_bytes.value: must be bigger",
        ),
        ({"device": {}}, "device: must contain at least 1 properties"),
        ({"schema_version": 2}, "schema_version: must be same as const definition: 1"),
        ({"name": "My card"}, "name: must match pattern"),
        ({"colour": "green"}, "must not contain"),
    ],
)
def test_a_malformed_file_is_an_error_that_says_where(tmp_path, change, words):
    place = tmp_path / "mine.json"
    place.write_text(json.dumps({**MINE, **change}))

    with pytest.raises(ProfileError, match=words) as raised:
        profile(str(place))
    assert str(place) in str(raised.value)


def test_text_that_is_not_json_is_an_error(tmp_path):
    (tmp_path / "mine.json").write_text("{")

    with pytest.raises(ProfileError, match="is not JSON"):
        profile(str(tmp_path / "mine.json"))


def test_a_profile_of_an_accelerator_there_is_not_is_an_error(tmp_path, capsys):
    (tmp_path / "mine.json").write_text(json.dumps({**MINE, "accelerator": "tpu"}))

    assert main(["explain", "dtype.bf16", "--on", str(tmp_path / "mine.json")]) == 2
    assert "no accelerator is called 'tpu'" in capsys.readouterr().err


class TestTheCommand:
    def test_profiles_lists_every_one(self, capsys):
        assert main(["profiles"]) == 0
        assert {each.name for each in profiles()} == {
            line.split()[0] for line in capsys.readouterr().out.splitlines()
        }

    def test_profiles_of_one_accelerator(self, capsys):
        assert main(["profiles", "cpu", "--json"]) == 0
        assert {"cpu"} == {each["accelerator"] for each in json.loads(capsys.readouterr().out)}

    def test_profiles_of_no_accelerator_is_an_error(self, capsys):
        assert main(["profiles", "tpu"]) == 2
        assert "no accelerator is called 'tpu'" in capsys.readouterr().err

    def test_explain_on_a_t4(self, capsys):
        assert main(["explain", "dtype.bf16", "--on", "nvidia-t4"]) == 0
        told = capsys.readouterr().out
        assert "dtype.bf16: degraded (declared)" in told
        assert "use fp16" in told

    def test_the_exit_status_is_the_verdicts(self):
        assert main(["explain", "dtype.fp8_e4m3", "--on", "nvidia-t4"]) == 1
        assert main(["explain", "device.available", "--on", "nvidia-t4"]) == 3

    def test_report_on_a_profile(self, capsys):
        assert main(["report", "--on", "nvidia-h100", "--with", "torch=2.6.0", "--json"]) == 0
        report = json.loads(capsys.readouterr().out)
        assert report["accelerator"] == "cuda"
        assert report["verdicts"]["dtype.fp8_e4m3"]["status"] == "yes"

    @pytest.mark.parametrize(
        ("words", "told"),
        [
            (["--on", "nvidia-h10"], "did you mean nvidia-h100"),
            (["--with", "torch=2.6.0"], "--with tells the software of a profile"),
            (["--on", "nvidia-t4", "--facts", "x.json"], "--on and --facts both name a machine"),
            (["--on", "nvidia-t4", "--with", "torch"], "not of the form name=version"),
        ],
    )
    def test_bad_input_is_one_line_and_status_2(self, capsys, words, told):
        assert main(["explain", "dtype.bf16", *words]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert told in err
        assert len(err.splitlines()) == 1
