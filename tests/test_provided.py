"""Which op DeepSpeed provides where: the table against the installed DeepSpeed's own folders."""

from __future__ import annotations

import json

import pytest

from accelcaps.features import REGISTRY
from accelcaps.ops.provided import PROVIDED

pytestmark = pytest.mark.stack

NAMES = """
import importlib, inspect, json, pkgutil, sys
import deepspeed.ops.op_builder as everything

def names(package, *, exported=True):
    modules = [importlib.import_module(f"{package.__name__}.{each.name}")
               for each in pkgutil.iter_modules(package.__path__) if not each.ispkg]
    classes = {c for m in modules for c in vars(m).values()
               if inspect.isclass(c) and c.__module__ == m.__name__}
    if exported:  # what the folder takes over from the common builders
        classes |= {c for c in vars(package).values() if inspect.isclass(c)}
    return sorted({c.NAME for c in classes if getattr(c, "NAME", None)
                   and not any(b.__name__ == "NotImplementedBuilder" for b in c.__mro__)})

folders = [each.name for each in pkgutil.iter_modules(everything.__path__) if each.ispkg]
found = {f: names(importlib.import_module(f"deepspeed.ops.op_builder.{f}")) for f in folders}
found["cuda"] = names(everything, exported=False)
json.dump(found, open(sys.argv[1], "w"))
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    import subprocess
    import sys

    place = tmp_path_factory.mktemp("names") / "names.json"
    subprocess.run([sys.executable, "-c", NAMES, str(place)], check=True, capture_output=True)
    return {accelerator: set(names) for accelerator, names in json.loads(place.read_text()).items()}


def test_every_builder_has_a_constant(installed):
    names = {f"op.{name}" for names in installed.values() for name in names}

    assert names <= set(REGISTRY)


def test_every_accelerator_that_deepspeed_has_builders_for_is_in_the_table(installed):
    assert set(installed) | {"rocm"} == set(PROVIDED)  # DeepSpeed calls ROCm cuda


@pytest.mark.parametrize("accelerator", sorted(set(PROVIDED) - {"rocm", "cuda"}))
def test_the_table_is_what_the_folder_holds(installed, accelerator):
    assert installed[accelerator] == PROVIDED[accelerator]


def test_cuda_has_the_common_builders_and_those_of_the_host(installed):
    assert installed["cuda"] | {"cpu_adam", "cpu_adagrad", "cpu_lion"} == PROVIDED["cuda"]
