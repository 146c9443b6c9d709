"""Writes the locks, envs/*.lock, anew from pyproject.toml, by uv; for `make lock`.

requirements.lock and cuda.lock are the runtime; a lock with the name of an extra or a dependency
group holds what that adds. All are resolved together. cpu.lock is written by hand.
"""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

UV = "uv pip compile --universal --python-version=3.11 --generate-hashes"
UV += " --no-strip-extras --no-annotate --no-header --no-config --quiet --output-file"
# a pin, and a line for each of its hashes
PACKAGE = re.compile(r"^([\w.-]+)[^=\n]*==(?:.*\\\n)*.*\n", re.MULTILINE)


def resolve(path: Path, *options: str, source: str = "pyproject.toml") -> dict[str, str]:
    """Resolve the project, and return the lines of each package; a version in the file stays."""
    subprocess.run([*UV.split(), path, source, *options], check=True)
    return {found[1]: found[0] for found in PACKAGE.finditer(path.read_text())}


def part(name: str) -> str:
    """Name the lock that holds a package of the runtime."""
    return "cuda" if re.match("torch$|triton|cuda-|nvidia-", name) else "requirements"


def main(scratch: Path, *upgrade: str) -> None:
    """Resolve all together, then see which lock has which package."""
    locks = {path: path.read_text() for path in sorted(Path("envs").glob("*.lock"))}
    cpu = locks.pop(Path("envs/cpu.lock"))
    extras = tomllib.loads(Path("pyproject.toml").read_text())["project"]["optional-dependencies"]
    more = {p: f"--{'extra' if p.stem in extras else 'group'}={p.stem}" for p in locks}
    for runtime in ("requirements", "cuda"):
        del more[Path(f"envs/{runtime}.lock")]
    scratch.write_text("".join(found[0] for found in PACKAGE.finditer("".join(locks.values()))))
    resolve(scratch, *more.values(), *upgrade)
    pinned = f"--constraint={scratch}"
    base = resolve(scratch.with_suffix(".runtime"), pinned)
    for path, lock in locks.items():
        adds = resolve(scratch.with_suffix(path.suffix), pinned, more[path]) if path in more else {}
        held = [name for name in base if part(name) == path.stem] + sorted({*adds} - {*base})
        comments = re.findall(r"^#.*\n", lock, re.MULTILINE)
        path.write_text("".join([*comments, *((base | adds)[name] for name in held)]))
    if f"{base['torch'].split()[0]}+cpu " not in cpu:
        sys.exit("heed: envs/cpu.lock has another torch than envs/cuda.lock: write it anew by hand")


if __name__ == "__main__":
    main(Path(".heed/lock/together.txt"), *sys.argv[1:])
