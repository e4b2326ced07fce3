"""One builder for each way to behave."""

import ctypes
import os
import threading

from .builder import OpBuilder


class Good(OpBuilder):
    pass


class NotImplementedBuilder(OpBuilder):
    def load(self, verbose=True):
        raise ValueError("This op had not been implemented")


class Refusing(OpBuilder):
    def is_compatible(self, verbose=False):
        if verbose:
            print("\033[93m [WARNING] \033[0m it wants libfrob")
            print("\033[93m [WARNING] \033[0m and a newer moon")
        return self.has_function("frob", ("frob",))


class Raising(OpBuilder):
    def extra_ldflags(self):
        raise ValueError("Didn't find FROB_ROOT")


class RaisingCheck(OpBuilder):
    def is_compatible(self, verbose=False):
        raise KeyError("FROB_HOME")


class NeedsModule(OpBuilder):
    def extra_ldflags(self):
        import frob_kernels

        return frob_kernels.flags


class Needy(OpBuilder):
    def sources(self):
        return [os.path.join(os.path.dirname(__file__), "needy.cpp")]

    def extra_ldflags(self):
        return ["-lnobody_has_this"]


class Strange(OpBuilder):
    def cxx_args(self):
        return ["-fno-such-flag-anywhere"]


class Sourceless(OpBuilder):
    def sources(self):
        return ["/nowhere/op.cpp"]


class Hanging(OpBuilder):
    def is_compatible(self, verbose=False):
        threading.Event().wait()


class Crashing(OpBuilder):
    def load(self, verbose=False):
        ctypes.string_at(0)


class Exiting(OpBuilder):
    def is_compatible(self, verbose=False):
        os._exit(5)


class Dependent(OpBuilder):
    def load(self, verbose=False):
        Good("good").load()
        return super().load(verbose)


class Prebuilt(OpBuilder):
    def load(self, verbose=False):
        return object()


_KINDS = {
    "good": Good, "deepspeed_not_implemented": NotImplementedBuilder, "refusing": Refusing,
    "raising": Raising, "raising_check": RaisingCheck, "needs_module": NeedsModule, "needy": Needy,
    "strange": Strange, "sourceless": Sourceless, "hanging": Hanging, "crashing": Crashing,
    "exiting": Exiting, "dependent": Dependent, "prebuilt": Prebuilt,
}  # fmt: skip
_NAMES = os.environ.get("SIMULATED_OPS", "good").split(",")
ALL_OPS = {name: _KINDS[name](name) for name in _NAMES}
