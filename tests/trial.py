"""An accelerator for tests of exercising: the host computes, and every claim can be chosen."""

from __future__ import annotations

from accelcaps import Accelerator, DeviceSource, Facts, Feature
from accelcaps import features as F
from accelcaps.facts.packages import PackagesCollector
from accelcaps.rules import no, unknown, yes
from accelcaps.verdict import Code

NAMES = (
    "right", "wrong", "unwritten", "stale", "infinite", "misshapen", "raises", "leaves",
    "segfaults", "hangs", "cannot", "too_large", "flaky", "poisons", "last",
)  # fmt: skip
FEATURES = {name: Feature(f"x.trial.{name}", name, f"{name} works") for name in NAMES}
CLAIMS = {
    "yes": yes("the trial's manual").source("manual, 1.2"),
    "no": no(Code.NOT_IMPLEMENTED, "it is not built in").source("manual, 1.3"),
    "unknown": unknown(Code.NOT_DOCUMENTED, "no manual tells").source("manual"),
}


def trial(claim="yes", **claims):
    """Return an accelerator that claims ``claim`` of everything, but for what is named."""

    class Trial(Accelerator):
        name = "trial"
        title = "Trial"
        seen_by = DeviceSource(torch_type="cpu")
        simulated = True
        capabilities = {
            F.DEVICE_AVAILABLE: CLAIMS["yes"],
            **{f: CLAIMS[claims.get(name, claim)] for name, f in FEATURES.items()},
        }
        checks = {f: f"simulated.exercises:{name}" for name, f in FEATURES.items()}

        def feature(self, name):  # not registered: other tests count the vocabulary
            return FEATURES.get(name.removeprefix("x.trial.")) or super().feature(name)

    return Trial(Facts({"ops": {"trial": {"builders": {}}}}, [PackagesCollector()]))
