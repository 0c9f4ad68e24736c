"""Words nobody would send in good faith: in addresses, parameters, headers and bodies."""

_HUGE = "9" * 20

#: As bytes of an address: what is escaped here arrives unescaped.
SEGMENTS = [
    *("%00", "a%00b", "%ED%A0%80", "%ff%fe", "%2e%2e", "..%2f..%2fetc%2fpasswd", "%F0%9F%98%80"),
    *("%0d%0aX-Evil:%201", "a%0ab", "%E2%80%A8", "%C3%A9", "%22", "%3Cscript%3E", "'%20or%201=1--"),
    *("a" * 3000, "/".join("a" * 300), "//evil.example", "%5C%5Cevil.example", "%25", "%%%"),
    *(
        "refs/pr/99999999999999999999",
        "refs/pr/-1",
        "refs/pr/%00",
        "refs/pr/%D9%A3",
        "refs%2Fpr%2F1",
    ),
    *(
        "0",
        "-1",
        "1e9",
        _HUGE,
        "2147483648",
        "%D9%A3",
        "NaN",
        "0" * 40,
        "none",
        "lab.git",
        ".",
        "-",
    ),
]

ODD_TEXT = [
    *(
        "",
        "\0",
        "a\0b",
        "\ud800",
        "é\u2028",
        "\r\nX-Evil: 1",
        "..",
        "../x",
        "a/../b",
        "/",
        "//",
        "x" * 5000,
    ),
    *(
        "main",
        "refs/pr/1",
        f"refs/pr/{_HUGE}",
        "-1",
        _HUGE,
        "2147483648",
        "1e400",
        "<script>",
        "'",
        "%00",
    ),
    *(
        "0" * 64,
        "G" * 64,
        "true",
        "lab/galaxy-cnn",
        "lab/secret",
        "a b",
        "٣",
        "\U000e0001",
        "~^:?*[",
    ),
]

RAW = [
    *(b"", b"{", b"[]", b"null", b'"x"', b"\xff\xfe\x00", b"\xef\xbb\xbf{}", b'{"a": NaN}'),
    *(b"[" * 50_000, b'{"a":' * 20_000, b'{"size": ' + b"9" * 5000 + b"}", b"\0" * 100),
    *(b"paths=%00&paths=%ED%A0%80", b"device_code=%00&grant_type=x", b"a=1&" * 3000),
    *(
        b"0032want " + b"0" * 40 + b"\n00000009done\n",
        b"0000",
        b"ffff",
        b"0004",
        b"zzzz",
        b"\x1f\x8b",
    ),
    b'--b\r\nContent-Disposition: form-data; name="message"\r\n\r\nx',
]

TYPES = [
    *(
        "application/json",
        "application/x-ndjson",
        "application/x-www-form-urlencoded",
        "text/plain",
    ),
    *(
        "multipart/form-data",
        "multipart/form-data; boundary=b",
        "application/json; charset=nonsense",
    ),
    *(
        "application/x-www-form-urlencoded; charset=utf-8",
        "application/x-www-form-urlencoded; charset=utf-8",
    ),
    *("application/x-git-upload-pack-request", "nonsense", "", "application/vnd.git-lfs+json"),
]

HEADERS: dict[str, list[str]] = {
    "Range": [
        "bytes=-0",
        "bytes=9-1",
        f"bytes={_HUGE}-",
        "bytes=0-1,5-6",
        "lines=1",
        "bytes=\xb2-",
    ],
    "If-None-Match": ["*", '"', 'W/"', '"x", "y', "\xff", "," * 500],
    "If-Match": ["*", '"x"', "\xff"],
    "If-Range": ["x", '""'],
    "If-Modified-Since": [
        "yesterday",
        "Mon, 99 Foo 0000 99:99:99 GMT",
        "Thu, 01 Jan 99999 00:00:00 GMT",
    ],
    "Accept": ["text/plain", "\xff", "*/*;q=x"],
    "Content-Encoding": ["gzip", "br"],
    # No server lets through what is no number; the test client has no more than it says.
    "Content-Length": ["0", "1"],
    "Git-Protocol": ["version=2", "version=2:" + "x" * 500, "version=\xff"],
    "X-Request-Id": ["a" * 500, "\xe9", "a\tb"],
    "Host": ["evil.example"],
    "X-HTTP-Method-Override": ["DELETE"],
    "HX-Request": ["true"],
    "Cookie": ["sessionid=\xff", "csrftoken=\0", "=;;="],
    "Authorization": [
        *("Bearer", "Bearer \xff", "Basic", "Basic !!!", "Basic //8=", "Basic " + "A" * 4000),
        *("Bearer hpf_" + "0" * 38, "Bearer a:b:c", "Digest x", "\xff", "Bearer " + "x" * 5000),
    ],
}

QUERY = (
    *(
        "cursor",
        "limit",
        "p",
        "expand",
        "expand[]",
        "recursive",
        "sort",
        "search",
        "filter",
        "author",
    ),
    *("pipeline_tag", "gated", "full", "cardData", "config", "blobs", "type", "status", "diff"),
    *("create_pr", "service", "include_prs", "q", "page", "code", "next", "base", "path", "%00"),
)

QUERY_VALUES = [
    *(
        "",
        "1",
        "0",
        "-1",
        _HUGE,
        "0000000009" + _HUGE,
        "9" * 5000,
        "%00",
        "%ED%A0%80",
        "a%0d%0ab",
        "x" * 3000,
    ),
    *(
        "WyJsaWtlcyIsIDEsIDFd",
        "WyJ1cGRhdGVkX2F0IiwgIngiLCAxXQ==",
        "WyJ1cGRhdGVkX2F0IiwgMSwgIngiXQ==",
    ),
    *(
        "WyJsaWtlcyIsIDFlOTk5LCAxXQ==",
        "e30=",
        "====",
        "siblings",
        "likes",
        "git-upload-pack",
        "true",
    ),
    *(
        "//evil.example",
        "%D9%A3",
        "%C2%B2",
        "all",
        "open",
        "bob",
        "formatted",
        "inf",
        "task:%22%00",
        "(",
    ),
]
