"""The provider service: every call of OpenTofu, answered by the resource it is about."""

from __future__ import annotations

import json
import traceback
from typing import TYPE_CHECKING, Any

from talops.errors import TalopsError
from talops.lab.provider import schema
from talops.lab.provider.configuration import PROVIDER, check, endpoint
from talops.lab.provider.identifiers import Ids
from talops.lab.provider.kinds import Call, FailedError
from talops.lab.provider.planning import Plan, plan_legacy, plan_modern
from talops.lab.provider.registry import DATA_SOURCES, RESOURCES
from talops.lab.provider.validation import problems
from talops.lab.provider.values import UNKNOWN, Values, pack, settled, unpack
from talops.lab.provider.wire import messages as m

if TYPE_CHECKING:
    from collections.abc import Mapping

    from talops.lab.provider.api import Api
    from talops.lab.provider.planning import Path
    from talops.lab.provider.schema import Block

Reply = dict[str, Any]
_ERROR, _WARNING = 1, 2

# Method of the service → method of the class below, what is asked, what is answered.
METHODS = {
    "GetMetadata": ("metadata", m.EMPTY, m.METADATA),
    "GetProviderSchema": ("schemas", m.EMPTY, m.PROVIDER_SCHEMA),
    "GetResourceIdentitySchemas": ("nothing", m.EMPTY, m.EMPTY),
    "GetFunctions": ("nothing", m.EMPTY, m.EMPTY),
    "ValidateProviderConfig": ("check_provider", m.PROVIDER_CONFIG, m.PROVIDER_CONFIG_CHECKED),
    "ValidateResourceConfig": ("check_resource", m.TYPED_CONFIG, m.CHECKED),
    "ValidateDataResourceConfig": ("check_data", m.TYPED_CONFIG, m.CHECKED),
    "ConfigureProvider": ("configure", m.CONFIGURE, m.CHECKED),
    "UpgradeResourceState": ("upgrade", m.UPGRADE, m.UPGRADED),
    "ReadResource": ("read", m.READ, m.HAS_READ),
    "PlanResourceChange": ("plan", m.PLAN, m.PLANNED),
    "ApplyResourceChange": ("apply", m.APPLY, m.APPLIED),
    "ImportResourceState": ("adopt", m.IMPORT, m.IMPORTED),
    "ReadDataSource": ("read_data", m.TYPED_CONFIG, m.HAS_READ_DATA),
    "StopProvider": ("nothing", m.EMPTY, m.STOPPED),
}


class Service:
    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._api: Api | None = None
        self._ids = Ids()

    def close(self) -> None:
        if self._api is not None:
            self._api.close()

    async def nothing(self, _: Reply) -> Reply:
        return {}

    async def metadata(self, _: Reply) -> Reply:
        return {
            "server_capabilities": _CAPABILITIES,
            "data_sources": [{"type_name": name} for name in DATA_SOURCES],
            "resources": [{"type_name": name} for name in RESOURCES],
        }

    async def schemas(self, _: Reply) -> Reply:
        return {
            "provider": schema.to_wire(PROVIDER),
            "resource_schemas": {k: schema.to_wire(v.block) for k, v in RESOURCES.items()},
            "data_source_schemas": {k: schema.to_wire(v.block) for k, v in DATA_SOURCES.items()},
            "server_capabilities": _CAPABILITIES,
        }

    async def check_provider(self, request: Reply) -> Reply:
        found = check(_values(PROVIDER, request["config"]) or {})
        return {"diagnostics": [_diagnostic(_ERROR, text) for text in found]}

    async def check_resource(self, request: Reply) -> Reply:
        resource = RESOURCES[request["type_name"]]
        config = _values(resource.block, request["config"]) or {}
        found = problems(resource.block, config) + resource.validate(config)
        return {"diagnostics": [_diagnostic(_ERROR, text) for text in found]}

    async def check_data(self, request: Reply) -> Reply:
        source = DATA_SOURCES[request["type_name"]]
        found = problems(source.block, _values(source.block, request["config"]) or {})
        return {"diagnostics": [_diagnostic(_ERROR, text) for text in found]}

    async def configure(self, request: Reply) -> Reply:
        from talops.lab.provider.api import Api

        try:
            config = settled(_values(PROVIDER, request["config"]) or {})
            self.close()
            self._api = Api(endpoint(config, self._environment))
        except TalopsError as error:
            return {"diagnostics": [_failure(error)]}
        return {}

    async def upgrade(self, request: Reply) -> Reply:
        """There is one version of every schema: a state of the real provider fits as it is."""
        block = RESOURCES[request["type_name"]].block
        state = json.loads(request["raw_state"]["json"])
        return {"upgraded_state": _dynamic(block, state)}

    async def read(self, request: Reply) -> Reply:
        resource, call = RESOURCES[request["type_name"]], self._call(request["private"])
        state = _values(resource.block, request["current_state"])
        try:
            new = await resource.read(call, state) if state is not None else None
        except Exception as error:  # noqa: BLE001  (shown by OpenTofu; the plugin must not die)
            return {
                "new_state": _dynamic(resource.block, state),
                "diagnostics": _said(call, error),
                "private": request["private"],
            }
        return {
            "new_state": _dynamic(resource.block, new),
            "diagnostics": _said(call),
            "private": json.dumps(call.private).encode(),
        }

    async def plan(self, request: Reply) -> Reply:
        resource = RESOURCES[request["type_name"]]
        prior = _values(resource.block, request["prior_state"])
        config = _values(resource.block, request["config"])
        if config is None or _values(resource.block, request["proposed_new_state"]) is None:
            return {"planned_state": request["proposed_new_state"]}
        make = plan_legacy if resource.legacy else plan_modern
        plan: Plan = make(resource.block, prior, config)
        plan.private = json.loads(request["prior_private"] or b"{}")
        try:
            resource.adjust(plan, prior, config)
        except TalopsError as error:
            return {"diagnostics": [_failure(error)]}
        return {
            "planned_state": _dynamic(resource.block, plan.planned),
            "requires_replace": [_path(path) for path in plan.replace],
            "planned_private": request["prior_private"],
            "diagnostics": [_diagnostic(_WARNING, w.summary, w.detail) for w in plan.warnings],
            "legacy_type_system": resource.legacy,
        }

    async def apply(self, request: Reply) -> Reply:
        resource, call = RESOURCES[request["type_name"]], self._call()
        prior = _values(resource.block, request["prior_state"])
        planned = _values(resource.block, request["planned_state"])
        left: Values | None = None
        error: Exception | None = None
        try:
            if planned is None:
                await resource.delete(call, prior or {})
            elif prior is None:
                left = await resource.create(call, settled(planned))
            else:
                left = await resource.update(call, prior, settled(planned))
        except Exception as failure:  # noqa: BLE001  (as in read)
            error, left = failure, call.saved if prior is None else prior
        return {
            "new_state": _dynamic(resource.block, left),
            "private": request["planned_private"],
            "diagnostics": _said(call, error),
            "legacy_type_system": resource.legacy,
        }

    async def adopt(self, request: Reply) -> Reply:
        resource, call = RESOURCES[request["type_name"]], self._call()
        try:
            state = await resource.adopt(call, request["id"])
        except Exception as error:  # noqa: BLE001  (as in read)
            return {"diagnostics": _said(call, error)}
        found = {"type_name": resource.name, "state": _dynamic(resource.block, state)}
        return {"imported_resources": [found], "diagnostics": _said(call)}

    async def read_data(self, request: Reply) -> Reply:
        source, call = DATA_SOURCES[request["type_name"]], self._call()
        config = settled(_values(source.block, request["config"]) or {})
        try:
            state = {**config, **await source.read(call, config)}
        except Exception as error:  # noqa: BLE001  (as in read)
            return {"diagnostics": _said(call, error)}
        return {"state": _dynamic(source.block, state), "diagnostics": _said(call)}

    def _call(self, private: bytes = b"") -> Call:
        if self._api is None:
            raise RuntimeError("OpenTofu configures a provider before it uses it")
        return Call(self._api, self._ids, private=json.loads(private or b"{}"))


_CAPABILITIES = {"plan_destroy": False, "get_provider_schema_optional": True}


def _values(block: Block, dynamic: Reply | None) -> Values | None:
    if dynamic is None:
        return None
    raw = dynamic["msgpack"]
    value = unpack(raw) if raw else json.loads(dynamic["json"] or b"null")
    return None if value is None or value is UNKNOWN else schema.conform(block, value)


def _dynamic(block: Block, values: Values | None) -> Reply:
    return {"msgpack": pack(None if values is None else schema.conform(block, values))}


def _path(path: Path) -> Reply:
    return {
        "steps": [
            {"attribute_name": step} if isinstance(step, str) else {"element_key_int": step}
            for step in path
        ]
    }


def _said(call: Call, error: Exception | None = None) -> list[Reply]:
    out = [_diagnostic(_WARNING, remark.summary, remark.detail) for remark in call.warnings]
    return [*out, _failure(error)] if error is not None else out


def _failure(error: Exception) -> Reply:
    if isinstance(error, FailedError):
        return _diagnostic(_ERROR, error.what, error.detail)
    if isinstance(error, TalopsError):
        return _diagnostic(_ERROR, error.what, error.where or "")
    detail = "".join(traceback.format_exception(error))
    return _diagnostic(_ERROR, f"a bug in the lab's stand-in provider: {error!r}", detail)


def _diagnostic(severity: int, summary: str, detail: str = "") -> Reply:
    return {"severity": severity, "summary": summary, "detail": detail}
