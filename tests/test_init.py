"""The public names of the package."""

import subprocess
import sys

import kgprobe


def test_import_reads_no_source_and_no_public_name() -> None:
    program = "import sys; before = set(sys.modules); import kgprobe; print(*set(sys.modules) - before)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "kgprobe" in loaded
    assert not loaded & {"ast", "kgprobe.api"}


def test_public_names_all_exist() -> None:
    assert {"measure", "open_graph", "KgprobeError"} < set(kgprobe.__all__)
    assert [name for name in kgprobe.__all__ if getattr(kgprobe, name, None) is None] == []
    assert set(kgprobe.__all__) < set(dir(kgprobe))


def test_name_that_is_not_public_is_no_attribute() -> None:
    assert not hasattr(kgprobe, "nonsense")
