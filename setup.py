"""The one thing pyproject.toml cannot say: the record kernel is optional (DESIGN D7).

Without a compiler the package installs all the same, and `ottla.records.kernel` serves from its
pure-Python twin, saying so once.
"""

from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

FOLDER = Path("src/ottla/records")


def kernel() -> list[Extension]:
    wanted = [
        Extension(f"ottla.records.{source.stem}", [str(source)], extra_compile_args=["-O3"])
        for source in sorted(FOLDER.glob("*.pyx"))
    ]
    built = cythonize(wanted, language_level=3, build_dir="build")
    for extension in built:
        extension.optional = True  # cythonize makes a new object and forgets this
    return list(built)


setup(ext_modules=kernel())
