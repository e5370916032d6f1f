"""Names of results and of files: safe, and no two alike."""

from quipukit.report.names import slugs
from quipukit.report.views import views_of
from tests.example_results import make_result


def test_results_of_one_name_are_told_apart_by_what_differs() -> None:
    twice = [make_result(), make_result(queries=8)]
    assert [view.name for view in views_of(twice)] == ["example (queries 12)", "example (queries 8)"]
    folders = ["runs/first", "runs/second"]
    assert [view.name for view in views_of(twice, runs=folders)] == ["example (first)", "example (second)"]
    alike = [make_result(), make_result(shift=0.1)]
    names = [view.name for view in views_of(alike)]
    assert names == [f"example ({result.digest[:8]})" for result in alike]
    assert [view.name for view in views_of([alike[0], alike[0]])] == ["example (1)", "example (2)"]
    assert [view.name for view in views_of([make_result(), make_result(name="other")])] == ["example", "other"]


def test_names_of_files_are_safe_and_differ() -> None:
    assert slugs(["a b", "a-b", "\N{GRINNING FACE}", "../x"]) == {
        "a b": "a-b",
        "a-b": "a-b-2",
        "\N{GRINNING FACE}": "result",
        "../x": "x",
    }
