"""The part of Zstandard (RFC 8878) that the lab's own files need: frames of stored blocks.

Python has no Zstandard before 3.14, and a compressor is not worth a dependency here: the files are
small, and all that matters is that they are valid frames.
"""

from __future__ import annotations

MAGIC = b"\x28\xb5\x2f\xfd"
BLOCK = 1 << 17
RAW, RLE = 0, 1


def compress(data: bytes) -> bytes:
    # Single segment with an 8-byte content size: descriptor 0b11100000.
    frame = bytearray(MAGIC + b"\xe0" + len(data).to_bytes(8, "little"))
    chunks = [data[start : start + BLOCK] for start in range(0, len(data), BLOCK)] or [b""]
    for number, chunk in enumerate(chunks):
        repeated = len(chunk) > 1 and chunk == chunk[:1] * len(chunk)
        last = int(number == len(chunks) - 1)
        kind = RLE if repeated else RAW
        frame += (last | kind << 1 | len(chunk) << 3).to_bytes(3, "little")
        frame += chunk[:1] if repeated else chunk
    return bytes(frame)


def decompress(frame: bytes) -> bytes:
    if frame[:4] != MAGIC:
        raise ValueError("not a Zstandard frame")
    position = 5 + _header_length(frame[4])
    data = bytearray()
    last = False
    while not last:
        header = int.from_bytes(frame[position : position + 3], "little")
        last, kind, size = bool(header & 1), header >> 1 & 3, header >> 3
        position += 3
        if kind == RAW:
            data += frame[position : position + size]
            position += size
        elif kind == RLE:
            data += frame[position : position + 1] * size
            position += 1
        else:
            raise ValueError("compressed blocks are not supported by the lab")
    return bytes(data)


def _header_length(descriptor: int) -> int:
    single = descriptor >> 5 & 1
    content = (single, 2, 4, 8)[descriptor >> 6]
    dictionary = (0, 1, 2, 4)[descriptor & 3]
    return content + dictionary + (0 if single else 1)
