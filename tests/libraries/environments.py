"""Environments in which libraries are installed as their users do, and what is run in them."""

import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile

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
        elif not self._has_ours():
            self._install("-e", str(ROOT), str(ROOT / "packages" / "jax-evertrace"))

    def install(self, library):
        """Install a library by pip; returns its version."""
        self._install(library.name, *library.needs)
        return self._version(library.name)

    def add(self, *names):
        """Install libraries by pip."""
        self._install(*names)

    def run(self, command, seconds, folder, **variables):
        """Run Python; returns the exit status, None where it took too long, and what it printed."""
        environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
        environment |= {"EINOPS_TEST_BACKENDS": "jax", "JAX_PLATFORMS": "cpu", **variables}
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
        """Get the folder of a library's tests, as released; returns what it lies in.

        It is the source distribution's, or the repository's where that one has no tests. What is
        in the cache already is taken as it is. The library is not beside its tests, so that they
        import the one that is installed.
        """
        name = f"{library.name.replace('-', '_')}-{version}"
        folder, tests = self.sources / name, library.tests[0].split("/")[0]
        if not (folder / tests).exists():
            self.sources.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=self.sources) as whole:
                self._download(library, version, pathlib.Path(whole, name))
                folder.mkdir(exist_ok=True)
                shutil.move(pathlib.Path(whole, name, tests), folder / tests)
        return folder

    def _download(self, library, version, folder):
        if library.repository:
            tag = library.tag.format(version=version)
            command = ["git", "clone", "--quiet", "--depth", "1", "--branch", tag]
            subprocess.run([*command, library.repository, folder], check=True)
            return
        self._pip(
            "download", "--no-deps", "--no-binary", library.name, "--dest", str(folder.parent),
            f"{library.name}=={version}",
        )  # fmt: skip
        (archive,) = folder.parent.glob("*.tar.gz")
        with tarfile.open(archive) as files:
            files.extractall(folder.parent, filter="data")

    def _install(self, *what):
        """Install by pip, which is not to put the real JAX in the place of ours."""
        had_ours = self._has_ours()
        self._pip("install", *what)
        if had_ours and not self._has_ours():
            raise RuntimeError(
                f"{self.folder}: pip has replaced our `jax` by the real one with {' '.join(what)}, "
                "so nothing that is run here says anything of evertrace; is evertrace itself "
                "installed, which our `jax` requires? Remove the folder to make it anew."
            )

    def _has_ours(self):
        return self._version("jax").endswith("+evertrace")

    def _pip(self, *what):
        command, *rest = what
        options = ["--quiet", "--disable-pip-version-check"]
        subprocess.run([self.python, "-m", "pip", command, *options, *rest], check=True)

    def _version(self, name):
        program = f"from importlib.metadata import version; print(version({name!r}))"
        asked = [self.python, "-c", program]
        return subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()
