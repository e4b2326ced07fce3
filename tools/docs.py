"""Write docs/features.md and docs/matrix.md from the rules: ``python tools/docs.py``."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

os.environ["ACCELCAPS_PLUGINS"] = "none"  # the pages tell what comes with accelcaps

from accelcaps.features import REGISTRY
from accelcaps.profiles import profiles
from accelcaps.reports.matrix import matrix

DOCS = Path(__file__).parent.parent / "docs"
GENERATED = "<!-- Written by tools/docs.py from the rules. Change those, and run it again. -->"


def features_page() -> str:
    """Return docs/features.md: the vocabulary, with what a yes promises."""
    return "\n".join(_features()) + "\n"


def _features() -> Iterator[str]:
    yield "# Features"
    yield ""
    yield GENERATED
    yield ""
    yield (
        f"The {len(REGISTRY)} names, with what a `yes` promises. `limit.*` are values. `op.<builder>` "
        "exists for every op builder that the installed DeepSpeed has, and `pkg.<distribution>` "
        "for every Python package, whether named here or not."
    )
    for group in REGISTRY.groups():
        yield ""
        yield f"## {group}"
        yield ""
        yield "| name | title | a yes promises | since |"
        yield "|---|---|---|---|"
        for feature in REGISTRY.in_group(group):
            yield f"| `{feature}` | {feature.title} | {feature.meaning} | {feature.since} |"
    yield ""
    yield "## Other words for them"
    yield ""
    yield "| word | name |"
    yield "|---|---|"
    for word, feature in REGISTRY.aliases().items():
        yield f"| `{word}` | `{feature}` |"


def matrix_page() -> str:
    """Return docs/matrix.md: every feature on every accelerator, from the hardware alone."""
    return "\n".join(_matrix()) + "\n"


def _matrix() -> Iterator[str]:
    yield "# Who supports what"
    yield ""
    yield GENERATED
    yield ""
    yield (
        "What each accelerator's hardware can do, with software that is new enough, by declared "
        "rules: a machine may lack what is needed (`accelcaps` tells), and software named with "
        "`--with` may be too old. An accelerator stands for its profiles; where those differ it "
        "`varies`, and the list below each table tells how. Ask about one piece of hardware with "
        "`accelcaps matrix --on nvidia-t4,amd-mi300x`."
    )
    yield ""
    yield "| accelerator | profiles |"
    yield "|---|---|"
    by_accelerator: dict[str, list[str]] = {}
    for each in profiles():
        by_accelerator.setdefault(each.accelerator, []).append(each.name)
    for name, names in by_accelerator.items():
        yield f"| `{name}` | {', '.join(names)} |"
    yield ""
    yield from matrix().markdown()


def main() -> int:
    """Write both pages."""
    for name, text in (("features.md", features_page()), ("matrix.md", matrix_page())):
        (DOCS / name).write_text(text, encoding="utf-8")
        print(f"docs/{name}: {len(text.splitlines())} lines")
    return 0


if __name__ == "__main__":
    sys.exit(main())
