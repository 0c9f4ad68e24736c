"""URL configuration of the protocol. No trailing slashes; ``kind`` is ``models`` or ``datasets``.

A revision may contain slashes (``refs/pr/1``, a branch ``team/idea``), which clients escape and
WSGI passes unescaped: :mod:`hub.hf.address` separates it from a path that follows.
"""

from django.urls import URLPattern, re_path

from hub.hf import (
    absent,
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
    quicksearch,
    refs,
    repository,
    resolve,
    safetensors,
    tree,
    webhook,
    xet,
    xetread,
)
from hub.hf.views import View, repository_view, wire

_CAS = r"^xet/(?P<uuid>[0-9a-f-]{36})/(?P<epoch>[0-9]{1,9})/v1"
_HASH = r"(?P<digest>[0-9a-fA-F]{64})"
_NAME = r"(?P<name>[^/]+)"
_ID = r"(?P<namespace>[^/]+)/(?P<name>[^/]+)"
# A name without a namespace names no repository, and is answered so.
_REPO = r"(?P<kind>models|datasets)/(?:(?P<namespace>[^/]+)/)?(?P<name>[^/]+)"
# The kind, which addresses at the top give by the prefix ``/datasets``.
_MODEL = {"kind": "models"}
_DATASET = {"kind": "datasets"}
_LFS = rf"{_ID}\.git/info/lfs"
_LINK = r"(?P<signed>[A-Za-z0-9_:-]+)"
_TALK = r"/discussions/(?P<num>[0-9]{1,10})"
_HOOK = r"^settings/webhooks/(?P<webhook_id>[0-9a-f-]{1,40})"
_COMMENT = rf"{_TALK}/comment/(?P<comment_id>[0-9a-f-]{{1,40}})"

_REV = r"(?P<rest>[^/].*)"


def _repository(tail: str, **views: View) -> URLPattern:
    """The API's addresses of repositories that end in ``tail``; ``views`` by method."""
    return re_path(f"^{_REPO}{tail}$", wire(**{key: repository_view(views[key]) for key in views}))


_RESOLVE = wire(get=resolve.resolve)
_LFS_BATCH = lfs.lfs_wire(post=lfs.authenticating(lfs.batch))
_NO_SPACES, _NO_BUCKETS = absent.refusing("Spaces"), absent.refusing("Buckets")
_NO_PAPERS = absent.refusing("Papers")

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
    re_path(r"^quicksearch$", wire(get=quicksearch.quicksearch)),
    re_path(r"^tasks$", wire(get=quicksearch.tasks)),
    _repository("", get=info.info, **dict.fromkeys(("post", "put", "delete"), info.read_only)),
    _repository(rf"/revision/{_REV}", get=info.info),
    _repository(rf"/tree/{_REV}", get=tree.tree),
    _repository(rf"/treesize/{_REV}", get=tree.tree_size),
    _repository(rf"/paths-info/{_REV}", post=tree.paths_info),
    _repository("/refs", get=refs.refs),
    _repository(rf"/commits/{_REV}", get=history.commits),
    _repository(rf"/branch/{_REV}", post=refs.branch_create, delete=refs.branch_delete),
    _repository(rf"/tag/{_REV}", post=refs.tag_create, delete=refs.tag_delete),
    _repository(rf"/super-squash/{_REV}", post=refs.squash),
    _repository("/preupload/(?P<rev>.+)", post=preupload.preupload),
    _repository("/commit/(?P<rev>.+)", post=commit.create),
    _repository("/settings", put=repository.change),
    _repository(rf"/safetensors-metadata/{_REV}", get=safetensors.sharded),
    _repository("/leaderboard", get=absent.leaderboard),
    _repository("/lfs-files", get=lfsfiles.listing),
    _repository("/lfs-files/batch", post=lfsfiles.batch),
    _repository("/lfs-files/duplicate", post=lfsfiles.duplicate),
    _repository("/duplicate", post=repository.duplicate),
    _repository("/auth-check", get=repository.check_read),
    _repository("/auth-check/write", get=repository.check_write),
    _repository("/like", post=like.like, delete=like.unlike),
    _repository("/likers", get=like.likers),
    _repository("/user-access-request/(?P<state>pending|accepted|rejected)", get=gate.requests),
    _repository("/user-access-request/handle", post=gate.handle),
    _repository("/user-access-request/grant", post=gate.grant),
    re_path(r"^settings/webhooks$", wire(get=webhook.listing, post=webhook.create)),
    re_path(rf"{_HOOK}$", wire(get=webhook.details, post=webhook.update, delete=webhook.remove)),
    re_path(rf"{_HOOK}/enable$", wire(post=webhook.switch(enabled=True))),
    re_path(rf"{_HOOK}/disable$", wire(post=webhook.switch(enabled=False))),
    re_path(rf"{_HOOK}/deliveries$", wire(get=webhook.deliveries)),
    re_path(
        rf"{_HOOK}/deliveries/(?P<delivery_id>[0-9a-f-]{{1,40}})/replay$", wire(post=webhook.replay)
    ),
    _repository("/discussions", get=discussion.listing, post=discussion.create),
    _repository(_TALK, get=discussion.details),
    _repository(f"{_TALK}/comment", post=discussion.comment),
    _repository(f"{_TALK}/title", post=discussion.title),
    _repository(f"{_TALK}/status", post=discussion.status),
    _repository(f"{_TALK}/merge", post=discussion.merge),
    _repository(f"{_COMMENT}/edit", post=discussion.edit),
    _repository(f"{_COMMENT}/hide", post=discussion.hide),
    _repository("/xet-write-token/(?P<rev>.+)", get=xet.write_token),
    _repository("/xet-read-token/(?P<rev>.+)", get=xetread.read_token),
    re_path(rf"^lfs/upload/{_LINK}$", lfs.lfs_wire(put=lfs.put, post=lfs.complete)),
    re_path(rf"^lfs/upload/{_LINK}/(?P<number>[0-9]{{1,5}})$", lfs.lfs_wire(put=lfs.put_part)),
    re_path(rf"^lfs/upload/{_LINK}/verify$", lfs.lfs_wire(post=lfs.verify)),
    re_path(rf"^lfs/download/{_LINK}$", lfs.lfs_wire(get=lfs.fetch)),
    re_path(r"^spaces(?:/(?:hardware|semantic-search|templates|zero-gpu/.*))?$", _NO_SPACES),
    re_path(r"^spaces/", absent.without("Spaces")),
    re_path(r"^kernels/", absent.without("Kernels")),
    re_path(r"^(?:scheduled-)?jobs(?:/|$)", absent.refusing("Jobs")),
    re_path(r"^buckets(?:/|$)", _NO_BUCKETS),
    re_path(r"^collections(?:/|$)", absent.refusing("Collections")),
    re_path(r"^(?:papers(?:/.*)?|daily_papers)$", _NO_PAPERS),
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
    re_path(rf"^xet/(?P<version>v1|v2)/reconstructions/{_HASH}$", wire(get=xetread.reconstruct)),
    # hf_xet 1.2 and 1.1 name what is now the first version so.
    re_path(rf"^xet/reconstructions?/{_HASH}$", wire(get=xetread.reconstruct)),
    re_path(rf"^xet/chunks/{_LINK}$", wire(get=xetread.chunks)),
    re_path(r"^xet/", wire(get=xet.absent, post=xet.absent)),
    re_path(r"^v1/telemetry$", wire(post=xet.telemetry)),
    re_path(rf"^spaces/{_ID}/resolve/", absent.without("Spaces")),
    re_path(rf"^spaces/{_LFS}/", absent.without("Spaces")),
    re_path(rf"^buckets/{_ID}/resolve/", _NO_BUCKETS),
    re_path(r"^papers/[^/]+\.md$", _NO_PAPERS),
    re_path(r"^uploads$", absent.refusing("attachments")),
]

#: At the top, after the pages: files of names without a namespace.
nameless = [
    re_path(rf"^(?:datasets/)?{_NAME}/resolve/{_REV}$", _RESOLVE, _MODEL),
    re_path(rf"^(?:datasets/)?{_NAME}\.git/info/lfs/objects/batch$", _LFS_BATCH, _MODEL),
]
