"""Environment variables of the blob store: its place, limits and garbage collection."""

from datetime import timedelta

from hub.settings.env import SettingsSection

_storage = SettingsSection("Storage, limits and garbage collection")
BLOBS = _storage.text(
    "HPCFAIR_BLOBS",
    "",
    shown="`blobs` in the data folder",
    about="Place of the files' bytes: empty, or `s3://bucket/prefix`.",
)
S3_ENDPOINT = _storage.text(
    "HPCFAIR_S3_ENDPOINT",
    "",
    shown="Amazon's",
    about="Address of the server with the S3 API; bucket names are then part of the path.",
)
S3_REGION = _storage.text("HPCFAIR_S3_REGION", "us-east-1", about="Region of the bucket.")
S3_KEY = _storage.text(
    "HPCFAIR_S3_KEY",
    "",
    about="Access key. If key and secret are empty, boto3 uses `AWS_*`, profiles and "
    "instance roles.",
)
S3_SECRET = _storage.text("HPCFAIR_S3_SECRET", "", about="Its secret.")
S3_REDIRECT = _storage.boolean(
    "HPCFAIR_S3_REDIRECT",
    default=True,
    about="Whether clients fetch files from the bucket, and send parts to it, by presigned "
    "addresses. If not, the hub streams them.",
)
BLOB_COPIES_BYTES = (
    _storage.integer(
        "HPCFAIR_BLOB_COPIES_GIB",
        20,
        low=1,
        high=2**20,
        about="GiB of local copies of a bucket's files on each worker.",
    )
    * 2**30
)
MAX_BLOB_BYTES = (
    _storage.integer(
        "HPCFAIR_MAX_BLOB_MIB", 51_200, low=1, high=2**24, about="Largest file, in MiB."
    )
    * 2**20
)
PART_BYTES = (
    _storage.integer(
        "HPCFAIR_PART_MIB",
        64,
        low=5,
        high=4096,
        about="MiB of one part of a large Git LFS upload.",
    )
    * 2**20
)
QUOTA_BYTES = (
    _storage.integer(
        "HPCFAIR_QUOTA_GIB",
        100,
        low=0,
        high=2**30,
        about="GiB that a namespace may use, unless `manage.py quota` sets another limit; 0: "
        "unlimited.",
    )
    * 2**30
    or None
)
GC_EVERY_S = (
    _storage.integer(
        "HPCFAIR_GC_EVERY_HOURS",
        24,
        low=1,
        high=8760,
        about="Hours between two garbage collections.",
    )
    * 3600
)
GC_GRACE = timedelta(
    hours=_storage.integer(
        "HPCFAIR_GC_GRACE_HOURS",
        24,
        low=1,
        high=87_600,
        about="Hours for which garbage collection spares what was used or condemned.",
    )
)
