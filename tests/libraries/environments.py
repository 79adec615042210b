"""Environments in which libraries are installed as their users do, and what is run in them."""

import os
import pathlib
import subprocess
import sys
import tarfile

ROOT = pathlib.Path(__file__).parents[2]
TOOLS = ("pytest", "pytest-timeout")


class Environment:
    """A virtual environment with `jax`, either ours or the real one.

    Args:
      folder: where it is, and with it what was downloaded.
      kind: "evertrace" or "jax".
    """

    def __init__(self, folder, kind):
        self.kind, self.folder = kind, folder / kind
        self.sources = folder / "sources"
        self.python = self.folder / "bin" / "python"
        if not self.python.exists():
            subprocess.run([sys.executable, "-m", "venv", self.folder], check=True)
        self._install(*TOOLS)
        if kind == "jax":
            self._install("-r", str(ROOT / "tests" / "oracle" / "requirements.txt"))
        elif not self._version("jax").endswith("+evertrace"):
            self._install("-e", str(ROOT), str(ROOT / "packages" / "jax-evertrace"))

    def install(self, library):
        """Install a library by pip; returns its version."""
        self._install(library.name, *library.needs)
        return self._version(library.name)

    def run(self, command, seconds, folder):
        """Run Python; returns the exit status, None where it took too long, and what it printed."""
        environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
        environment |= {"EINOPS_TEST_BACKENDS": "jax", "JAX_PLATFORMS": "cpu"}
        folder.mkdir(parents=True, exist_ok=True)
        try:
            done = subprocess.run(
                [str(self.python), "-W", "ignore", *map(str, command)],
                cwd=folder,
                env=environment,
                capture_output=True,
                text=True,
                timeout=seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return None, "", ""
        return done.returncode, done.stdout, done.stderr

    def unpack(self, library, version):
        """Download the source distribution of a library; returns the folder of its files."""
        name = f"{library.name.replace('-', '_')}-{version}"
        if not (self.sources / name).exists():
            self._pip(
                "download", "--no-deps", "--no-binary", ":all:", "--dest", str(self.sources),
                f"{library.name}=={version}",
            )  # fmt: skip
            with tarfile.open(self.sources / f"{name}.tar.gz") as archive:
                archive.extractall(self.sources, filter="data")
        return self.sources / name

    def _install(self, *what):
        self._pip("install", *what)

    def _pip(self, *what):
        command, *rest = what
        options = ["--quiet", "--disable-pip-version-check"]
        subprocess.run([self.python, "-m", "pip", command, *options, *rest], check=True)

    def _version(self, name):
        program = f"from importlib.metadata import version; print(version({name!r}))"
        asked = [self.python, "-c", program]
        return subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()
