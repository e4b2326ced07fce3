"""Facts are collected lazily, once, and can be written down and read back."""

from __future__ import annotations

import json
import threading

import machines
import pytest

from accelcaps import Code, Facts, FactsFileError, NotObserved, read_facts
from accelcaps.accelerators.registry import sources
from accelcaps.facts import this_machine
from accelcaps.facts.cpu import flags_of_cpuinfo
from accelcaps.facts.packages import normalised
from accelcaps.facts.visibility import visible


class Counting:
    keyed_by = ""

    def __init__(self, section, value, keyed_by=""):
        self.section, self.value, self.keyed_by, self.keys = section, value, keyed_by, []

    def collect(self, facts, key):
        self.keys.append(key)
        return self.value(facts, key) if callable(self.value) else self.value


def test_a_section_is_collected_on_first_need_and_once():
    collector = Counting(("host",), {"system": "Linux"})
    facts = Facts(collectors=[collector])

    assert collector.keys == []
    assert facts.get("host", "system") == "Linux"
    assert isinstance(facts.get("host", "nonsense"), NotObserved)
    assert collector.keys == [""]


def test_several_threads_that_ask_get_one_collection():
    start = threading.Barrier(4)
    collector = Counting(("host",), lambda facts, key: {"system": "Linux"})
    facts = Facts(collectors=[collector])
    answers = []

    def ask():
        start.wait()
        answers.append(facts.get("host", "system"))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert answers == ["Linux"] * 4
    assert len(collector.keys) == 1


def test_a_section_inside_another_is_collected_on_its_own():
    outer, inner = (
        Counting(("torch",), {"version": "2.13"}),
        Counting(("torch", "runtime"), {"a": 1}),
    )
    facts = Facts(collectors=[outer, inner])

    facts.get("torch", "version")

    assert inner.keys == []
    assert facts.get("torch", "runtime", "a") == 1
    assert facts.get("torch", "version") == "2.13"


def test_a_section_with_parts_is_collected_part_by_part():
    collector = Counting(("ops",), lambda facts, key: {"of": key}, "accelerator")
    facts = Facts(collectors=[collector])

    assert facts.get("ops", "cuda", "of") == "cuda"
    assert collector.keys == ["cuda"]
    assert facts.get("ops", "cpu", "of") == "cpu"
    assert facts.to_json()["ops"] == {"cuda": {"of": "cuda"}, "cpu": {"of": "cpu"}}


def test_a_collector_may_look_at_other_sections():
    first = Counting(("host",), {"system": "Linux"})
    second = Counting(("limits",), lambda facts, key: {"copy": facts.get("host", "system")})

    assert Facts(collectors=[first, second]).get("limits", "copy") == "Linux"


def test_what_a_file_does_not_have_is_said_to_be_missing_there():
    found = Facts({}, name="box.json").get("cpu", "flags")

    assert NotObserved(Code.NOT_RECORDED, "cpu is not recorded in box.json") == found


def test_a_package_that_is_not_listed_is_not_installed():
    facts = Facts({"packages": {"torch": "2.13"}}, name="box.json")

    assert facts.get("packages", "deepspeed") is None


def test_this_machine_survives_being_written_down_and_read_back(tmp_path):
    """Every section that needs no framework, through a file and back."""
    facts = this_machine(sources())
    sections = ["host", "cpu", "limits", "packages", "toolchain", "libraries", "torch"]
    facts.collect(*[(name,) for name in sections], ("devices", "cuda"), ("devices", "cpu"))
    place = tmp_path / "facts.json"
    place.write_text(json.dumps({"schema_version": 1, "facts": facts.to_json()}))

    again = read_facts(place)

    assert facts.to_json() == again.to_json()
    assert facts.get("cpu", "flags") == again.get("cpu", "flags")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", r"1:1: is not JSON"),
        ("{", r"1:2: is not JSON"),
        ("[]", r"is not a facts document"),
        ("{}", r"schema_version: a whole number is needed, found None"),
        ('{"schema_version": "1", "facts": {}}', r"schema_version: a whole number is needed"),
        ('{"schema_version": true, "facts": {}}', r"schema_version: a whole number is needed"),
        ('{"schema_version": 99, "facts": {}}', r"schema_version is 99.*reads up to 1.*newer"),
        ('{"schema_version": 0, "facts": {}}', r"schema_version"),
        ('{"schema_version": 1}', r"must contain \['facts'\]"),
        ('{"schema_version": 1, "facts": []}', r"facts: must be object"),
        ('{"schema_version": 1, "facts": {"cpu": {"flags": "avx2"}}}', r"facts\.cpu\.flags"),
        ('{"schema_version": 1, "facts": {"cpu": {"flags": [1]}}}', r"facts\.cpu\.flags"),
        ('{"schema_version": 1, "facts": {"torch": {"version": 2.6}}}', r"facts\.torch\.version"),
        ('{"schema_version": 1, "facts": {"packages": {"torch": 2}}}', r"facts\.packages\.torch"),
        (
            '{"schema_version": 1, "facts": {"devices": {"cuda": {"list": {}}}}}',
            r"devices\.cuda\.list",
        ),
        (
            '{"schema_version": 1, "facts": {"devices": {"cuda": {"list": [3]}}}}',
            r"devices\.cuda\.list",
        ),
        (
            '{"schema_version": 1, "facts": {"limits": {"memlock_bytes": "a lot"}}}',
            r"memlock_bytes",
        ),
        (
            '{"schema_version": 1, "facts": {"cpu": {"flags": {"not_observed": {"code": "x"}}}}}',
            r"facts\.cpu\.flags",
        ),
        ("[" * 100_000, r"nested too deeply|is not JSON"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_bad_file_is_told_in_one_line_with_its_place(tmp_path, text, words):
    place = tmp_path / "bad.json"
    place.write_text(text)

    with pytest.raises(FactsFileError, match=words) as error:
        read_facts(place)

    assert str(error.value).startswith(str(place))
    assert "\n" not in str(error.value)


def test_a_file_that_cannot_be_read_is_told(tmp_path):
    with pytest.raises(FactsFileError, match="cannot be read: No such file"):
        read_facts(tmp_path / "none.json")
    with pytest.raises(FactsFileError, match="cannot be read"):
        read_facts(tmp_path)
    (tmp_path / "latin").write_bytes(b'{"a": "\xff"}')
    with pytest.raises(FactsFileError, match="not UTF-8"):
        read_facts(tmp_path / "latin")


def test_sections_of_a_later_version_are_kept(tmp_path):
    """What this version does not know does not stop it."""
    place = tmp_path / "later.json"
    place.write_text(
        json.dumps({"schema_version": 1, "facts": {"later": {"a": 1}, "cpu": {"new": 2}}, "x": 0})
    )

    assert read_facts(place).get("later", "a") == 1


def test_a_machine_written_down_for_the_tests_is_a_valid_document(tmp_path):
    place = tmp_path / "t4.json"
    facts = machines.cuda_host(machines.gpu("Tesla T4", "7.5"), ops=machines.ops("cuda"))
    place.write_text(json.dumps({"schema_version": 1, "facts": facts}))

    assert read_facts(place).get("devices", "cuda", "list")[0]["compute_capability"] == "7.5"


def test_cpu_flags_are_those_that_every_processor_has():
    text = "processor: 0\nflags\t\t: sse avx2 amx_bf16\n\nprocessor: 1\nflags\t\t: sse avx2\n"

    assert flags_of_cpuinfo(text) == ["avx2", "sse"]


def test_arm_lists_features():
    assert flags_of_cpuinfo("Features\t: fp asimd bf16\n") == ["asimd", "bf16", "fp"]


def test_no_flags_are_not_observed_rather_than_none():
    assert Code.NOT_OBSERVED is flags_of_cpuinfo("vendor_id: x\n").code


A, B = machines.gpu("A100", "8.0"), machines.gpu("A100", "8.0", number=1)
T4 = machines.gpu("Tesla T4", "7.5", number=1)


@pytest.mark.parametrize(
    ("variables", "devices", "seen"),
    [
        ({}, [A, B], [True, True]),
        ({"CUDA_VISIBLE_DEVICES": ""}, [A, B], [False, False]),
        ({"CUDA_VISIBLE_DEVICES": "-1"}, [A, B], [False, False]),
        ({"CUDA_VISIBLE_DEVICES": "1"}, [A, B], [False, True]),
        ({"CUDA_VISIBLE_DEVICES": "0,1"}, [A, B], [True, True]),
        ({"CUDA_VISIBLE_DEVICES": "0,9,1"}, [A, B], [True, False]),
        ({"CUDA_VISIBLE_DEVICES": B["uuid"]}, [A, B], [False, True]),
        ({"CUDA_VISIBLE_DEVICES": "GPU-00000001"}, [A, B], [False, True]),
        ({"CUDA_VISIBLE_DEVICES": "MIG-abc"}, [A, B], [None, None]),
        ({"CUDA_VISIBLE_DEVICES": "NoDevFiles"}, [A, B], [False, False]),
        # Of two kinds, CUDA numbers the faster first, and NVML by bus address.
        ({"CUDA_VISIBLE_DEVICES": "0"}, [A, T4], [None, None]),
        (
            {"CUDA_VISIBLE_DEVICES": "0", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}, [A, T4], [True, False]
        ),
    ],
)  # fmt: skip
def test_visibility_is_told_only_where_it_can_be(variables, devices, seen):
    assert seen == visible(devices, variables, ("CUDA_VISIBLE_DEVICES",))


@pytest.mark.parametrize("spelling", ["Flash_Attn", "flash.attn", "flash--attn", "flash-attn"])
def test_a_distribution_has_one_name_however_it_is_spelt(spelling):
    assert normalised(spelling) == "flash-attn"
