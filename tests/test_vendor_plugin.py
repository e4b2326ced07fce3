"""Packages that add an accelerator: the example, installed and run, and others that fail."""

from __future__ import annotations

import json

import pytest
from vendor_example import install, run


def why(path, **environment):
    done = run("-m", "accelcaps", "why", "--json", path=path, **environment)
    assert done.returncode == 0, done.stderr
    choice = json.loads(done.stdout)
    return {each["name"] for each in choice["candidates"]}, {
        each["name"]: each["trouble"]["text"] if each["trouble"] else ""
        for each in choice["plugins"]
    }


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    return install(tmp_path_factory.mktemp("example"))


EXERCISE = """
import json, os, sys
import torch, torch_quoll
import accelcaps
acc = accelcaps.get_accelerator("quoll")

def computes(dtype):
    a = torch.arange(6.0).reshape(2, 3).to(dtype)
    there = a.to("quoll")
    product = (there @ there.T + 1).cpu()
    assert torch.allclose(product.float(), (a.float() @ a.float().T + 1), rtol=1e-2)

def stores(dtype):
    assert torch.equal(torch.ones(3).to(dtype).to("quoll").cpu().float(), torch.ones(3))

def works(exercise, dtype):
    try:
        exercise(dtype)
    except (RuntimeError, NotImplementedError):
        return False
    return True

types = {"fp64": torch.float64, "fp32": torch.float32, "fp16": torch.float16,
         "bf16": torch.bfloat16, "fp8_e4m3": torch.float8_e4m3fn,
         "complex64": torch.complex64}
told = {}
for name, dtype in types.items():
    told[f"dtype.{name}"] = (acc.supports(f"dtype.{name}"), works(computes, dtype))
    storage = f"dtype.{name}.storage"
    told[storage] = (acc.supports(storage), works(stores, dtype))
before = torch.quoll.launches()
torch.ones(2, device="quoll") + 1
told["x.quoll.kernel_counter"] = (
    acc.supports("x.quoll.kernel_counter"), torch.quoll.launches() > before)
weight = torch.ones(3, device="quoll", requires_grad=True)
(weight * 2).sum().backward()
told["backward"] = (True, torch.equal(weight.grad.cpu(), torch.full((3,), 2.0)))
json.dump(told, sys.stdout)
sys.stdout.flush()
os._exit(0)  # torch 2.13 now and then aborts at exit after backward on a Python backend
"""


@pytest.mark.stack
class TestTheExample:
    def test_it_is_an_accelerator_like_any_other(self, installed):
        names, troubles = why(installed)

        assert "quoll" in names
        assert troubles == {"quoll": ""}

    @pytest.mark.parametrize("generation", ["q1", "q2"])
    def test_what_it_claims_is_what_happens(self, installed, generation):
        done = run("-c", EXERCISE, path=installed, QUOLL_ARCH=generation)

        assert done.returncode == 0, done.stderr
        told = json.loads(done.stdout)
        assert {name: claimed for name, (claimed, _) in told.items()} == {
            name: happened for name, (_, happened) in told.items()
        }
        assert told["dtype.bf16"] == [generation == "q2"] * 2

    def test_an_old_driver_is_a_reasoned_no(self, installed):
        done = run("-m", "accelcaps", "explain", "device.available", "--accelerator", "quoll",
                   path=installed, QUOLL_DRIVER="1.0")  # fmt: skip

        assert done.returncode == 1
        assert "Quoll driver is 1.0, needs at least 1.1" in done.stdout

    def test_a_hidden_device_is_told_apart_from_none(self, installed):
        done = run("-m", "accelcaps", "explain", "device.available", "--accelerator", "quoll",
                   path=installed, QUOLL_VISIBLE_DEVICES="")  # fmt: skip

        assert done.returncode == 1
        assert "hides every device of this host" in done.stdout

    def test_its_own_feature_is_in_the_vocabulary(self, installed):
        done = run("-m", "accelcaps", "features", "x", path=installed)

        assert "x.quoll.kernel_counter" in done.stdout

    @pytest.mark.parametrize("plugins", ["none", "", "another"])
    def test_it_can_be_left_out(self, installed, plugins):
        names, _ = why(installed, ACCELCAPS_PLUGINS=plugins)

        assert "quoll" not in names

    def test_it_can_be_the_only_one(self, installed):
        names, _ = why(installed, ACCELCAPS_PLUGINS="quoll")

        assert "quoll" in names


GOOD = """
from accelcaps import Accelerator, DeviceSource
class Kind(Accelerator):
    interface = 1
    name = "{name}"
    title = "Some card"
    seen_by = DeviceSource(torch_type="{name}", module="nowhere")
"""
BROKEN = {
    "broken": ("raise OSError('libcard.so: cannot open')", "OSError: libcard.so: cannot open"),
    "leaving": ("import sys; sys.exit(3)", "exit"),
    "dying": ("import os; os.abort()", "SIGABRT"),
    "wrong": ("Kind = 7", "7 is not a subclass of accelcaps.Accelerator"),
    "silent": (
        GOOD.format(name="silent").replace("    interface = 1\n", ""),
        "does not state which interface",
    ),
    "older": (
        GOOD.format(name="older").replace("= 1", "= 0"),
        "it is built for interface 0, and this is 1",
    ),
    "newer": (GOOD.format(name="newer").replace("= 1", "= 2"), "update accelcaps"),
    "misnamed": (
        GOOD.format(name="other"),
        "its entry point is called misnamed, and the accelerator other",
    ),
    "cuda": (GOOD.format(name="cuda"), "an accelerator called cuda is there already"),
    "untyped": (
        GOOD.format(name="untyped") + "    capabilities = {'dtype.bf16': True}\n",
        "is not a feature",
    ),
}


def offer(folder, name, text):
    """Write a package with an entry point, as an installed one looks."""
    (folder / f"{name}_card.py").write_text(text)
    metadata = folder / f"{name}_card-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}-card\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(
        f"[accelcaps.accelerators]\n{name} = {name}_card:Kind\n"
    )


@pytest.fixture(scope="module")
def troubled(tmp_path_factory):
    folder = tmp_path_factory.mktemp("troubled")
    for name, (text, _) in BROKEN.items():
        offer(folder, name, text)
    offer(folder, "good", GOOD.format(name="good"))
    return why(folder)


@pytest.mark.parametrize("name", BROKEN)
def test_a_package_that_fails_is_listed_with_the_error(troubled, name):
    names, troubles = troubled

    assert BROKEN[name][1] in troubles[name]
    assert name == "cuda" or name not in names


def test_it_harms_no_other(troubled):
    names, troubles = troubled

    assert {"cuda", "cpu", "good"} <= names
    assert troubles["good"] == ""


def test_a_name_that_nobody_offers_is_told(tmp_path):
    _, troubles = why(tmp_path, ACCELCAPS_PLUGINS="nowhere")

    assert "no installed package offers it" in troubles["nowhere"]


def test_the_trouble_is_shown_to_a_person(tmp_path):
    offer(tmp_path, "broken", BROKEN["broken"][0])

    done = run("-m", "accelcaps", "why", path=tmp_path)
    assert "plugin broken (broken-card 1.0) is not used:" in done.stdout
    assert "libcard.so: cannot open" in done.stdout


def test_a_package_that_hangs_is_given_up_at_the_deadline(tmp_path, monkeypatch):
    from accelcaps.accelerators.plugins import load_plugins

    offer(tmp_path, "slow", "import threading; threading.Event().wait()")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("ACCELCAPS_PLUGINS", "slow")

    (plugin,) = load_plugins([], deadline=2.0)
    assert plugin.kind is None
    assert "2" in plugin.trouble.text
