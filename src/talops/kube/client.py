"""The Kubernetes API over httpx; every failure is raised as a TalopsError."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Self

import httpx

from talops.answersize import PER_LINE, limits
from talops.errors import ConflictError, TalopsError, UnreachableError
from talops.kube import shapes
from talops.kube.answers import (
    NotFoundError,
    check,
    check_object,
    check_page,
    hint_for,
    unexpected,
)
from talops.kube.discovery import Discovery
from talops.kube.objects import Object, Ref
from talops.shapes import misfit, without_nulls

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from types import TracebackType

    from talops.kube.kubeconfig import Kubeconfig
    from talops.shapes import Shape

FIELD_MANAGER = "talops"
PAGE = 500
# A hundred times what a large cluster has; a server that never ends its list stops here.
MOST_OBJECTS = 200_000
_APPLY = "application/apply-patch+yaml"
_MERGE = "application/merge-patch+json"
_GONE = 410


class KubeClient:
    """One cluster. Use as `async with`; tests replace the network with a `transport`."""

    def __init__(
        self,
        config: Kubeconfig,
        *,
        timeout: float = 15.0,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        headers = {"Accept": "application/json", "User-Agent": "talops"}
        if config.token:
            headers["Authorization"] = f"Bearer {config.token.reveal()}"
        self.server = config.server
        extensions = {"sni_hostname": config.server_name} if config.server_name else {}
        self._extensions = extensions
        self._http = httpx.AsyncClient(
            base_url=config.server,
            headers=headers,
            timeout=timeout,
            verify=config.ssl_context() if transport is None else True,
            transport=transport,
            trust_env=False,
            event_hooks=limits(),
        )
        self._discovery = Discovery(self.get_json)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        await self._http.aclose()

    async def get(self, ref: Ref) -> Object | None:
        """None only if the API server itself says that the object does not exist."""
        path = await self._discovery.path_or_none(ref)
        if path is None:
            return None
        try:
            return check_object(await self._send("GET", path), str(ref))
        except NotFoundError:
            return None

    async def list_all(
        self,
        api_version: str,
        kind: str,
        *,
        namespace: str | None = None,
        labels: str | None = None,
        fields: str | None = None,
    ) -> list[Object]:
        """Every object of a kind, page by page."""
        path = await self._discovery.collection(api_version, kind, namespace)
        query = {"limit": str(PAGE), **_selectors(labels, fields)}
        items: list[Object] = []
        while True:
            page = check_page(await self._send("GET", path, params=query), kind)
            # Items of a list omit apiVersion and kind, which the list carries.
            items += [{**i, "apiVersion": api_version, "kind": kind} for i in page.get("items", [])]
            more = page.get("metadata", {}).get("continue")
            if not more:
                return items
            if more == query.get("continue"):
                raise unexpected("two pages have the same continue token", kind)
            if len(items) > MOST_OBJECTS:
                raise unexpected(f"its list has more than {MOST_OBJECTS} objects", kind)
            query["continue"] = more

    async def watch(
        self,
        api_version: str,
        kind: str,
        *,
        since: str,
        namespace: str | None = None,
        labels: str | None = None,
        fields: str | None = None,
        seconds: int = 300,
    ) -> AsyncIterator[tuple[str, Object]]:
        """ADDED, MODIFIED and DELETED after `since`, until the server ends the stream.

        ConflictError if `since` is too old: list again and watch from the new version.
        """
        path = await self._discovery.collection(api_version, kind, namespace)
        query = {"watch": "true", "resourceVersion": since, "timeoutSeconds": str(seconds)}
        query |= {"allowWatchBookmarks": "true", **_selectors(labels, fields)}
        timeout = httpx.Timeout(15.0, read=seconds + 15.0)
        endless = {**self._extensions, **PER_LINE}
        try:
            async with self._http.stream(
                "GET", path, params=query, timeout=timeout, extensions=endless
            ) as answer:
                if answer.is_error:
                    await answer.aread()
                    check(answer, kind)
                async for line in answer.aiter_lines():
                    event = _event(line, kind)
                    if event["type"] == "ERROR":
                        _raise_watch_error(event["object"], kind)
                    yield event["type"], event["object"]
        except httpx.HTTPError as error:
            raise self._no_answer(error) from error
        except (httpx.InvalidURL, UnicodeError) as error:
            raise _no_url(error, path) from error

    async def apply(
        self,
        obj: Object,
        *,
        manager: str = FIELD_MANAGER,
        force: bool = True,
        dry_run: bool = False,
    ) -> Object:
        """Server-side apply; applying the same object again does not change resourceVersion."""
        ref = Ref.of(obj)
        path = await self._discovery.path(ref)
        query = {"fieldManager": manager, "force": str(force).lower()}
        query |= {"dryRun": "All"} if dry_run else {}
        answer = await self._send("PATCH", path, params=query, body=obj, kind=_APPLY)
        return check_object(answer, str(ref))

    async def would_change(
        self, obj: Object, live: Object | None, *, manager: str = FIELD_MANAGER
    ) -> bool:
        """Whether `apply` would change `live`, by a server-side dry run."""
        if live is None:
            return True
        return _substance(await self.apply(obj, manager=manager, dry_run=True)) != _substance(live)

    async def merge(self, ref: Ref, changes: Object, *, subresource: str = "") -> Object:
        """A JSON merge patch, for single fields such as `spec.unschedulable`."""
        path = await self._discovery.path(ref, subresource)
        query = {"fieldManager": FIELD_MANAGER}
        answer = await self._send("PATCH", path, params=query, body=changes, kind=_MERGE)
        return check_object(answer, str(ref))

    async def create(self, ref: Ref, body: Object, *, subresource: str = "") -> Object:
        """POST to a subresource of an object, such as an eviction."""
        path = await self._discovery.path(ref, subresource)
        return check(await self._send("POST", path, body=body), str(ref))

    async def delete(self, ref: Ref, *, propagation: str = "Background") -> bool:
        """False if the object does not exist. Use `wait_gone` to wait until it is deleted."""
        path = await self._discovery.path_or_none(ref)
        if path is None:
            return False
        body = {"propagationPolicy": propagation}
        try:
            check(await self._send("DELETE", path, body=body), str(ref))
        except NotFoundError:
            return False
        return True

    async def version(self) -> str:
        return str((await self.get_json("/version", shapes.VERSION))["gitVersion"])

    async def failing_checks(self) -> list[str]:
        """The parts of the API server that are not ready; [] means healthy."""
        answer = await self._send("GET", "/readyz", params={"verbose": "true"})
        if answer.status_code in (httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN):
            check(answer, "/readyz")
        failing = [ln[3:].split(" ")[0] for ln in answer.text.splitlines() if ln.startswith("[-]")]
        return failing or ([] if answer.is_success else [f"HTTP {answer.status_code}"])

    async def is_namespaced(self, api_version: str, kind: str) -> bool:
        return await self._discovery.is_namespaced(api_version, kind)

    async def get_json(self, path: str, shape: Shape | None = None) -> Object:
        return check(await self._send("GET", path), path, shape)

    async def get_text(self, path: str) -> str:
        """What is not JSON, such as metrics."""
        answer = await self._send("GET", path)
        return answer.text if answer.is_success else str(check(answer, path))

    async def _send(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        body: Any = None,
        kind: str = "application/json",
    ) -> httpx.Response:
        content = None if body is None else json.dumps(body).encode()
        headers = {} if body is None else {"Content-Type": kind}
        try:
            return await self._http.request(
                method,
                path,
                params=params,
                content=content,
                headers=headers,
                extensions=self._extensions,
            )
        except httpx.HTTPError as error:
            raise self._no_answer(error) from error
        except (httpx.InvalidURL, UnicodeError) as error:
            raise _no_url(error, path) from error

    def _no_answer(self, error: httpx.HTTPError) -> UnreachableError:
        reason = str(error) or type(error).__name__
        return UnreachableError(
            f"the Kubernetes API does not answer: {reason}",
            where=self.server,
            hint=hint_for(reason),
        )


def _selectors(labels: str | None, fields: str | None) -> dict[str, str]:
    chosen = {"labelSelector": labels, "fieldSelector": fields}
    return {name: value for name, value in chosen.items() if value}


def _substance(obj: Object) -> Object:
    """The object without the fields that the server updates on every write."""
    meta = {
        key: value
        for key, value in obj["metadata"].items()
        if key not in {"managedFields", "resourceVersion", "generation"}
    }
    return {**obj, "metadata": meta}


def _no_url(error: Exception, path: str) -> TalopsError:
    """The API server itself named the kind or the object."""
    return unexpected(f"it named an object that has no URL: {error}", path)


def _event(line: str, kind: str) -> Object:
    try:
        event: Object = without_nulls(json.loads(line))
    except (ValueError, RecursionError):
        raise unexpected("a line of the watch is not JSON", kind) from None
    wrong = misfit(event, shapes.EVENT)
    if not wrong and event["type"] != "ERROR":
        wrong = shapes.wrong_object(event["object"], kind)
    if wrong:
        raise unexpected(wrong, kind)
    return event


def _raise_watch_error(status: Object, kind: str) -> None:
    if status.get("code") == _GONE:
        raise ConflictError(f"the watch of {kind} is out of date; list again")
    raise UnreachableError(f"the watch of {kind} ended: {status.get('message')}")
