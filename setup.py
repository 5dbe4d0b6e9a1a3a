"""The one thing pyproject.toml cannot say: what is compiled is optional (DESIGN D7).

Without a compiler the package installs all the same: `ottla.records.kernel` then serves from its
pure-Python twin, and `ottla.protocol.compile` from its pure functions.
"""

import sys
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

SOURCE = Path("src/ottla")
BUILD = Path("build")


def codecs() -> Path:
    """Written of the protocol's table; only if it changed, so that it is not compiled in vain."""
    sys.path.insert(0, str(SOURCE.parent.resolve()))
    from ottla.protocol.c_source import module_text

    text = module_text((SOURCE / "protocol" / "codecs.pxi").read_text(encoding="utf-8"))
    path = BUILD / "_codecs.pyx"
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return path


def _extension(name: str, source: Path, level: str) -> Extension:
    return Extension(name, [str(source)], extra_compile_args=[level, "-g0"])


def extensions() -> list[Extension]:
    kernels = sorted(SOURCE.glob("records/*.pyx"))
    wanted = [
        _extension("ottla.protocol._codecs", codecs(), "-O2"),  # as fast, and smaller than by -O3
        *(_extension(f"ottla.records.{path.stem}", path, "-O3") for path in kernels),
    ]
    built = cythonize(wanted, language_level=3, build_dir=str(BUILD))
    for extension in built:
        extension.optional = True  # cythonize makes a new object and forgets this
    return list(built)


setup(ext_modules=extensions())
