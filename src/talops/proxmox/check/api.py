"""Whether the API answers, in a supported version, with a trusted certificate."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING

from talops.problems import Severity
from talops.proxmox.check.problem import problem
from talops.proxmox.facts import Unread

if TYPE_CHECKING:
    from collections.abc import Iterator

    from talops.proxmox.certificate import Certificate
    from talops.proxmox.check.problem import HostProblem
    from talops.proxmox.facts import Facts

OLDEST = (8, 4)  # the first that downloads disk images for import
SOON = timedelta(days=21)
CA = "copy /etc/pve/pve-root-ca.pem from the host and set proxmox_ca_file in cluster.yaml"


def api(facts: Facts) -> Iterator[HostProblem]:
    if isinstance(facts.version, Unread):
        hint = facts.version.hint or "check proxmox_api_url"
        yield problem("api", facts.version.reason, hint, facts.endpoint)
    else:
        yield from _version(facts.version, facts.endpoint)
    if isinstance(facts.certificate, Unread):
        if not isinstance(facts.version, Unread):
            hint = facts.certificate.hint or "check proxmox_api_url"
            yield problem("certificate", facts.certificate.reason, hint, facts.endpoint)
        return
    yield from _expiry(facts.certificate, facts)
    yield from _trust(facts.certificate, facts)


def _version(text: str, where: str) -> Iterator[HostProblem]:
    numbers = tuple(int(part) for part in re.findall(r"[0-9]{1,9}", text)[:2])
    if numbers < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        yield problem(
            "version",
            f"this is Proxmox VE {text}, and talops needs {oldest} or newer",
            "upgrade the host (apt full-upgrade, see its upgrade notes)",
            where,
        )


def _expiry(shown: Certificate, facts: Facts) -> Iterator[HostProblem]:
    renew = "renew it on the host: pvecm updatecerts --force && systemctl restart pveproxy"
    if shown.expires <= facts.now:
        yield problem(
            "certificate",
            f"the certificate expired on {shown.expires:%Y-%m-%d}",
            renew,
            facts.endpoint,
        )
    elif shown.expires - facts.now < SOON:
        yield problem(
            "certificate",
            f"the certificate expires on {shown.expires:%Y-%m-%d}",
            renew,
            facts.endpoint,
            Severity.WARNING,
        )


def _trust(shown: Certificate, facts: Facts) -> Iterator[HostProblem]:
    if shown.problem is None or shown.expires <= facts.now:
        return
    if facts.insecure:
        yield problem(
            "certificate",
            f"any certificate is accepted (proxmox_insecure); this one: {shown.problem}",
            f"{CA}, and remove proxmox_insecure",
            facts.endpoint,
            Severity.WARNING,
        )
    elif re.search("mismatch|not valid for", shown.problem):
        names = ", ".join(shown.names) or shown.subject
        yield problem(
            "certificate",
            f"the certificate is for {names}, not for the name in proxmox_api_url",
            "use one of these names in proxmox_api_url",
            facts.endpoint,
        )
    else:
        yield problem(
            "certificate",
            f"the certificate is not trusted ({shown.problem}); issued by {shown.issuer}",
            CA,
            facts.endpoint,
        )
