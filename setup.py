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


def extensions() -> list[Extension]:
    sources = {
        "ottla.protocol._codecs": codecs(),
        **{f"ottla.records.{path.stem}": path for path in sorted(SOURCE.glob("records/*.pyx"))},
    }
    wanted = [
        Extension(name, [str(path)], extra_compile_args=["-O3", "-g0"])
        for name, path in sources.items()
    ]
    built = cythonize(wanted, language_level=3, build_dir=str(BUILD))
    for extension in built:
        extension.optional = True  # cythonize makes a new object and forgets this
    return list(built)


setup(ext_modules=extensions())
