"""Write every Secret again, so that etcd has it encrypted with the key in use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.errors import ConflictError
from talops.kube.answers import NotFoundError
from talops.kube.objects import Ref

if TYPE_CHECKING:
    from talops.kube.client import KubeClient

_TRIES = 5


async def rewrite(kube: KubeClient) -> int:
    """How many. An empty change is enough: the API server stores an object that another key than
    the first one has encrypted again. Those that are deleted meanwhile are not counted.
    """
    done = 0
    for secret in await kube.list_all("v1", "Secret"):
        meta = secret["metadata"]
        done += await _again(kube, Ref("v1", "Secret", meta["name"], meta["namespace"]))
    return done


async def _again(kube: KubeClient, ref: Ref) -> bool:
    for _ in range(_TRIES):
        try:
            await kube.merge(ref, {})
        except NotFoundError:
            return False
        except ConflictError:
            continue
        return True
    raise ConflictError(f"{ref} changes all the time", hint="run the same command again")
