"""Features × accelerators or profiles."""

from __future__ import annotations

import json

import pytest

from accelcaps import features as F
from accelcaps.accelerators.registry import ACCELERATORS
from accelcaps.cli import main
from accelcaps.features import REGISTRY
from accelcaps.profiles import read_stack
from accelcaps.reports.matrix import matrix


def cell(name, feature, stack=None):
    return matrix(feature, [name], read_stack(stack) if stack else None).rows[feature][0]


def test_a_profile_is_a_column():
    assert (cell("nvidia-t4", F.DTYPE_BF16).status, cell("nvidia-t4", F.DTYPE_FP8_E4M3).status) == (
        "degraded",
        "no",
    )
    assert "emulated" in cell("nvidia-t4", F.DTYPE_BF16).reason


def test_a_yes_needs_no_reason_and_a_limit_is_its_value():
    assert cell("nvidia-h100", F.DTYPE_BF16).reason == ""
    assert cell("nvidia-h100", F.LIMIT_COMPUTE_CAPABILITY).reason == "9.0"


def test_an_accelerator_stands_for_its_profiles():
    found = cell("cuda", F.DTYPE_BF16)

    assert found.status == "varies"
    assert "yes on nvidia-a10, " in found.reason
    assert found.by_profile["nvidia-t4"] == "degraded"


def test_where_its_profiles_agree_it_is_one_answer():
    assert cell("cuda", F.DTYPE_FP8_E4M3FNUZ).status == "no"


def test_an_accelerator_without_profiles_is_any_device_of_it():
    assert cell("mlu", F.COMM_BACKEND).status in {"yes", "no", "degraded", "unknown"}


def test_software_is_put_on_every_column():
    assert cell("nvidia-rtx-5090", F.BUILD_KERNEL_IMAGE, "torch=2.6.0+cu126").status == "no"
    assert cell("nvidia-rtx-5090", F.BUILD_KERNEL_IMAGE, "torch=2.7.0+cu128").status == "yes"


def test_every_accelerator_is_a_column_where_none_is_named(capsys):
    assert main(["matrix", "--group", "dtype", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)

    assert [kind.name for kind in ACCELERATORS] == [column["name"] for column in found["columns"]]
    assert REGISTRY.in_group("dtype") == [row["feature"] for row in found["rows"]]
    assert all(set(row["cells"]) == {kind.name for kind in ACCELERATORS} for row in found["rows"])


def test_markdown_is_a_table_with_the_reasons_below(capsys):
    assert (
        main(
            ["matrix", "--group", "dtype.bf16", "--on", "nvidia-t4,nvidia-a100-40gb", "--markdown"]
        )
        == 0
    )
    lines = capsys.readouterr().out.splitlines()

    assert "| feature | nvidia-t4 | nvidia-a100-40gb |" in lines
    assert "| `dtype.bf16` | degraded | yes |" in lines
    assert any(
        line.startswith("- `dtype.bf16`") and ", nvidia-t4: degraded: " in line for line in lines
    )


def test_a_terminal_shows_no_line_longer_than_100(capsys):
    assert main(["matrix", "--group", "dtype"]) == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 100


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--group", "dtypes"], "no feature is called 'dtypes'"),
        (["--on", "nvidia-h10"], "did you mean nvidia-h100"),
        (["--with", "torch"], "not of the form name=version"),
    ],
)
def test_bad_input_is_one_line_and_status_2(capsys, words, told):
    assert main(["matrix", *words]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert told in err
