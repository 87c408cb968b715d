"""What programs that kgprobe starts get of the environment."""

from pathlib import Path

import pytest

from kgprobe.graph.servers.processes import java_environment, maven_environment


def test_programs_get_what_they_need(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    secrets = (
        "OPENAI_API_KEY",
        "KGPROBE_API_KEY",
        "KGPROBE_API_KEY_HOST",
        "HF_TOKEN",
        "AWS_SECRET_ACCESS_KEY",
        "OF_MIRROR",
    )
    needed = ("PATH", "HOME", "JAVA_HOME", "LC_ALL", "TMPDIR")
    for name in (*secrets, "HTTPS_PROXY", "JAVA_HOME", "LC_ALL", "TMPDIR"):
        monkeypatch.setenv(name, "x")
    java, maven = java_environment(), maven_environment()
    assert not (java.keys() | maven.keys()) & set(secrets)
    assert java.keys() & maven.keys() >= set(needed)
    # An address of a proxy may hold a password; who talks to nobody needs none.
    assert ("HTTPS_PROXY" in java, "HTTPS_PROXY" in maven) == (False, True)
    (tmp_path / ".m2").mkdir()
    (tmp_path / ".m2" / "settings.xml").write_text("<password>${env.OF_MIRROR}</password>")
    assert maven_environment()["OF_MIRROR"] == "x"
    assert "OF_MIRROR" not in java_environment()
