"""The data of the page's script: safe inside a script element, labels clear of each other."""

import json

from quipukit.report.chart_data import script_safe
from tests.report.results import HOSTILE


def test_script_safe_survives_the_round_trip() -> None:
    data = {"a": HOSTILE, "b": ["</script>", "<!--", "]]>"]}
    text = script_safe(data)
    assert json.loads(text) == data
    assert not set(text) & set("<>&\u2028\u2029")
