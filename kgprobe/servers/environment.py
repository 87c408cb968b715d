"""What programs that kgprobe starts get of this process's environment: what they need, and nothing else.

An environment can be read by whoever may look at a process, lands in crash reports, and holds keys of whatever the user
works with; which, nobody can list. So it is the other way round: what is needed is listed.
"""

import os
import re
from collections.abc import Iterable
from pathlib import Path

# Where programs and libraries are, whose files they write where, in which language and time they speak.
_EVERYBODY = (
    *("PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TMP", "TEMP", "LD_LIBRARY_PATH"),
    *("SYSTEMROOT", "USERPROFILE"),
)
# Where Java is, and options that its machine takes.
_JAVA = ("JAVA_HOME", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS")
# Maven goes out to the network.
_MAVEN = ("M2_HOME", "MAVEN_HOME", "MAVEN_OPTS", "MAVEN_ARGS", "MAVEN_CONFIG", "MAVEN_USER_HOME")
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy")

_NAMED_IN_SETTINGS = re.compile(r"\$\{env\.([^}]+)\}")


def java_environment() -> dict[str, str]:
    """For a Java program that talks to nobody but us."""
    return _of((*_EVERYBODY, *_JAVA))


def maven_environment() -> dict[str, str]:
    """For Maven: proxies, its own variables, and those that the user's settings name, as for a mirror's password."""
    try:
        settings = (Path.home() / ".m2" / "settings.xml").read_text(encoding="utf-8", errors="replace")
    except (OSError, RuntimeError):
        settings = ""
    return _of((*_EVERYBODY, *_JAVA, *_MAVEN, *_PROXIES, *_NAMED_IN_SETTINGS.findall(settings)))


def _of(names: Iterable[str]) -> dict[str, str]:
    locale = [name for name in os.environ if name.startswith("LC_")]
    return {name: os.environ[name] for name in (*names, *locale) if name in os.environ}
