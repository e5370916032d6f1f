"""Compute all digests anew and write them to digests.json: ``python -m tests.frozen.update [CASE ...]``.

Careful: a digest that changes is a result that changes for users. Each such change must be listed and explained in
CHANGELOG.md, in the commit that updates the digests; a digest is never updated to silence a test. With names of cases,
only these are written anew.
"""

import json
import sys
import tempfile
from pathlib import Path

import tests.conftest  # noqa: F401 (the environment of the tests)


def main(names: list[str]) -> None:
    """Write the digests."""
    import quipukit as qk
    from tests.frozen.cases import ALL, DIGESTS, frozen, prepared
    from tests.frozen.digest import differences

    before = frozen() if DIGESTS.exists() else {"public names": [], "digests": {}}
    digests = dict(before["digests"])
    with tempfile.TemporaryDirectory() as root, prepared(Path(root)) as cases:
        for name in names or ALL:
            digests[name] = cases.digests(name)
            for line in differences(before["digests"].get(name, {}), digests[name]):
                print(f"{name}: {line}")
    public = before["public names"] or sorted(name for name in qk.__all__)
    content = {"public names": public, "digests": {name: digests[name] for name in ALL}}
    DIGESTS.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
