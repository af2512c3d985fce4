"""REST v2.0, for TrueNAS before 25.04."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import httpx

from talops.answersize import limits
from talops.errors import TalopsError
from talops.truenas.access import silent, starting
from talops.truenas.refusals import Answer, key_refused, name_of, refusal

if TYPE_CHECKING:
    from talops.truenas.access import Access

Entry = dict[str, Any]

OK, UNAUTHORIZED, FORBIDDEN, UNPROCESSABLE, SERVER_ERROR = 200, 401, 403, 422, 500


class Rest:
    """Every request carries the key; only to this address and only with TLS."""

    dialect = "REST"

    def __init__(self, access: Access) -> None:
        self._base = f"{access.base}/api/v2.0/"
        self._http = httpx.AsyncClient(
            headers={"Authorization": f"Bearer {access.key.reveal()}", "User-Agent": "talops"},
            timeout=access.seconds,
            verify=access.trust(),
            trust_env=False,
            event_hooks=limits(),
        )

    async def close(self) -> None:
        await self._http.aclose()

    async def find(self, what: str, field: str = "", value: str = "") -> list[Entry]:
        # Request the dataset alone, without its children.
        asked = {field: value, "extra.retrieve_children": "false"} if field else {}
        found = await self._ask("GET", what, params=asked)
        if not isinstance(found, list):
            raise _stranger(self._base + what)
        return found

    async def create(self, what: str, body: Entry) -> Entry:
        return self._entry(what, await self._ask("POST", what, json=body))

    async def update(self, what: str, name: str, body: Entry) -> Entry:
        return self._entry(what, await self._ask("PUT", what, name, json=body))

    async def _ask(self, verb: str, what: str, name: str = "", **sent: Any) -> Any:
        path = what.replace(".", "/") + (f"/id/{quote(name, safe='')}" if name else "")
        where = self._base + path
        try:
            answer = await self._http.request(verb, where, **sent)
        except httpx.HTTPError as error:
            raise silent(_cause(error), where) from error
        if answer.status_code != OK:
            raise _refused(answer, where)
        try:
            return answer.json()
        except ValueError as error:
            raise _stranger(where) from error

    def _entry(self, what: str, found: Any) -> Entry:
        if not isinstance(found, dict):
            raise _stranger(self._base + what)
        return found


def _cause(error: httpx.HTTPError) -> Exception:
    return TimeoutError() if isinstance(error, httpx.TimeoutException) else error


def _stranger(where: str) -> TalopsError:
    return TalopsError(
        "not a TrueNAS: neither its JSON-RPC nor its REST API answers",
        where=where,
        hint="check truenas.url in cluster.yaml",
    )


def _refused(answer: httpx.Response, where: str) -> TalopsError:
    status = answer.status_code
    if status == UNAUTHORIZED:
        return key_refused(where)
    if status == FORBIDDEN:
        return refusal(Answer("EACCES", answer.text.strip() or "forbidden"), where)
    if status == UNPROCESSABLE:
        return refusal(_spoken(answer), where)
    if status > SERVER_ERROR:
        return starting(status, where)
    if status == SERVER_ERROR:
        return refusal(_spoken(answer), where)
    return _stranger(where)


def _spoken(answer: httpx.Response) -> Answer:
    """`{message, errno}`, or a list of these for each invalid field."""
    try:
        body = answer.json()
    except ValueError:
        body = {}
    if not isinstance(body, dict) or "message" in body:
        said = body if isinstance(body, dict) else {}
        return Answer(name_of(said.get("errno")), str(said.get("message", "no reason given")))
    rows = [
        (field, row)
        for field, found in body.items()
        if isinstance(found, list)
        for row in found
        if isinstance(row, dict)
    ]
    names = {name_of(row.get("errno")) for _, row in rows}
    fields = tuple((str(field), str(row.get("message"))) for field, row in rows)
    return Answer(names.pop() if len(names) == 1 else "EINVAL", "no reason given", fields)
