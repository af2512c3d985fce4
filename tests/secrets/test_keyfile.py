"""The key file is changed in place: old and new keys in one file, never a second one."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from tests.crash_points import KILLED, CrashSite

from talops.errors import TalopsError
from talops.secrets import keyfile
from talops.secrets.age import AgeKey, KeyRing, load_keys

if TYPE_CHECKING:
    from pathlib import Path

ROTATE = """
from pathlib import Path
from talops.secrets import keyfile
from talops.secrets.age import AgeKey
path, new = Path("age.key"), AgeKey.parse(Path(sys.argv[1]).read_text())
for name in ("open", "pwrite", "fsync", "close"):
    def counted(*args, real=getattr(os, name)):
        step()
        return real(*args)
    setattr(os, name, counted)
keyfile.add(path, new)
keyfile.keep_only(path, new)
code = 0
"""


def test_killed_at_every_step(tmp_path: Path) -> None:
    """Before, between and after the writes: one file, with the old key or the new one in it."""
    old, new = AgeKey.generate(), AgeKey.generate()
    seen = []

    def place(number: int) -> CrashSite:
        folder = tmp_path / str(number)
        (folder / "site").mkdir(parents=True)
        KeyRing((old,)).save(folder / "site" / "age.key")
        (folder / "new").write_text(new.identity.reveal())
        return CrashSite(folder / "site", folder, script=ROTATE)

    whole = place(0)
    assert whole.run([str(whole.folder / "new")]) == 0
    for step in range(1, whole.steps + 1):
        dying = place(step)
        assert dying.run([str(dying.folder / "new")], die_at=step) == KILLED
        assert [p.name for p in dying.root.iterdir()] == ["age.key"]
        ring = load_keys(dying.root / "age.key")
        assert ring
        seen.append((ring.keys, ring.rotating_to))
    assert sorted(seen, key=seen.index) == seen
    assert list(dict.fromkeys(seen)) == [((old,), None), ((old, new), new), ((new,), None)]


def test_what_else_is_in_the_file_stays(tmp_path: Path) -> None:
    """Comments of its owner, several keys, a last line without an end, a link to the real file."""
    first, second, new = (AgeKey.generate() for _ in range(3))
    real, path = tmp_path / "stick" / "keys.txt", tmp_path / "age.key"
    real.parent.mkdir()
    real.write_text(
        f"# mine, für daheim\r\n{first.identity.reveal()}\r\n{second.identity.reveal()}"
    )
    real.chmod(0o644)
    path.symlink_to(real)
    keyfile.add(path, new)
    assert load_keys(path) == KeyRing((first, second, new), rotating_to=new)
    keyfile.keep_only(path, new)
    assert load_keys(path) == KeyRing((new,))
    assert path.is_symlink()
    assert real.stat().st_mode & 0o777 == 0o600
    text = real.read_bytes().decode()
    assert text.startswith("# mine, für daheim\r\n")
    assert f"# dropped: {first.recipient}" in text
    assert first.identity.reveal() not in text
    assert text.count("AGE-SECRET-KEY-1") == 1


def test_a_full_disk_leaves_the_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of an entry is taken back; the error names the file and what to do."""
    key, real = AgeKey.generate(), os.pwrite
    path = tmp_path / "age.key"
    KeyRing((key,)).save(path)
    before = path.read_bytes()
    monkeypatch.setattr(os, "pwrite", lambda file, data, at: real(file, data[:20], at))
    with pytest.raises(TalopsError, match="No space left") as caught:
        keyfile.add(path, AgeKey.generate())
    assert str(path) in str(caught.value)
    assert path.read_bytes() == before
