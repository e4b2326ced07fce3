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


@pytest.mark.stack
class TestTheExample:
    def test_it_is_an_accelerator_like_any_other(self, installed):
        names, troubles = why(installed)

        assert "quoll" in names
        assert troubles == {"quoll": ""}

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
