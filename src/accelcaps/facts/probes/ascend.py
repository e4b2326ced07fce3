"""Read the version of the Ascend driver from its folder; needs neither CANN nor a context."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from accelcaps.facts.isolation import Report

__all__ = ["probe"]

_INSTALLED = Path("/etc/ascend_install.info")  # tells the folder that the driver was put into
_USUAL = Path("/usr/local/Ascend")


def probe(report: Report) -> None:
    """Report ``driver`` where its ``version.info`` tells a version; torch_npu tells the devices."""
    for folder in (_told(), _USUAL):
        place = folder / "driver" / "version.info" if folder else None
        if place is None or not place.is_file():
            continue
        found = re.search(r"^Version=(\S+)", place.read_text(), re.MULTILINE)
        if found:
            report("driver", {"version": found[1]})
            return


def _told() -> Path | None:
    try:
        found = re.search(r"^Driver_Install_Path_Param=(\S+)", _INSTALLED.read_text(), re.MULTILINE)
    except OSError:
        return None
    return Path(found[1]) if found else None
