"""Environment variables for the programs that kgprobe starts: an explicit list of necessary ones.

Other users may be able to read the environment of a process, and crash reports contain it. It may hold secret keys of
any kind. Therefore only listed variables are passed on.
"""

import os
import re
from collections.abc import Iterable
from pathlib import Path

# Paths of programs and libraries, the user, folders of temporary files, language and time zone.
_COMMON = (
    *("PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TMP", "TEMP", "LD_LIBRARY_PATH"),
    *("SYSTEMROOT", "USERPROFILE"),
)
# Path and options of Java.
_JAVA = ("JAVA_HOME", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS")
# Maven accesses the network.
_MAVEN = ("M2_HOME", "MAVEN_HOME", "MAVEN_OPTS", "MAVEN_ARGS", "MAVEN_CONFIG", "MAVEN_USER_HOME")
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy")

_SETTINGS_VARIABLE = re.compile(r"\$\{env\.([^}]+)\}")


def java_environment() -> dict[str, str]:
    """Return the environment of a Java program that only kgprobe connects to."""
    return _variables((*_COMMON, *_JAVA))


def maven_environment() -> dict[str, str]:
    """Return Maven's environment: proxies, its own variables, and those that the user's settings refer to."""
    try:
        settings = (Path.home() / ".m2" / "settings.xml").read_text(encoding="utf-8", errors="replace")
    except (OSError, RuntimeError):
        settings = ""
    return _variables((*_COMMON, *_JAVA, *_MAVEN, *_PROXIES, *_SETTINGS_VARIABLE.findall(settings)))


def _variables(names: Iterable[str]) -> dict[str, str]:
    locale = [name for name in os.environ if name.startswith("LC_")]
    return {name: os.environ[name] for name in (*names, *locale) if name in os.environ}
