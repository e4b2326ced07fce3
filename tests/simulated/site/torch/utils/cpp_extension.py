"""The parts of torch's extension builder that a rehearsal goes through."""

import os


def verify_ninja_availability():
    raise RuntimeError("Ninja is required")


def get_compiler_abi_compatibility_and_version(compiler):
    raise RuntimeError("no compiler")


def _run_ninja_build(folder, verbose, error_prefix):
    raise RuntimeError("a rehearsal must not build")


def _import_module_from_library(name, path, is_python_module):
    raise RuntimeError("a rehearsal must not load")


def _get_build_directory(name, verbose):
    folder = os.path.join(os.environ["TORCH_EXTENSIONS_DIR"], name)
    if not os.path.exists(folder):
        os.makedirs(folder)
    return folder


def load(name, sources, extra_cflags=(), extra_ldflags=(), extra_include_paths=()):
    verify_ninja_availability()
    get_compiler_abi_compatibility_and_version("c++")
    folder = _get_build_directory(name, False)
    flags = [*(f"-I{each}" for each in extra_include_paths), *extra_cflags]
    lines = [
        f"cxx = {os.environ.get('CXX', 'c++')}",
        f"cflags = -DTORCH_EXTENSION_NAME={name} -fPIC {' '.join(flags)}",
        f"ldflags = -shared {' '.join(extra_ldflags)}",
        *(f"build part{n}.o: compile {each}" for n, each in enumerate(sources)),
    ]
    with open(os.path.join(folder, "build.ninja"), "w") as out:
        out.write("\n".join(lines) + "\n")
    _run_ninja_build(folder, False, "")
    return _import_module_from_library(name, folder, True)
