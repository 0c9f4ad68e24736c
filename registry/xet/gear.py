"""Content-defined chunking: the boundaries that every client of the Xet protocol finds.

A gear hash rolls over the bytes: ``hash = (hash << 1) + table[byte]`` modulo 2^64, so that it
depends on the last 64 bytes only. A chunk ends at the first byte, from its 8192nd on, where the top
16 bits of the hash are zero, or at its 131072nd: 64 KiB on average. Boundaries depend on the bytes
around them, so an edit changes the chunks that contain it and no others.

Source: xet-core ``xet_data/src/deduplication/chunking.rs``; the table is that of the gear hash that
it uses.
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from registry.storage.base import Readable

MIN_BYTES, MAX_BYTES = 8192, 131072
_WINDOW_BYTES = 64
# The least hash whose top 16 bits are not all zero.
_LEAST = np.uint64(1 << 48)
_PIECE_BYTES = 1 << 20
# Hashed at once: arrays of this many words stay in the processor's cache.
_SLICE_BYTES = 1 << 14

# DANGER: another table gives other chunks than the clients', and deduplicates nothing.
_TABLE = np.frombuffer(
    bytes.fromhex("""
    b088d3a9e840f5595652c7f739ed20d645b28969898972ab6b0a89d5b68ec777368f573e8b7a31b71dc636dce936d94b
    207a4c4e5554d5b6a474b34628239acb3b06a83e1ca3b91290e78d6c2f02baf7e1c92df7150d9a8a8e95053a1086d3ad
    5a2ef4f1b83a0722a50fac949f807fae0e7303eb80d8d68199b07edc1570ad0f689d2fb555fd307600005082119ea468
    c4b08306a88fcc283eb0678af6374afdf19f87ab86ad7436f2129fbfbe6bc736481149575c98a4ed0000010695477bc5
    1fba37801a9ceacc3bf06fd663a49b6d99687e9782e3874b79a10673aa50d8e3e4accf9e6211f4202520e71f87579071
    2bd5d3fd781a8a9b00de4dcddd11c873eaa9311c5a87392fdb748eb617bc40ffaf579a8df620bf6f86a6e5da1b09c2b1
    cc2fc30ac322a12e355e2afec1f742672d99c8f4c021a47bbade4b4a9404cfc3f7b518721d707d693286b6587bf32c20
    0000b68886af270ca115d6e4db8a9079484f7e9c97b2e199ccca7bb75713e301bf2584a62bb0f160ade7e813625dbcc8
    000070940d87955a8ae69108139e626fbd776ad72fde38a2fb6b001fc2fcc0cfc7a474b8e67bc427baf6f11610eb5d58
    09cb1f5b6de770d1b0b219e6977d4c4700ccbc386ea7ad4acc849d0adf973f0173a3ef7d016af770c807d2d386bdbdfe
    7f2ac9966c791730d037a86bc6c504daf3f17c661eaa609daca626b04daae687755a99374f4a5b0790837ee65b2caede
    6ee8ad93fd5607850000d9e11053edd89e063bb2d21cdbd707ab77f12a01d2b2ec550255e6641b4478fb94a8449c14c6
    c7510e1bc6c0f5f50000320b36e4cae3827c33262c8b1a2d14675f0b48ea4144267bd3a6498decebf1916ff982f5035e
    86221b7ff434fb889dbecee7386f49d8ea58f8cac80f8f4a008d198692fc64d86d38704fbabf9a36e032cb07d1e7be4c
    228d21f6ad450890635cb1bfc02589a54620a1739ca2ce71a7e7dfe3aae5fb580c10ca932b3c0deb2727fee884afed7b
    a2df1c6df9e2ab1f4dcdd1ac0774f523000070ffad33e24ea2ace87bc59778169892275ab4286049c2861181ddf18959
    bb9972a042483e19ef70cd376651307800000513abfc9864c058b61858c9408309e850859725e0de9197fb3bf83e7d94
    7e1e626d12b64bce520c54507f7b57d1bee1797174e224166fd9ac3222e955870023957c9adfbf3ea01c7d7e234bbe15
    aba2c758b8a38cbb0d1fa0ceec3e2b300bb6a58b7e60b9914333dd5b9fa26635c2fd3b7d4001c1a3fb41802454731127
    65a56185a50d18cbf67a02bd8784b54f696f11dd67e6506300002022fca814ab8cd6be912db9d852695189b6e9ae8a57
    ee9453b50ada0c28d8fc5ea91a78845eab86bf191a4aa7670000c6b5c86415e5267310178e08a22eed2d101b078bca25
    3b41ed84b226a8fb13e622120f28dc06a315f5ebfb706d268816c34e3301bacee9395b9cbb71fdae002ce9202e721648
    4283db1d2bb3c91cd77d461ad2b1a6a5e2ec17e46eeb866bb8e0be4039fbc47cdea160c4d5299d047eec86c8d28c3634
    2119ad129f98a399a6ccf46b61a283ef2c52cedef658c6172db4871169acdd830000f0d6f39ecbe93dd5d8c98d2f9489
    8a1872a22b01f584f282a4c40e7b3cf28020ec2ccb1ba1966693b6e09e59e3130000ce19cc7c83eb20cb5735f6479c3b
    762ebf3759d75a5b207bfe823d693975d77dc112339cd9d59ba7834284627d03217dc513e95f51e9b27b1a29fc5e7816
    00d5cd9831bb662d71e39b806d75734c7e572af006fb1a23a2734f2f6ae91f85bf82c6b5022cddf25c3beac60761a0de
    cdc893bb474169986d1085615c187e0177f8ae30ac277c5d917c6b81122a2c915b75b699add169670000cf6ae79a069b
    f3c40afa60de11042063127aa59167c3621de62269d1894dd188ac1de62b4726107036e2154b673c0000b85f28553a1d
    f2ef4e4c18236f3dd9d6de6611b9f602a1fc7955fb47911ceb85fd032f298dbdbe27502fb3befae1e3034251c4cd661e
    441364d3540718360082b36c75f2983eb145910316fa66f0021c069c9847caf72910dfc75a4b5221735b353e1c57a8b5
    ce44312ce98ed96cbc942e4506bdfa65f05086a71257941bfec3b215d351cead00ae1055e0144202f54b40846f42e454
    00007fd9c8bcbcc8bfbd9ef317de9bfea804302ff2854e1239ce4957a5e5d8d4ffb9e2a45637ba8455b9ad1d9ea0818b
    00008acbf319178a48e2bfc8d0fbfb388be39841e848b5e80e2712160696a08bd51096e84b44242a1101ba176792e13a
    c22e770f4531689d1689eff272bbc56c00a92a197f5650ecbc765990bda1784ec61441e392fcb8ae07e13a2ced31e4a0
    92cbe984234e9d4d8f4ff572bb7d8ac50b9670c00b963bd062955a581a03eb01645f83e5ea00025441fce516cd88f299
    bbda9748da7a98cf0000aab2fe4845fa19761b069bf565558b8f5e8343b6ad563e5d1cfd144821d9ec5c1e2ca2b0cd8f
    faf7e0fea7fbb57f000000d3ba12961bda3f90178401b18e70ff906de33a5feb0527d5a7c06970e722d8e773607c13e9
    c9ab70df643c3baceda4c6dc8abe12e3ecef1f410033e78a0024c2b274ac72cb06740d954fa900b41d7a299b323d6304
    b3c37cb298cbead5c986e3c76178739b9fabea364b46f58a6da214c5af85cc5617a43ed8b7a38f846eccec511d9adbeb
    f9cab30913335afb4a5e60c5f415eed200006967503672b49da51d121454bb8784321e13b9bbc816fb3d6fb6ab2fdd8d
    60305eed8e160a8dcbbf4b14e9946ce800004f63381b10c307d5b7816fcc4e10e5a536726a6a815557afb23447a07fdd
    18f346f7abc9d394636dc655d61ad33dcc8bab4939f7f3f663c7a906c1dd187b
    """),
    dtype=">u8",
).astype(np.uint64)


def split(stream: Readable) -> Iterator[memoryview]:
    """The chunks of ``stream``, in order; each is valid until the next is requested.

    Buffers about 1 MiB.
    """
    rest = b""
    while True:
        piece = stream.read(_PIECE_BYTES)
        data = memoryview(rest + piece)
        at, ends = 0, _candidates(data)
        while at < len(data):
            first = int(np.searchsorted(ends, at + MIN_BYTES))
            end = int(ends[first]) if first < len(ends) else at + MAX_BYTES
            end = min(end, at + MAX_BYTES)
            if end > len(data):
                break
            yield data[at:end]
            at = end
        rest = bytes(data[at:])
        if not piece:
            if rest:
                yield memoryview(rest)
            return


def _candidates(data: memoryview) -> npt.NDArray[np.int64]:
    """The offsets just behind the bytes where the top bits of the hash are zero.

    Correct from the 64th byte on, which is before the first possible boundary.
    """
    values, ends = np.frombuffer(data, dtype=np.uint8), []
    for start in range(0, len(values), _SLICE_BYTES):
        before = max(0, start - _WINDOW_BYTES + 1)
        hashes = _TABLE[values[before : start + _SLICE_BYTES]]
        # The hash over 2n bytes from that over n: log2(64) steps for all positions at once.
        width = 1
        while width < min(_WINDOW_BYTES, len(hashes)):
            hashes[width:] += hashes[:-width] << np.uint64(width)
            width *= 2
        ends.append(np.flatnonzero(hashes[start - before :] < _LEAST) + start + 1)
    return np.concatenate(ends) if ends else np.empty(0, dtype=np.int64)
