"""Tables for many sets of texts at once: in order, and only where a law gains by it."""

import pytest

import quipukit as qk
from quipukit.attackers.base import Sent
from quipukit.attackers.laws import Laws
from quipukit.attackers.told import for_each
from tests.attackers import toy

PLACES = toy.vectors()
LOG = [*toy.WORDS, "ant bee", "bee cat"]


def law(spec):
    found = Laws(LOG, PLACES).law(qk.mechanism(spec, vectors=PLACES))
    assert found is not None
    return found


@pytest.mark.parametrize(("spec", "at_once"), [("CMP@5", 70), ("TEM@2", 70), ("CusText(k=3)@2", 0), ("Random", 0)])
def test_every_set_is_told_in_order_with_the_table_it_has_alone(spec, at_once):
    one = law(spec)
    batch = [Sent((toy.WORDS[place % 7],)) for place in range(70)]
    told = list(for_each(lambda pair: pair, batch, [one] * len(batch)))
    assert [sent for sent, _ in told] == batch
    tables = [found for _, found in told if found is not None]
    assert len(tables) == at_once
    for _, found in told[:at_once]:
        alone = one.table(found.seen, one.sites.of_length(found.seen.length).columns)
        assert found.table.log_likelihood == pytest.approx(alone.log_likelihood, rel=1e-12, abs=1e-12)


def test_three_sets_of_one_length_are_told_one_by_one_and_so_are_those_without_a_law():
    batch = [Sent(("ant",)), Sent(("bee",)), Sent(("cat",)), Sent(("ant bee",))]
    several = law("TEM@2")  # its tables are those of one length
    assert list(for_each(lambda pair: pair[1], batch, [several] * 4)) == [None] * 4
    assert list(for_each(lambda pair: pair[1], batch, [None] * 4)) == [None] * 4
    assert None not in list(for_each(lambda pair: pair[1], batch[:3] + batch[:1], [several] * 4))
