"""Requests to other servers: what a URL returns, and the errors of wget and LWP."""

from __future__ import annotations

import re
from os import strerror
from socket import gaierror
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from talops.lab.proxmox.errors import failed
from talops.lab.proxmox.routing import route

if TYPE_CHECKING:
    import ssl

    from aiohttp import ClientResponse, ClientSession

    from talops.lab.proxmox.call import Call


def _session(call: Call) -> ClientSession:
    from aiohttp import ClientSession, TCPConnector

    verify = call.get("verify-certificates", 1)
    trust: ssl.SSLContext | bool = (call.pve.trust or True) if verify else False
    return ClientSession(connector=TCPConnector(ssl=trust), auto_decompress=False)


@route("GET", "/nodes/{node}/query-url-metadata")
async def query_url(call: Call) -> dict[str, Any]:
    from aiohttp import ClientConnectorCertificateError, ClientConnectorError, ClientError

    url = call.params["url"]
    try:
        async with _session(call) as session, session.head(url) as response:
            _need_ok(response)
            return {
                "filename": _filename(response),
                "mimetype": response.headers.get("Content-Type", "").split(";")[0],
                "size": int(response.headers.get("Content-Length", 0)),
            }
    except ClientConnectorCertificateError as error:
        raise failed(_no_answer(url, "certificate verify failed")) from error
    except ClientConnectorError as error:
        named = isinstance(error.os_error, gaierror)
        why = "Temporary failure in name resolution" if named else _os_text(error)
        raise failed(_no_answer(url, why)) from error
    except ClientError as error:
        raise failed(_no_answer(url, type(error).__name__)) from error


def _no_answer(url: str, why: str) -> str:
    place = urlsplit(url)
    port = place.port or (443 if place.scheme == "https" else 80)
    return f"invalid server response: '500 Can't connect to {place.hostname}:{port} ({why})'"


def _need_ok(response: ClientResponse) -> None:
    if response.status != 200:  # noqa: PLR2004
        raise failed(f"invalid server response: '{response.status} {response.reason}'")


def _filename(response: ClientResponse) -> str:
    disposition = response.headers.get("Content-Disposition", "")
    match = re.search(r'filename="?([^";]+)', disposition)
    return match[1] if match else unquote(urlsplit(str(response.url)).path.rsplit("/", 1)[-1])


async def get(call: Call, url: str) -> bytes:
    """Download the file, or fail with the error of wget."""
    from aiohttp import ClientConnectorCertificateError, ClientConnectorError, ClientError

    try:
        async with _session(call) as session, session.get(url) as response:
            if response.status != 200:  # noqa: PLR2004
                raise failed("download failed: exit code 8")
            return await response.read()
    except ClientConnectorCertificateError as error:
        raise failed("download failed: exit code 5") from error
    except ClientConnectorError as error:
        raise failed(f"download failed: {_unreachable(url, error)}") from error
    except ClientError as error:
        raise failed("download failed: exit code 4") from error


def _unreachable(url: str, error: OSError) -> str:
    place = urlsplit(url)
    port = place.port or (443 if place.scheme == "https" else 80)
    if isinstance(getattr(error, "os_error", None), gaierror):
        return f"wget: unable to resolve host address '{place.hostname}'"
    return f"Connecting to {place.hostname}:{port}... failed: {_os_text(error)}."


def _os_text(error: OSError) -> str:
    number = getattr(error, "errno", None)
    return strerror(number).capitalize() if number else "Connection refused"
