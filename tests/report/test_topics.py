"""Topics of a view: only where the collection tells the kinds of its queries."""

from quipukit.report.topics import topics_frame
from quipukit.report.views import View, views_of
from tests.report.topical import topical_result


def test_kinds_of_the_built_in_queries() -> None:
    (view,) = views_of([topical_result()])
    frame = topics_frame(view)
    assert {"health", "law"} <= set(frame["kind"]) and len(frame) == 7 * frame["kind"].nunique()
    need = view.result.need
    counted = int(frame.drop_duplicates("kind")["queries"].sum())
    assert counted == need.loc[need["leakage"].notna(), "qid"].nunique()


def test_none_elsewhere_or_of_one_kind(small: View) -> None:
    assert topics_frame(small).empty
    (alike,) = views_of([topical_result(step=1)])  # the first topics are all about health
    assert topics_frame(alike).empty
