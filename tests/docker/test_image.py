"""The image, as far as it can be checked without docker: hadolint, what is copied, what is installed."""

import fnmatch
import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.conftest import REPOSITORY
from tests.test_documents import problems_of

DOCKERFILE = REPOSITORY / "docker" / "Dockerfile"
REQUIREMENTS = REPOSITORY / "docker" / "requirements.py"


def instructions() -> list[tuple[str, str]]:
    """Return each instruction of the Dockerfile with what stands behind it, on one line."""
    lines = [line for line in DOCKERFILE.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    joined = re.sub(r"\\\n\s*", " ", "\n".join(lines))
    return [(name, rest) for name, _, rest in (line.partition(" ") for line in joined.splitlines() if line)]


def context() -> list[Path]:
    """Return the files that .dockerignore lets through, by its rules as far as ours has them."""
    rules = [line for line in (REPOSITORY / ".dockerignore").read_text().splitlines() if line and line[0] != "#"]
    assert rules[0] == "*"
    kept = [rule[1:] for rule in rules if rule.startswith("!")]
    left_out = [rule.removeprefix("**/") for rule in rules[1:] if not rule.startswith("!")]
    files = [path for name in kept for path in ([REPOSITORY / name, *(REPOSITORY / name).rglob("*")])]
    assert all((REPOSITORY / name).exists() for name in kept)
    return [
        file
        for file in files
        if file.is_file()
        and not any(fnmatch.fnmatch(part, rule) for part in file.relative_to(REPOSITORY).parts for rule in left_out)
    ]


def needed(*arguments: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, str(REQUIREMENTS), *arguments], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_hadolint_has_nothing_to_say() -> None:
    hadolint = shutil.which("hadolint", path=f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}")
    if hadolint is None:
        pytest.skip("hadolint is not installed; the extra `test` has it")
    done = subprocess.run([hadolint, "--no-color", str(DOCKERFILE)], capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("", 0)


def test_image_is_not_roots_and_runs_kgprobe() -> None:
    told = instructions()
    bases = [rest.split()[0] for name, rest in told if name == "FROM"]
    assert all(re.fullmatch(r"[\w./-]+:\d[\w.-]*", base) for base in bases), "each base has a version"
    last = dict(told[max(place for place, (name, _) in enumerate(told) if name == "FROM") :])
    user, _, group = last["USER"].partition(":")
    assert int(user) > 0
    assert int(group) > 0
    assert (last["ENTRYPOINT"], last["VOLUME"]) == ('["kgprobe"]', "/data")
    assert problems_of(re.findall(r'"([^"]+)"', last["CMD"])) == []
    assert "KGPROBE_HOME=/data" in last["ENV"]
    assert not re.search(r"(?i)password|secret|token|api_key", "\n".join(rest for _, rest in told))


def test_docker_context_has_all_of_the_package() -> None:
    there = [file.relative_to(REPOSITORY) for file in context()]
    copied = [
        source
        for name, rest in instructions()
        if name == "COPY" and not rest.startswith("--from")
        for source in rest.split()[:-1]
    ]
    assert [source for source in copied if not any(Path(source) in (file, *file.parents) for file in there)] == []
    tomllib = pytest.importorskip("tomllib")
    tool = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["tool"]["setuptools"]
    folders = sorted(tool["package-dir"].items(), key=lambda item: -len(item[0]))
    for package in tool["packages"]:
        inside, folder = next(item for item in folders if package == item[0] or package.startswith(f"{item[0]}."))
        module = Path(folder, *package.removeprefix(inside).strip(".").split("."), "__init__.py")
        assert module in there, module
    assert not [file for file in there if file.name.startswith(".env") or "tests" in file.parts]


def test_requirements_are_those_of_the_package() -> None:
    pytest.importorskip("tomllib")
    every = [Requirement(line) for line in requires("kgprobe") or ()]

    def wanted(*extras: str) -> set[str]:
        found = {
            (one.name, str(one.specifier))
            for one in every
            if one.marker is None or any(one.marker.evaluate({"extra": extra}) for extra in ("", *extras))
        }
        return {"".join(one) for one in found if one[0] != "kgprobe"}

    def told(*arguments: str) -> set[str]:
        read = [Requirement(line) for line in needed(*arguments)]
        return {
            f"{one.name}{one.specifier}" for one in read if one.marker is None or one.marker.evaluate({"extra": ""})
        }

    assert told() == wanted()
    # The extra `demo` names the extra `embedded`.
    assert told("--extras", "demo,peft") == wanted("demo", "embedded", "peft")
    assert [Requirement(line).name for line in needed("--only", "torch")] == ["torch"]


@pytest.mark.slow
def test_context_is_enough_to_install(tmp_path: Path) -> None:
    for file in context():
        target = tmp_path / "source" / file.relative_to(REPOSITORY)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, target)
    install = [sys.executable, "-m", "pip", "install", "--no-deps", "--target", str(tmp_path / "installed")]
    subprocess.run([*install, str(tmp_path / "source")], check=True, capture_output=True)
    done = subprocess.run(
        [sys.executable, "-P", "-m", "kgprobe", "graph", "browser", "--output", str(tmp_path / "files")],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(tmp_path / "installed")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "files" / "guide.html").is_file()
    assert (tmp_path / "installed" / "kgprobe" / "loaders" / "example" / "entities.json").is_file()
