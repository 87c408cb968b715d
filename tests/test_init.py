"""The public names of the package."""

import subprocess
import sys

import kgprobe


def test_public_names_are_imported_at_first_use() -> None:
    program = "import sys, kgprobe; print(sorted(name for name in sys.modules if name.startswith('kgprobe')))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "kgprobe.api" not in done.stdout


def test_import_of_the_package_reads_no_source() -> None:
    program = "import sys; before = set(sys.modules); import kgprobe; print('ast' in set(sys.modules) - before)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_public_names_all_exist() -> None:
    assert {"measure", "open_graph", "KgprobeError"} < set(kgprobe.__all__)
    assert [name for name in kgprobe.__all__ if getattr(kgprobe, name, None) is None] == []
    assert set(kgprobe.__all__) < set(dir(kgprobe))


def test_name_that_is_not_public_is_no_attribute() -> None:
    assert not hasattr(kgprobe, "nonsense")
