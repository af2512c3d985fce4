"""Bodies on the server's own disk: the same bytes, within a limit, gone with the process."""

from __future__ import annotations

from talops.statestore.cache import BlobCache, spool

KB = 1024


def keep(cache: BlobCache, name: str, data: bytes) -> None:
    file = spool()
    file.write(data)
    cache.adopt(name, file)


async def content(cache: BlobCache, name: str) -> bytes | None:
    stream = cache.stream(name)
    return None if stream is None else b"".join([piece async for piece in stream])


async def test_the_longest_unused_makes_room() -> None:
    """What was read recently stays, the rest is evicted."""
    cache = BlobCache(limit=3 * KB)
    for name in "abc":
        keep(cache, name, name.encode() * KB)
    assert await content(cache, "a") == b"a" * KB
    keep(cache, "d", b"d" * KB)
    assert await content(cache, "b") is None
    assert [await content(cache, name) for name in "acd"] == [b"a" * KB, b"c" * KB, b"d" * KB]
    cache.close()


async def test_a_reader_outlives_its_entry() -> None:
    """Dropping an entry does not truncate a read in progress."""
    cache = BlobCache()
    keep(cache, "a", b"x" * 3 * 1024 * KB)
    stream = cache.stream("a")
    assert stream is not None
    first = await anext(stream)
    cache.forget("a")
    rest = b"".join([piece async for piece in stream])
    assert len(first + rest) == 3 * 1024 * KB
    assert cache.stream("a") is None


async def test_larger_than_the_cache() -> None:
    """A body that does not fit is simply not kept."""
    cache = BlobCache(limit=KB)
    keep(cache, "a", b"x" * 2 * KB)
    assert cache.stream("a") is None
