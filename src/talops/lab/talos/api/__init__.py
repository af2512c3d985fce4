"""The services of a node: one class per family of calls, names as on the wire in snake case."""

from __future__ import annotations

from talops.lab.talos.api.cluster import ClusterApi
from talops.lab.talos.api.config import ConfigApi
from talops.lab.talos.api.containers import ContainersApi, ImageListApi
from talops.lab.talos.api.cosi import CosiApi
from talops.lab.talos.api.credentials import CredentialsApi
from talops.lab.talos.api.etcd import EtcdApi
from talops.lab.talos.api.figures import FiguresApi
from talops.lab.talos.api.info import InfoApi
from talops.lab.talos.api.inspect import InspectApi
from talops.lab.talos.api.lifecycle import ImageApi, LifecycleApi
from talops.lab.talos.api.logs import LogsApi
from talops.lab.talos.api.power import PowerApi
from talops.lab.talos.api.storage import StorageApi
from talops.lab.talos.api.time import TimeApi

APIS = (
    ClusterApi,
    ConfigApi,
    ContainersApi,
    CosiApi,
    CredentialsApi,
    EtcdApi,
    FiguresApi,
    ImageApi,
    ImageListApi,
    InfoApi,
    InspectApi,
    LifecycleApi,
    LogsApi,
    PowerApi,
    StorageApi,
    TimeApi,
)
