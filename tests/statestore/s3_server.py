"""An S3 server on loopback, honest or lying about conditional writes."""

from __future__ import annotations

import contextlib
import logging
import threading
import urllib.request
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import ssl
    from collections.abc import Iterator

    from talops.lab.pki import Authority


@dataclass(frozen=True)
class S3Server:
    endpoint: str
    trusted: ssl.SSLContext | None = None

    def new_bucket(self) -> str:
        name = f"states-{uuid.uuid4().hex}"
        request = urllib.request.Request(f"{self.endpoint}/{name}", method="PUT")
        with urllib.request.urlopen(request, timeout=30, context=self.trusted):
            return name

    @property
    def options(self) -> dict[str, str]:
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_REGION": "us-east-1",
        }


@contextlib.contextmanager
def s3(*, lying: bool = False, authority: Authority | None = None) -> Iterator[S3Server]:
    """With an authority it uses TLS only, with a certificate that no other CA signed."""
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import make_server

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    application = _Conditions(DomainDispatcherApplication(create_backend_app), lying=lying)
    context = authority.server_context("s3", ["127.0.0.1"]) if authority else None
    server = make_server("127.0.0.1", 0, application, threaded=True, ssl_context=context)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        scheme = "https" if authority else "http"
        trusted = authority.client_context() if authority else None
        yield S3Server(f"{scheme}://127.0.0.1:{server.server_port}", trusted)
    finally:
        server.shutdown()
        thread.join(30)
        server.server_close()


class _Conditions:
    """One writer at a time, as a real store has it; a lying store drops the conditions."""

    def __init__(self, application: Any, *, lying: bool) -> None:
        self._application = application
        self._lying = lying
        self._turn = threading.Lock()

    def __call__(self, environ: dict[str, Any], start_response: Any) -> list[bytes]:
        if self._lying:
            environ.pop("HTTP_IF_MATCH", None)
            environ.pop("HTTP_IF_NONE_MATCH", None)
        environ.setdefault("HTTP_HOST", "s3.amazonaws.com")
        if environ["REQUEST_METHOD"] not in {"PUT", "POST", "DELETE"}:
            return list(self._application(environ, start_response))
        with self._turn:
            return list(self._application(environ, start_response))
