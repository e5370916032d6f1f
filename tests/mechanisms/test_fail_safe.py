"""A token that is forgotten must stop the work, not be sent."""

import numpy as np
import pytest

from quipukit.mechanisms.cmp import CMP
from quipukit.mechanisms.words import KEEP, UNSET, find_sites
from quipukit.vectors.store import Vectors

VECTORS = Vectors(["cat", "dog"], np.eye(2))


@pytest.mark.parametrize("forgotten", [UNSET, KEEP, -1, -3])
def test_a_position_without_a_replacement_is_never_sent(forgotten):
    sites = find_sites(CMP(epsilon=1, vectors=VECTORS), [("1", "cat secret")])
    chosen = np.zeros((2, 3), np.int32)
    assert sites.texts(VECTORS, chosen)[0].texts == ["cat cat"] * 3
    chosen[1, 2] = forgotten
    with pytest.raises(RuntimeError, match="without a replacement") as fault:
        sites.texts(VECTORS, chosen)
    assert "secret" not in str(fault.value)


def test_what_is_kept_on_purpose_is_sent():
    mechanism = CMP(epsilon=1e6, vectors=VECTORS, oov="keep", unsafe=True)
    assert mechanism.obfuscate("cat secret", 2) == ["cat secret"] * 2
