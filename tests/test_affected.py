"""Selection of the tests that a change affects, on small repositories and on this one."""

import subprocess
from pathlib import Path

import pytest

from tests.affected.__main__ import main
from tests.affected.definitions import Tree
from tests.affected.repository import changed_files, read_tree
from tests.affected.selection import select

ROOT = Path(__file__).parent.parent
PROJECT = """
[tool.setuptools.package-dir]
"kgprobe" = "kgprobe"
"kgprobe.cypher" = "cypher"
[project.entry-points."kgprobe.spoons"]
big = "kgprobe.big:SPOON"
small = "kgprobe.small:SPOON"
"""
FILES = {
    "pyproject.toml": PROJECT,
    "kgprobe/__init__.py": "from typing import TYPE_CHECKING\n"
    "if TYPE_CHECKING:\n    from kgprobe.eating import eat\n    from kgprobe.cooking import cook\n"
    "def __getattr__(name): ...\n",
    "kgprobe/register.py": "SPOONS = Register('kgprobe.spoons')\n",
    "kgprobe/big.py": "def _make():\n    from kgprobe.metal import cast\n    return cast\nSPOON = Kind(_make)\n",
    "kgprobe/small.py": "def _make():\n    from kgprobe.wood import carve\n    return carve\nSPOON = Kind(_make)\n",
    "kgprobe/metal.py": "def cast(): ...\n",
    "kgprobe/wood.py": "def carve(): ...\n",
    "kgprobe/eating.py": "from .register import SPOONS\ndef eat(name):\n    return SPOONS.get(name)\n",
    "kgprobe/cooking.py": "def cook(transaction, kind):\n    transaction.run(f'cook/{kind}')\n",
    "kgprobe/group.py": "@click.group()\ndef group(): ...\n"
    "@group.command()\ndef stir():\n    from kgprobe.stirring import turn\n",
    "kgprobe/stirring.py": "def turn(): ...\n",
    "kgprobe/commands.py": "TABLE = {'group': 'kgprobe.group:group', 'wash': 'kgprobe.washing:wash'}\n",
    "kgprobe/washing.py": "def wash(): ...\n",
    "cypher/cook/soup.cypher": "RETURN 1",
    "cypher/eat/soup.cypher": "RETURN 1",
    "tests/__init__.py": "",
    "tests/conftest.py": "import pytest\n@pytest.fixture\ndef pan():\n    from kgprobe.metal import cast\n",
    "tests/test_eating.py": "import kgprobe\ndef test_eat():\n    kgprobe.eat('small')\n",
    "tests/test_cooking.py": "import kgprobe\ndef test_cook():\n    kgprobe.cook(None, 'soup')\n",
    "tests/test_pan.py": "def test_pan(pan):\n    assert (ROOT / 'data' / 'pan.json').exists()\n",
    "tests/test_patched.py": "def test_patched(monkeypatch):\n    monkeypatch.setattr('kgprobe.wood.carve', None)\n",
    "tests/test_group.py": "from kgprobe.commands import TABLE\ndef test_group():\n    TABLE.get('group')\n",
    "tests/test_none.py": "def test_none():\n    assert True\n",
    "tests/data/pan.json": "{}",
}


def run_git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with one commit, as the current folder."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / ".gitignore").write_text(".pytest_cache\n__pycache__\n")
    run_git(tmp_path, "init", "-q")
    run_git(tmp_path, "add", ".")
    run_git(tmp_path, "commit", "-qm", "Begin")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("changed", "tests"),
    [
        ("kgprobe/wood.py", "eating patched"),
        ("kgprobe/metal.py", "pan"),
        ("kgprobe/cooking.py", "cooking"),
        ("kgprobe/register.py", "eating"),
        ("kgprobe/stirring.py", "group"),
        ("kgprobe/washing.py", ""),
        ("cypher/cook/soup.cypher", "cooking"),
        ("cypher/eat/soup.cypher", ""),
        ("tests/data/pan.json", "pan"),
        ("tests/test_none.py", "none"),
        ("kgprobe/__init__.py", "cooking eating group pan patched"),
        ("pyproject.toml", "cooking eating group none pan patched"),
    ],
)
def test_select_changed_file_returns_its_tests(
    repository: Path, capsys: pytest.CaptureFixture[str], changed: str, tests: str
) -> None:
    (repository / changed).write_text(FILES[changed] + "\n")
    assert main(["--list"]) == 0
    expected = [f"tests/test_{name}.py" for name in tests.split()] or ["No test is affected."]
    assert capsys.readouterr().out.splitlines() == expected


@pytest.mark.parametrize(
    ("deleted", "tests"),
    [("kgprobe/wood.py", ["eating", "patched"]), ("cypher/cook/soup.cypher", ["cooking"]), ("tests/data", ["pan"])],
)
def test_select_deleted_file_returns_its_tests(
    repository: Path, capsys: pytest.CaptureFixture[str], deleted: str, tests: list[str]
) -> None:
    run_git(repository, "rm", "-rq", deleted)
    assert main(["--list"]) == 0
    assert capsys.readouterr().out.splitlines() == [f"tests/test_{name}.py" for name in tests]


def test_select_deleted_test_returns_nothing(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (repository / "tests/test_none.py").unlink()
    assert main([]) == 0
    assert capsys.readouterr().out == "No test is affected.\n"


def test_why_change_prints_the_shortest_chain(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (repository / "kgprobe/register.py").write_text("SPOONS = None\n")
    main(["--list", "--why"])
    assert capsys.readouterr().out == "tests/test_eating.py > kgprobe/eating.py > kgprobe/register.py\n"


def test_changed_files_any_state_are_returned(repository: Path) -> None:
    (repository / "kgprobe/wood.py").write_text("x = 1\n")
    run_git(repository, "add", ".")
    (repository / "kgprobe/metal.py").write_text("x = 1\n")
    (repository / "new é.py").write_text("")
    assert changed_files(repository, "HEAD") == {"kgprobe/wood.py", "kgprobe/metal.py", "new é.py"}
    run_git(repository, "add", ".")
    run_git(repository, "commit", "-qm", "Change")
    assert changed_files(repository, "HEAD") == set()
    assert changed_files(repository, "HEAD~") == {"kgprobe/wood.py", "kgprobe/metal.py", "new é.py"}


def test_main_affected_test_returns_code_of_pytest(repository: Path) -> None:
    test = repository / "tests/test_none.py"
    test.write_text("def test_none():\n    assert False\n")
    assert main(["--", "-q", "-p", "no:cacheprovider"]) == 1
    assert main(["--", "-q", "-k", "nothing"]) == 0


@pytest.mark.parametrize("base", ["no-such", "--output=x"])
def test_main_unknown_base_returns_2(repository: Path, capsys: pytest.CaptureFixture[str], base: str) -> None:
    assert main([f"--base={base}"]) == 2
    assert capsys.readouterr().err == f"--base {base}: git knows no such commit.\n"
    assert not (repository / "x").exists()


def test_main_outside_git_returns_2(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    monkeypatch.chdir(tmp_path)
    assert main(["--list"]) == 2


@pytest.fixture(scope="module")
def tree() -> Tree:
    """The modules of this repository."""
    if not (ROOT / ".git").exists():
        pytest.skip("this is not a git checkout")
    return read_tree(ROOT, ())


def test_select_changed_probe_leaves_out_lower_tests(tree: Tree) -> None:
    selected = select(tree, ["kgprobe/probes/distractors/curves.py"])
    assert {"tests/probes/distractors/test_curves.py", "tests/probes/test_contract.py"} <= selected.keys()
    assert not {"tests/loaders/test_bear.py", "tests/beliefs/test_messages.py"} & selected.keys()


def test_select_all_product_files_returns_all_tests(tree: Tree) -> None:
    tests = {path for path in tree.sources if path.startswith("tests/") and "/test_" in path}
    product = [path for path in tree.sources if not path.startswith("tests/")]
    assert select(tree, product).keys() == tests
