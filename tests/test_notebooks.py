"""The notebooks in examples/notebooks run from top to bottom, as a reader would run them."""

import json
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).resolve().parent.parent / "examples" / "notebooks").glob("*.ipynb"))


def test_there_are_three_without_outputs():
    assert [path.stem for path in NOTEBOOKS] == ["attack_published_files", "choose_a_setting", "evaluate_a_mechanism"]
    for path in NOTEBOOKS:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        assert not any(cell.get("outputs") for cell in cells), "outputs go stale; clear them before a commit"


@pytest.mark.heavy
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path, tmp_path):
    nbclient = pytest.importorskip("nbclient", reason="needs the extra test")
    nbformat = pytest.importorskip("nbformat", reason="needs the extra test")
    notebook = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": tmp_path}}
    ).execute()
    shown = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    assert any("text/html" in output.get("data", {}) for output in shown), "a table or a result shows itself"
    # What goes to standard error is progress; nothing may look like a fault.
    assert not any(output.output_type == "error" for output in shown)
