"""The command line: what it prints, and its exit status."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from machines import cpu_host, cuda_host, gpu

from accelcaps import Verdict
from accelcaps.cli import main
from accelcaps.features import REGISTRY


@pytest.fixture
def machine(tmp_path):
    """Write a machine's facts to a file and return its name."""

    def write(facts, name="machine.json"):
        place = tmp_path / name
        place.write_text(json.dumps({"schema_version": 1, "facts": facts}))
        return str(place)

    return write


@pytest.fixture
def t4(machine):
    return machine(cuda_host(gpu("Tesla T4", "7.5")), "t4.json")


def test_explain_says_all(t4, capsys):
    status = main(["explain", "dtype.bf16", "--facts", t4])

    out = capsys.readouterr().out
    assert status == 0
    assert "dtype.bf16: degraded (detected)" in out
    assert "hardware.too_old: compute capability is 7.5, needs at least 8.0" in out
    assert "→ use fp16" in out
    assert "source: NVIDIA CUDA Programming Guide" in out
    assert "device.available: yes" not in out or "  device.available" in out


@pytest.mark.parametrize(
    ("feature", "status"),
    [("dtype.fp16", 0), ("dtype.bf16", 0), ("dtype.fp8_e4m3", 1), ("op.async_io", 3), ("zero.3", 0),
     ("zero3", 0)],
)  # fmt: skip
def test_the_exit_status_tells_the_answer(t4, capsys, feature, status):
    """0 for yes and degraded, 1 for no, 3 for unknown."""
    assert status == main(["explain", feature, "--facts", t4])


def test_of_several_features_the_worst_decides(t4, capsys):
    assert main(["explain", "dtype.fp16", "dtype.bf16", "--facts", t4]) == 0
    assert main(["explain", "dtype.fp16", "op.async_io", "--facts", t4]) == 3
    assert main(["explain", "op.async_io", "dtype.fp8_e4m3", "--facts", t4]) == 1


def test_explain_as_json_has_the_promised_keys(t4, capsys):
    main(["explain", "dtype.bf16", "--json", "--facts", t4])

    data = json.loads(capsys.readouterr().out)
    assert {
        "feature", "status", "evidence", "reasons", "remedies", "source", "because"
    } == set(data)  # fmt: skip
    assert {"code", "text"} == set(data["reasons"][0])
    assert Verdict.from_json(data).to_json() == data


def test_report_as_json_has_the_promised_keys_and_can_be_read_back(t4, tmp_path, capsys):
    assert main(["report", "--json", "--facts", t4]) == 0
    text = capsys.readouterr().out
    data = json.loads(text)

    assert {"schema_version", "accelerator", "devices", "verdicts", "facts"} <= set(data)
    assert data["accelerator"] == "cuda"
    assert data["devices"][0]["name"] == "Tesla T4"
    assert {str(f) for f in REGISTRY} <= set(data["verdicts"])
    again = tmp_path / "elsewhere" / "t4.json"
    again.parent.mkdir()
    again.write_text(text)
    main(["report", "--json", "--facts", str(again)])
    assert data == json.loads(capsys.readouterr().out)


def test_report_is_the_default(t4, capsys):
    assert main(["--facts", t4]) == 0

    assert capsys.readouterr().out.startswith("cuda: Tesla T4\n")


def test_the_report_is_plain_text_of_at_most_100_columns(machine, capsys):
    long_name = "NVIDIA " + "very " * 30 + "long name"
    facts = cuda_host(gpu(long_name, "7.5"), gpu("T4", "6.1", number=1))

    main(["report", "--facts", machine(facts)])

    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert max(len(line) for line in out.splitlines()) <= 100


def test_within_a_group_what_does_not_work_comes_first(t4, capsys):
    main(["report", "--facts", t4])

    group = capsys.readouterr().out.split("\ndtype\n")[1].split("\n\n")[0]
    labels = [
        line.split()[0] for line in group.splitlines() if line.startswith("  ") and line[2] != " "
    ]
    assert list(dict.fromkeys(labels)) == ["no", "degraded", "unknown", "yes"]
    assert "→ use fp16" in group


def test_the_report_says_at_the_top_what_is_there_and_not_used(machine, capsys):
    facts = cuda_host(gpu("RTX 5090", "12.0"))

    main(["report", "--facts", machine(facts)])

    head = capsys.readouterr().out.split("\n\n")[0]
    assert head.startswith("cpu: ")
    assert "cuda is there and not used" in head
    assert "none for compute capability 12.0" in " ".join(head.split())


def test_an_accelerator_that_was_not_chosen_can_be_asked(t4, capsys):
    assert main(["report", "--accelerator", "cpu", "--facts", t4]) == 0

    assert "cpu: Xeon" in capsys.readouterr().out


def test_why_lists_every_candidate(t4, capsys):
    assert main(["why", "--facts", t4]) == 0

    out = capsys.readouterr().out
    assert "cuda, because it is the first with a usable device" in out
    assert "cuda (chosen)" in out
    assert "\ncpu\n" in out
    assert main(["why", "--json", "--facts", t4]) == 0
    assert json.loads(capsys.readouterr().out)["chosen"] == "cuda"


def test_features_is_the_vocabulary(capsys):
    assert main(["features"]) == 0
    assert len(REGISTRY) == len(capsys.readouterr().out.splitlines())

    assert main(["features", "zero", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert {"zero.1", "zero.2", "zero.3"} < {each["feature"] for each in data}
    assert {each["group"] for each in data} == {"zero"}
    assert {"feature", "group", "title", "meaning", "since"} == set(data[0])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["explain", "dtype.bf17"], "no feature is called 'dtype.bf17'; did you mean dtype.bf16"),
        (
            ["explain", "dtype.bf16", "--accelerator", "gpu"],
            "no accelerator is called 'gpu'; known are",
        ),
        (["report", "--accelerator", "gpu"], "no accelerator is called 'gpu'"),
        (["features", "nonsense"], "no feature is called 'nonsense'"),
        (["report", "--facts", "nowhere.json"], "nowhere.json: cannot be read"),
        (["why", "--facts", "nowhere.json"], "nowhere.json: cannot be read"),
    ],
)
def test_bad_input_is_one_line_and_status_2(capsys, arguments, words):
    assert main(arguments) == 2

    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 1
    assert err.startswith("accelcaps: ")
    assert words in err


@pytest.mark.parametrize(
    "arguments", [["nonsense"], ["explain"], ["report", "--nonsense"], ["explain", "--json"]]
)
def test_wrong_usage_is_status_2(capsys, arguments):
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2


def test_a_wrong_variable_is_one_line_and_status_2(monkeypatch, capsys):
    monkeypatch.setenv("ACCELCAPS_ACCELERATOR", "gpu")

    assert main(["why"]) == 2
    assert "ACCELCAPS_ACCELERATOR: no accelerator is called 'gpu'" in capsys.readouterr().err


def test_it_runs_as_a_module_and_tells_its_version():
    done = subprocess.run(
        [sys.executable, "-m", "accelcaps", "--version"], capture_output=True, text=True
    )

    assert done.stdout.startswith("accelcaps 0.")


def test_a_reader_that_stops_reading_is_no_error(machine):
    command = f"{sys.executable} -m accelcaps report --facts {machine(cpu_host('avx2'))} | head -1"
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command}"], capture_output=True, text=True
    )

    assert done.stdout == "cpu: Xeon\n"
    assert done.stderr == ""


@pytest.mark.stack
def test_the_report_of_this_machine_is_whole():
    """On a plain machine: every op of the installed DeepSpeed, and nothing said in passing."""
    done = subprocess.run([sys.executable, "-m", "accelcaps"], capture_output=True, text=True)

    assert (done.returncode, done.stderr) == (0, "")
    for op in ("async_io", "cpu_adam", "fused_adam", "deepspeed_shm_comm", "pin_memory"):
        assert op in done.stdout
    assert max(len(line) for line in done.stdout.splitlines()) <= 100


def test_the_report_of_this_machine_without_any_framework(monkeypatch, tmp_path):
    """Nothing but accelcaps is needed; what is missing is said with a remedy."""
    code = (
        "import sys, importlib.util as u; from accelcaps.facts import packages, torch as t; "
        "real = u.find_spec; u.find_spec = lambda n, *a: None if n == 'torch' else real(n, *a); "
        "c = packages.PackagesCollector.collect; "
        "packages.PackagesCollector.collect = lambda s, f, k: {n: v for n, v in c(s, f, k).items() "
        "if n not in ('torch', 'deepspeed')}; "
        "from accelcaps.cli import main; sys.exit(main(['report']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)

    assert (done.returncode, done.stderr) == (0, "")
    assert "PyTorch is not installed" in done.stdout
    assert "→ pip install torch" in done.stdout
    assert "DeepSpeed is not installed" in done.stdout
    assert "→ pip install deepspeed" in done.stdout
