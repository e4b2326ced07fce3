import os

from torch.utils import cpp_extension


class OpBuilder:
    _loaded_ops = {}

    def __init__(self, name):
        self.name = name

    def is_compatible(self, verbose=False):
        return True

    def has_function(self, funcname, libraries, library_dirs=None, verbose=False):
        return False

    def sources(self):
        return [os.path.join(os.path.dirname(__file__), "op.cpp")]

    def extra_ldflags(self):
        return []

    def cxx_args(self):
        return []

    def load(self, verbose=False):
        return self.jit_load(verbose)

    def jit_load(self, verbose=True):
        if not self.is_compatible(verbose):
            raise RuntimeError("Unable to JIT load the op")
        cpp_extension.verify_ninja_availability()
        return cpp_extension.load(
            name=self.name,
            sources=self.sources(),
            extra_cflags=self.cxx_args(),
            extra_ldflags=self.extra_ldflags(),
        )
