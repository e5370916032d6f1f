"""A log that was not completed: what it holds limits every risk, and is known from the result alone."""

from pathlib import Path

import pytest

from quipukit.errors import InputError
from quipukit.results import Result
from tests.experiment import tiny
from tests.experiment.conftest import Whole


def test_the_share_of_originals_in_the_log_is_a_ceiling_for_risk(village: Path, whole: Whole, tmp_path: Path) -> None:
    """Two of the five topics are in the log; completed, it holds them all."""
    tiny.run(village, out=tmp_path / "run", specs=["TEM@2"], inject=False)
    bare, completed = Result.load(tmp_path / "run"), whole.result
    assert bare.in_log == {"q2", "q5"} and bare.log_coverage == 0.4
    assert completed.in_log == set(tiny.TOPICS) and completed.log_coverage == 1
    identity = bare.points().query("mechanism == 'Identity'")
    assert identity["risk"].tolist() == pytest.approx([0.4] * len(identity))
    with pytest.raises(InputError, match=r"holds 2 of the 5 originals, so no risk can exceed 0\.4"):
        bare.recommend(max_risk=0.4)
    assert bare.recommend(max_risk=0.3).covered == 2 and completed.recommend(max_risk=0.4).covered == 5
