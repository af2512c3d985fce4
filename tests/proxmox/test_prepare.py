"""`host prepare` on the lab: enough, no more than that, and the same when repeated."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from tests.proxmox.conftest import plan as wanted_plan
from tests.proxmox.conftest import vm
from tests.proxmox.provider_calls import life_of_a_vm

from talops.errors import ConflictError, DeniedError, TalopsError
from talops.proxmox.check import look, problems
from talops.proxmox.client import Client, Token
from talops.proxmox.prepare import PrepareOptions, do, nothing, plan
from talops.proxmox.prepare import look as survey
from talops.proxmox.rights import needs

if TYPE_CHECKING:
    from tests.proxmox.conftest import Lab

    from talops.proxmox.check.problem import HostProblem
    from talops.proxmox.needs import Need
    from talops.proxmox.wanted import Wanted
    from talops.redaction import Secret

EMPTY = "376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba"
P = wanted_plan()


def image(lab: Lab) -> str:
    return f"{lab.image_url}/{EMPTY}/v1.13.9/nocloud-amd64.iso"


async def prepared(client: Client, asked: PrepareOptions) -> Secret | None:
    value = None
    for step in plan(asked, await survey(client, asked)):
        value = await do(client, step) or value
    return value


async def checked(lab: Lab, token: Token, wanted: Wanted = P) -> list[HostProblem]:
    return problems(wanted, await look(lab.access(token), wanted))


async def test_the_token_can_do_all_that_a_plan_does(lab: Lab, root: Client) -> None:
    """From the download to the removal, and the check has nothing to say."""
    value = await prepared(root, PrepareOptions(P))
    assert value
    given = Token("talops@pve!talops", value)
    assert await checked(lab, given) == []
    async with Client(lab.access(given)) as client:
        await life_of_a_vm(client, image(lab))


async def test_a_second_time_nothing_is_left_to_do(lab: Lab, root: Client) -> None:
    """With the value of the token."""
    await prepared(root, PrepareOptions(P))
    again = PrepareOptions(P, kept_token=True)
    assert plan(again, await survey(root, again)) == []


async def test_a_bigger_plan_adds_what_it_needs_and_keeps_the_rest(lab: Lab, root: Client) -> None:
    """Two clusters may share one account."""
    value = await prepared(root, PrepareOptions(P))
    assert value
    bigger = replace(P, clones=True, guest_agent=True)
    await prepared(root, PrepareOptions(bigger, kept_token=True))
    given = Token("talops@pve!talops", value)
    assert await checked(lab, given, bigger) == []
    assert await checked(lab, given) == []


async def test_a_token_whose_value_is_lost_is_not_replaced_unasked(lab: Lab, root: Client) -> None:
    """Something may still use it; --new-token says that nothing does."""
    first = await prepared(root, PrepareOptions(P))
    with pytest.raises(ConflictError, match="its value is unknown"):
        await prepared(root, PrepareOptions(P))
    second = await prepared(root, PrepareOptions(P, new_token=True))
    assert first
    assert second
    assert [f.rule for f in await checked(lab, Token("talops@pve!talops", first))] == ["api"]
    assert await checked(lab, Token("talops@pve!talops", second)) == []


REQUIRED = [need for need in needs(P) if need.required]


def all_but(lab: Lab, left_out: Need) -> Token:
    kept: dict[str, list[str]] = {}
    for need in needs(P):
        if need != left_out:
            kept.setdefault(need.path, []).append(need.privilege)
    return lab.token(*((path, " ".join(held), int(path == "/vms")) for path, held in kept.items()))


@pytest.mark.parametrize("need", REQUIRED, ids=lambda n: f"{n.path} {n.privilege}")
async def test_no_privilege_is_asked_for_in_vain(lab: Lab, need: Need) -> None:
    """Without any single one of them the plan fails, and the check has said so before."""
    token = all_but(lab, need)
    found = [each for each in await checked(lab, token) if each.rule == "privilege"]
    assert [(each.where, str(each.severity)) for each in found] == [(need.path, "error")]
    assert f"{need.privilege} (" in found[0].what
    async with Client(lab.access(token)) as client:
        with pytest.raises(DeniedError):
            await life_of_a_vm(client, image(lab))


@pytest.mark.parametrize("privsep", [0, 1])
async def test_typing_the_fixes_mends_everything(lab: Lab, root: Client, privsep: int) -> None:
    """Also for a token with rights of its own, which its user must have as well."""
    token = lab.token()
    lab.pve.tokens.put(token.id, {**lab.pve.tokens[token.id], "privsep": privsep})
    lab.pve.rights.changed()
    first = await checked(lab, token)
    assert first[0].rule == "no-privileges"
    for line in first[0].hint.splitlines()[1:]:
        await typed(root, line)
    assert await checked(lab, token) == []


async def test_a_fix_takes_no_right_away(lab: Lab, root: Client) -> None:
    """An entry on a path hides what was inherited there: the lines grant that as well."""
    everywhere = {need.privilege for need in needs(P)} - {"Datastore.AllocateTemplate"}
    token = lab.token(("/", " ".join(sorted(everywhere)), 1))
    images = (replace(P.images[0], storage="local-lvm"),)
    lab.pve.storages.config.put(
        "local-lvm", {**lab.pve.storages.config["local-lvm"], "content": "images,iso"}
    )
    wanted = replace(P, images=images)
    (finding,) = await checked(lab, token, wanted)
    assert finding.where == "/storage/local-lvm"
    for line in finding.hint.splitlines():
        await typed(root, line)
    assert await checked(lab, token, wanted) == []


async def test_the_printed_lines_are_the_whole_preparation(lab: Lab, root: Client) -> None:
    """--print, typed on the host, leaves nothing for prepare to do."""
    for step in plan(PrepareOptions(P), nothing()):
        await typed(root, step.line)
    again = PrepareOptions(P, kept_token=True)
    assert plan(again, await survey(root, again)) == []


async def test_storages_and_mappings_are_made_fit(lab: Lab, root: Client) -> None:
    """`iso` is added to what the storage may hold; the only graphics card gets its name."""
    lab.pve.storages.config.put("local", {**lab.pve.storages.config["local"], "content": "backup"})
    asked = PrepareOptions(wanted_plan([vm(gpus=("gpu0",))]))
    value = await prepared(root, asked)
    assert value
    assert lab.pve.storages.config["local"]["content"] == "backup,iso"
    assert "path=0000:01:00.0" in lab.pve.mappings["gpu0"]["map"][0]
    assert await checked(lab, Token("talops@pve!talops", value), asked.wanted) == []


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"token": "a"}, "'a' is not the name of a Proxmox token"),
        ({"token": "1x"}, "'1x' is not the name of a Proxmox token"),
        ({"token": "a b"}, "'a b' is not the name of a Proxmox token"),
        ({"user": "talops"}, "'talops' is not the name of a Proxmox user"),
        ({"user": "tal/ops@pve"}, "'tal/ops@pve' is not the name of a Proxmox user"),
    ],
)
async def test_a_name_that_proxmox_refuses_changes_nothing(
    lab: Lab, root: Client, changes: dict[str, Any], words: str
) -> None:
    """Recorded from 9.2: 400, after user and rights were created already."""
    before = (lab.pve.users.keys(), lab.pve.roles.keys(), lab.pve.acl.keys())
    with pytest.raises(TalopsError, match=words):
        await prepared(root, replace(PrepareOptions(P), **changes))
    assert (lab.pve.users.keys(), lab.pve.roles.keys(), lab.pve.acl.keys()) == before


async def test_a_device_is_not_guessed(lab: Lab, root: Client) -> None:
    """For an address that does not exist, the error lists the cards that do."""
    asked = PrepareOptions(wanted_plan([vm(gpus=("gpu0",))]), gpus={"gpu0": "0000:09:00.0"})
    with pytest.raises(TalopsError, match=r"graphics cards there: 0000:01:00\.0"):
        await prepared(root, asked)


async def typed(client: Client, line: str) -> None:
    """What `pveum` makes of a line, for those that talops prints."""
    _, area, verb, *words = shlex.split(line, comments=True)
    first = next(i for i, word in enumerate(words) if word.startswith("--"))
    names = words[:first]
    flags = {key.removeprefix("--"): value for key, value in pairwise(words[first:])}
    if "privs" in flags:
        flags["privs"] = ",".join(flags["privs"].split())
    calls: dict[tuple[str, str], tuple[str, str, dict[str, Any]]] = {
        ("role", "add"): ("POST", "access/roles", {"roleid": names[0]}),
        ("role", "modify"): ("PUT", f"access/roles/{names[0]}", {}),
        ("acl", "modify"): ("PUT", "access/acl", {"path": names[0]}),
        ("user", "add"): ("POST", "access/users", {"userid": names[0]}),
        ("user", "token"): ("POST", f"access/users/{'/token/'.join(names[1:])}", {}),
    }
    method, path, params = calls[area, verb]
    await client.ask(method, path, {**params, **flags})


def pairwise(words: list[str]) -> list[tuple[str, str]]:
    return list(zip(words[::2], words[1::2], strict=True))
