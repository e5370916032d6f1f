"""Identity: the query itself, in every variant, and no promise."""

import numpy as np

from quipukit.guarantees import NoGuarantee
from quipukit.mechanisms.identity import Identity
from quipukit.obfuscation import obfuscate


def test_every_variant_is_the_query_to_the_last_byte():
    query = "  Any TEXT, \u4e2d\t"
    assert Identity().obfuscate(query, 3) == [query] * 3
    assert obfuscate({"q": query}, "Identity", 2)["query"].tolist() == [query] * 2


def test_its_law_is_certainty_and_it_says_that_it_sends_the_original():
    one = Identity()
    assert one.log_prob("cat", "cat") == 0 and one.log_prob("dog", "cat") == -np.inf
    assert one.sends_original and isinstance(one.guarantee, NoGuarantee)
