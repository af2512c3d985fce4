"""Which variables of the user reach the programs that talops starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

# Names of further variables for OpenTofu and its providers, separated by commas; * at the end.
MORE = "TALOPS_ENGINE_ENV"
# Where sops finds age keys. Only sops gets a key, and from talops.
KEYS = frozenset(
    {"SOPS_AGE_KEY", "SOPS_AGE_KEY_FILE", "SOPS_AGE_KEY_CMD", "SOPS_AGE_SSH_PRIVATE_KEY_FILE"}
)

_NAMES = frozenset(
    {
        # Programs, files and language of the user.
        *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "LANGUAGE", "TZ"),
        *("TMPDIR", "TMP", "TEMP", "NIX_SSL_CERT_FILE"),
        # The provider uploads files with the agent's key (PROXMOX_VE_SSH_AGENT).
        *("SSH_AUTH_SOCK", "SSH_KNOWN_HOSTS"),
        # The network, spelt either way.
        *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY"),
        *("http_proxy", "https_proxy", "no_proxy", "all_proxy"),
        *("SSL_CERT_FILE", "SSL_CERT_DIR", "GODEBUG", "GOGC", "GOMEMLIMIT", "CHECKPOINT_DISABLE"),
    }
)
# OpenTofu, Terraform, the provider, and the backends that talops renders or users write.
_PREFIXES = ("TF_", "TOFU_", "OTEL_", "PROXMOX_VE_", "AWS_", "LC_", "XDG_", "PG")


def for_engine(environment: Mapping[str, str]) -> dict[str, str]:
    """What OpenTofu, Terraform and their providers need, and what the user names for them."""
    wanted = [name.strip() for name in environment.get(MORE, "").split(",") if name.strip()]
    names = _NAMES | {name for name in wanted if not name.endswith("*")}
    prefixes = (*_PREFIXES, *(name[:-1] for name in wanted if len(name) > 1 and name[-1] == "*"))
    return {
        name: value
        for name, value in environment.items()
        if (name in names or name.startswith(prefixes)) and name not in KEYS
    }


def without_keys(environment: Mapping[str, str]) -> dict[str, str]:
    """For compilers and installers, which use many variables, but no age key."""
    return {name: value for name, value in environment.items() if name not in KEYS}
