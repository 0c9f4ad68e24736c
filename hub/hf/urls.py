"""URL configuration of the protocol. No trailing slashes; ``kind`` is ``models`` or ``datasets``.

A revision may contain slashes (``refs/pr/1``, a branch ``team/idea``), which clients escape and
WSGI passes unescaped: :mod:`hub.hf.address` separates it from a path that follows.
"""

from django.urls import URLPattern, re_path

from hub.hf import (
    account,
    card,
    commit,
    discussion,
    gate,
    history,
    info,
    lfs,
    lfsfiles,
    like,
    listing,
    oauth,
    preupload,
    refs,
    repository,
    resolve,
    tree,
    webhook,
    xet,
)
from hub.hf.views import repository_view, wire

_CAS = r"^xet/(?P<uuid>[0-9a-f-]{36})/(?P<epoch>[0-9]{1,9})/v1"
_HASH = r"(?P<digest>[0-9a-fA-F]{64})"
_NAME = r"(?P<name>[^/]+)"
_ID = r"(?P<namespace>[^/]+)/(?P<name>[^/]+)"
_REPO = rf"(?P<kind>models|datasets)/{_ID}"
# The kind, which addresses at the top give by the prefix ``/datasets``.
_MODEL = {"kind": "models"}
_DATASET = {"kind": "datasets"}
_LFS = rf"{_ID}\.git/info/lfs"
_LINK = r"(?P<signed>[A-Za-z0-9_:-]+)"
_TALK = rf"^{_REPO}/discussions/(?P<num>[0-9]{{1,10}})"
_HOOK = r"^settings/webhooks/(?P<webhook_id>[0-9a-f-]{1,40})"
_COMMENT = rf"{_TALK}/comment/(?P<comment_id>[0-9a-f-]{{1,40}})"

_REV = r"(?P<rest>[^/].*)"
_RESOLVE = wire(get=resolve.resolve)
_LFS_BATCH = lfs.lfs_wire(post=lfs.authenticating(lfs.batch))

#: Below ``/api/``.
api = [
    re_path(r"^whoami-v2$", wire(get=account.whoami)),
    re_path(r"^validate-yaml$", wire(post=card.validate)),
    re_path(r"^repos/create$", wire(post=repository.create)),
    re_path(r"^repos/delete$", wire(delete=repository.remove)),
    re_path(r"^repos/move$", wire(post=repository.move)),
    re_path(r"^settings/repositories$", wire(get=account.repositories)),
    re_path(rf"^users/{_NAME}/overview$", wire(get=account.overview)),
    re_path(rf"^users/{_NAME}/likes$", wire(get=like.likes)),
    re_path(rf"^users/{_NAME}/follow(?:ers|ing)$", wire(get=account.follows)),
    re_path(rf"^organizations/{_NAME}/overview$", wire(get=account.organisation_overview)),
    re_path(rf"^organizations/{_NAME}/members$", wire(get=account.organisation_members)),
    re_path(rf"^organizations/{_NAME}/followers$", wire(get=account.organisation_followers)),
    re_path(rf"^organizations/{_NAME}/settings/repositories$", wire(get=account.repositories)),
    re_path(r"^(?P<kind>models|datasets)$", wire(get=listing.listing)),
    re_path(r"^(?P<kind>models|datasets)-tags-by-type$", wire(get=listing.tags_by_type)),
    re_path(rf"^{_REPO}$", wire(get=repository_view(info.info))),
    re_path(rf"^{_REPO}/revision/{_REV}$", wire(get=repository_view(info.info))),
    re_path(rf"^{_REPO}/tree/{_REV}$", wire(get=repository_view(tree.tree))),
    re_path(rf"^{_REPO}/treesize/{_REV}$", wire(get=repository_view(tree.tree_size))),
    re_path(rf"^{_REPO}/paths-info/{_REV}$", wire(post=repository_view(tree.paths_info))),
    re_path(rf"^{_REPO}/refs$", wire(get=repository_view(refs.refs))),
    re_path(rf"^{_REPO}/commits/{_REV}$", wire(get=repository_view(history.commits))),
    re_path(
        rf"^{_REPO}/branch/{_REV}$",
        wire(post=repository_view(refs.branch_create), delete=repository_view(refs.branch_delete)),
    ),
    re_path(
        rf"^{_REPO}/tag/{_REV}$",
        wire(post=repository_view(refs.tag_create), delete=repository_view(refs.tag_delete)),
    ),
    re_path(rf"^{_REPO}/super-squash/{_REV}$", wire(post=repository_view(refs.squash))),
    re_path(rf"^{_REPO}/preupload/(?P<rev>.+)$", wire(post=repository_view(preupload.preupload))),
    re_path(rf"^{_REPO}/commit/(?P<rev>.+)$", wire(post=repository_view(commit.create))),
    re_path(rf"^{_REPO}/settings$", wire(put=repository_view(repository.change))),
    re_path(rf"^{_REPO}/lfs-files$", wire(get=repository_view(lfsfiles.listing))),
    re_path(rf"^{_REPO}/lfs-files/batch$", wire(post=repository_view(lfsfiles.batch))),
    re_path(rf"^{_REPO}/duplicate$", wire(post=repository_view(repository.duplicate))),
    re_path(rf"^{_REPO}/auth-check$", wire(get=repository_view(repository.check_read))),
    re_path(rf"^{_REPO}/auth-check/write$", wire(get=repository_view(repository.check_write))),
    re_path(
        rf"^{_REPO}/like$",
        wire(post=repository_view(like.like), delete=repository_view(like.unlike)),
    ),
    re_path(rf"^{_REPO}/likers$", wire(get=repository_view(like.likers))),
    re_path(
        rf"^{_REPO}/user-access-request/(?P<state>pending|accepted|rejected)$",
        wire(get=repository_view(gate.requests)),
    ),
    re_path(rf"^{_REPO}/user-access-request/handle$", wire(post=repository_view(gate.handle))),
    re_path(rf"^{_REPO}/user-access-request/grant$", wire(post=repository_view(gate.grant))),
    re_path(r"^settings/webhooks$", wire(get=webhook.listing, post=webhook.create)),
    re_path(rf"{_HOOK}$", wire(get=webhook.details, post=webhook.update, delete=webhook.remove)),
    re_path(rf"{_HOOK}/enable$", wire(post=webhook.switch(enabled=True))),
    re_path(rf"{_HOOK}/disable$", wire(post=webhook.switch(enabled=False))),
    re_path(rf"{_HOOK}/deliveries$", wire(get=webhook.deliveries)),
    re_path(
        rf"{_HOOK}/deliveries/(?P<delivery_id>[0-9a-f-]{{1,40}})/replay$",
        wire(post=webhook.replay),
    ),
    re_path(
        rf"^{_REPO}/discussions$",
        wire(get=repository_view(discussion.listing), post=repository_view(discussion.create)),
    ),
    re_path(rf"{_TALK}$", wire(get=repository_view(discussion.details))),
    re_path(rf"{_TALK}/comment$", wire(post=repository_view(discussion.comment))),
    re_path(rf"{_TALK}/title$", wire(post=repository_view(discussion.title))),
    re_path(rf"{_TALK}/status$", wire(post=repository_view(discussion.status))),
    re_path(rf"{_TALK}/merge$", wire(post=repository_view(discussion.merge))),
    re_path(rf"{_COMMENT}/edit$", wire(post=repository_view(discussion.edit))),
    re_path(rf"{_COMMENT}/hide$", wire(post=repository_view(discussion.hide))),
    re_path(rf"^{_REPO}/xet-write-token/(?P<rev>.+)$", wire(get=repository_view(xet.write_token))),
    re_path(rf"^{_REPO}/xet-read-token/(?P<rev>.+)$", wire(get=repository_view(xet.read_token))),
    re_path(rf"^lfs/upload/{_LINK}$", lfs.lfs_wire(put=lfs.put, post=lfs.complete)),
    re_path(rf"^lfs/upload/{_LINK}/(?P<number>[0-9]{{1,5}})$", lfs.lfs_wire(put=lfs.put_part)),
    re_path(rf"^lfs/upload/{_LINK}/verify$", lfs.lfs_wire(post=lfs.verify)),
    re_path(rf"^lfs/download/{_LINK}$", lfs.lfs_wire(get=lfs.fetch)),
]

#: At the top: files, Git LFS, Xet and OAuth.
top: list[URLPattern] = [
    re_path(r"^oauth/device$", wire(post=oauth.device)),
    re_path(r"^oauth/token$", wire(post=oauth.token)),
    re_path(rf"^datasets/{_LFS}/objects/batch$", _LFS_BATCH, _DATASET),
    re_path(rf"^{_LFS}/objects/batch$", _LFS_BATCH, _MODEL),
    re_path(rf"^(?:datasets/)?{_LFS}/locks", lfs.lfs_wire(get=lfs.no_locks, post=lfs.no_locks)),
    re_path(rf"^datasets/{_ID}/ask-access$", wire(post=repository_view(gate.ask)), _DATASET),
    re_path(rf"^{_ID}/ask-access$", wire(post=repository_view(gate.ask)), _MODEL),
    re_path(rf"^datasets/{_ID}/resolve/{_REV}$", _RESOLVE, _DATASET),
    re_path(rf"^{_ID}/resolve/{_REV}$", _RESOLVE, _MODEL),
    re_path(rf"{_CAS}/xorbs/default/{_HASH}$", wire(post=xet.with_ticket(xet.xorb))),
    re_path(rf"{_CAS}/shards$", wire(post=xet.with_ticket(xet.shard))),
    re_path(rf"{_CAS}/chunks/default/{_HASH}$", wire(get=xet.with_ticket(xet.chunk))),
    re_path(r"^xet/", wire(get=xet.absent, post=xet.absent)),
    re_path(r"^v1/telemetry$", wire(post=xet.telemetry)),
]
