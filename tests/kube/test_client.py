"""What the client makes of answers, with a server that is a function."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from talops.errors import (
    ConflictError,
    DeniedError,
    NotReadyError,
    TalopsError,
    UnreachableError,
    WaitTimeoutError,
)
from talops.kube.client import KubeClient
from talops.kube.drain import DrainOptions, drain, plan_drain
from talops.kube.kubeconfig import Kubeconfig
from talops.kube.objects import Ref
from talops.kube.waits import wait_gone, wait_ready

if TYPE_CHECKING:
    from talops.waiting import Waiting

Handler = Callable[[httpx.Request], httpx.Response]
CORE = {
    "resources": [
        {"name": "pods", "kind": "Pod", "namespaced": True},
        {"name": "pods/eviction", "kind": "Eviction", "namespaced": True},
        {"name": "nodes", "kind": "Node", "namespaced": False},
        {"name": "configmaps", "kind": "ConfigMap", "namespaced": True},
    ]
}
POD = Ref("v1", "Pod", "p", "n")


def client(handler: Handler) -> KubeClient:
    def routed(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/api/v1":
            return httpx.Response(200, json=CORE)
        if request.url.path == "/apis/example.org/v1":
            return httpx.Response(404, json={"message": "not found"})
        return handler(request)

    config = Kubeconfig("https://demo:6443", "demo")
    return KubeClient(config, transport=httpx.MockTransport(routed))


def status(code: int, message: str = "no", **details: Any) -> httpx.Response:
    return httpx.Response(code, json={"kind": "Status", "message": message, "details": details})


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (status(401), DeniedError),
        (status(403), DeniedError),
        (status(409), ConflictError),
        (status(422), TalopsError),
        (status(429), NotReadyError),
        (status(500), NotReadyError),
        (httpx.Response(503, text="etcd is away"), NotReadyError),
        (httpx.Response(200, text="<html>a proxy</html>"), NotReadyError),
    ],
)
async def test_every_refusal_is_an_error_of_its_kind(
    answer: httpx.Response, error: type[TalopsError]
) -> None:
    """Never None: the object may well be there."""
    async with client(lambda _: answer) as kube:
        with pytest.raises(error) as caught:
            await kube.get(POD)
    assert type(caught.value) is error


async def test_only_the_servers_404_means_absent() -> None:
    """Not found is None; a kind the cluster does not know has no objects either."""
    async with client(lambda _: status(404)) as kube:
        assert await kube.get(POD) is None
        assert await kube.get(Ref("example.org/v1", "Widget", "w")) is None
        assert await kube.delete(POD) is False


@pytest.mark.parametrize(
    ("failure", "hint"),
    [
        (httpx.ConnectError("connection refused"), None),
        (httpx.ReadTimeout(""), None),
        (httpx.ConnectError("[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed"), "fetch"),
        (httpx.ReadError("tlsv13 alert certificate required"), "rejected this client certificate"),
    ],
)
async def test_no_answer_is_unreachable(failure: httpx.HTTPError, hint: str | None) -> None:
    """With the server's address, and advice where the reason is a usual one."""

    def fail(request: httpx.Request) -> httpx.Response:
        raise failure

    async with client(fail) as kube:
        with pytest.raises(UnreachableError) as caught:
            await kube.get(POD)
    assert caught.value.where == "https://demo:6443"
    assert (hint in str(caught.value.hint)) if hint else caught.value.hint is None


async def test_lists_are_read_to_their_end() -> None:
    """Page by page, with kind and version on every item."""

    def pages(request: httpx.Request) -> httpx.Response:
        more = request.url.params.get("continue")
        name, meta = ("b", {}) if more else ("a", {"continue": "next"})
        items = [{"metadata": {"name": name}}]
        return httpx.Response(200, json={"metadata": meta, "items": items})

    async with client(pages) as kube:
        items = await kube.list_all("v1", "Node", labels="x=y")
    assert [(i["kind"], i["metadata"]["name"]) for i in items] == [("Node", "a"), ("Node", "b")]


async def test_a_watch_that_starts_too_far_back_says_so() -> None:
    """The caller lists again; other errors of a stream are not ignored either."""
    for code, error in ((410, ConflictError), (500, UnreachableError)):
        line = json.dumps({"type": "ERROR", "object": {"code": code, "message": "old"}})
        async with client(lambda _, line=line: httpx.Response(200, text=line + "\n")) as kube:  # type: ignore[misc]  # binds the loop's value
            with pytest.raises(error):
                [event async for event in kube.watch("v1", "Pod", since="1")]


@pytest.mark.parametrize(
    ("code", "text", "failing"),
    [
        (200, "[+]ping ok\nreadyz check passed", []),
        (500, "[+]ping ok\n[-]etcd failed: reason withheld", ["etcd"]),
        (502, "bad gateway", ["HTTP 502"]),
    ],
)
async def test_health_names_what_fails(code: int, text: str, failing: list[str]) -> None:
    """From the verbose form of /readyz."""
    async with client(lambda _: httpx.Response(code, text=text)) as kube:
        assert await kube.failing_checks() == failing


async def test_waits_carry_the_last_reason() -> None:
    """A restart of the API server in between is a reason like any other."""
    answers = iter(
        [
            status(503, "starting"),
            status(404),
            httpx.Response(200, json=pod("p", phase="Pending")),
            httpx.Response(200, json=pod("p", phase="Succeeded")),
        ]
    )
    reasons: list[str] = []

    def report(waiting: Waiting) -> None:
        reasons.append(waiting.reason)

    async with client(lambda _: next(answers)) as kube:
        await wait_ready(kube, POD, timeout=30, interval=0.001, report=report)
    assert [r.split(",")[0] for r in reasons] == [
        "Pod n/p: starting",
        "does not exist yet",
        "Pending",
    ]


async def test_a_wait_for_the_end_names_the_finalizer() -> None:
    """A new object of the same name counts as gone."""
    held = pod("p")
    held["metadata"]["finalizers"] = ["example.org/hold"]
    async with client(lambda _: httpx.Response(200, json=held)) as kube:
        with pytest.raises(WaitTimeoutError, match=r"finalizers: example\.org/hold"):
            await wait_gone(kube, POD, timeout=0.01, interval=0.005)
        await wait_gone(kube, POD, timeout=1, uid="another")


def pod(
    name: str, phase: str = "Running", owner: str = "ReplicaSet", **spec: Any
) -> dict[str, Any]:
    owners = [{"kind": owner, "name": "o", "controller": True}] if owner else []
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "n", "uid": f"u-{name}", "ownerReferences": owners},
        "spec": spec,
        "status": {"phase": phase},
    }


def static(name: str) -> dict[str, Any]:
    made = pod(name, owner="Node")
    made["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "x"}
    return made


@pytest.mark.parametrize(
    ("thing", "options", "fate"),
    [
        (pod("p"), DrainOptions(), "evict"),
        (pod("p", owner="DaemonSet"), DrainOptions(), "stay"),
        (static("p"), DrainOptions(), "stay"),
        (pod("p", phase="Succeeded", owner=""), DrainOptions(), "stay"),
        (pod("p", owner=""), DrainOptions(), "refused"),
        (pod("p", owner=""), DrainOptions(delete_unmanaged=True), "evict"),
        (pod("p", volumes=[{"emptyDir": {}}]), DrainOptions(), "evict"),
        (pod("p", volumes=[{"emptyDir": {}}]), DrainOptions(delete_local_data=False), "refused"),
    ],
)
def test_the_fate_of_a_pod(thing: dict[str, Any], options: DrainOptions, fate: str) -> None:
    """Pod and options in; evicted, left alone or refused out."""
    plan = plan_drain([thing], options)
    fates = {"evict": plan.evict, "stay": plan.stay, "refused": plan.refused}
    assert [name for name, things in fates.items() if things] == [fate]


async def test_a_drain_waits_for_the_budget() -> None:
    """429 is repeated with the budget's words as the reason until the eviction is let through."""
    tries, gone, reasons = 0, False, list[str]()

    def serve(request: httpx.Request) -> httpx.Response:
        nonlocal tries, gone
        if request.method == "PATCH":
            node = {"kind": "Node", "metadata": {"name": "node1"}}
            return httpx.Response(200, json=node)
        if request.method == "POST":
            tries += 1
            gone = tries > 2
            cause = {"message": "budget web needs 2 healthy pods and has 2"}
            return httpx.Response(201, json={}) if gone else status(429, "later", causes=[cause])
        if request.url.path.endswith("/pods"):
            return httpx.Response(200, json={"metadata": {}, "items": [pod("p")]})
        return status(404) if gone else httpx.Response(200, json=pod("p"))

    def report(waiting: Waiting) -> None:
        reasons.append(waiting.reason)

    async with client(serve) as kube:
        await drain(kube, "node1", DrainOptions(interval=0.001), report)
    assert tries == 3
    assert reasons == ["later budget web needs 2 healthy pods and has 2"] * 2


async def test_a_drain_names_every_pod_that_stays() -> None:
    """It ends after one time limit for all of them, and no eviction goes on in the background."""
    tries = 0

    def serve(request: httpx.Request) -> httpx.Response:
        nonlocal tries
        if request.method == "POST":
            tries += 1
            return status(429, "no") if "/p/" in request.url.path else httpx.Response(201, json={})
        if request.url.path.endswith("/pods"):
            items = [pod("p"), pod("q")]
            return httpx.Response(200, json={"metadata": {}, "items": items})
        if request.method == "GET":
            return httpx.Response(200, json=pod("q"))
        return httpx.Response(200, json={"kind": "Node", "metadata": {"name": "node1"}})

    async with client(serve) as kube:
        with pytest.raises(WaitTimeoutError) as refused:
            await drain(kube, "node1", DrainOptions(timeout=0.05, interval=0.01))
        after = tries
        assert "eviction of Pod n/p; last reason: no" in refused.value.what
        assert "deletion of Pod n/q; last reason: still exists" in refused.value.what
        assert refused.value.where == "node node1"
    assert tries == after


async def test_a_refused_drain_touches_nothing() -> None:
    """A pod without a controller stops the drain before the node is cordoned."""
    methods: list[str] = []

    def serve(request: httpx.Request) -> httpx.Response:
        methods.append(request.method)
        return httpx.Response(200, json={"metadata": {}, "items": [pod("p", owner="")]})

    async with client(serve) as kube:
        with pytest.raises(ConflictError, match="n/p has no controller"):
            await drain(kube, "node1")
    assert methods == ["GET"]


async def test_pages_without_an_end() -> None:
    """A server that returns the same token again is not asked for ever."""
    page = {"metadata": {"continue": "again"}, "items": []}
    async with client(lambda _: httpx.Response(200, json=page)) as kube:
        with pytest.raises(TalopsError, match="same continue token"):
            await kube.list_all("v1", "Pod")


@pytest.mark.parametrize(
    ("answer", "wrong"),
    [
        ({"kind": "Pod"}, "metadata is missing"),
        ({"kind": "Pod", "metadata": {"name": 1}}, "metadata.name is not text"),
        ({"kind": "Pod", "metadata": {"name": "p", "namespace": "n"}}, "metadata.uid is missing"),
        ({"metadata": {"name": "p"}}, "kind is missing"),
    ],
)
async def test_objects_of_another_shape(answer: object, wrong: str) -> None:
    """The error says what is missing, and of which object."""
    async with client(lambda _: httpx.Response(200, json=answer)) as kube:
        with pytest.raises(TalopsError, match="not a Kubernetes API") as caught:
            await kube.get(POD)
    assert wrong in caught.value.what
    assert caught.value.where == "Pod n/p"
