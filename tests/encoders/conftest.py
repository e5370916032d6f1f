"""Tiny models, written once for all tests that only read them."""

from pathlib import Path

import pytest

from tests.encoders.tiny import tiny_model


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT with random weights and no word about its pooling."""
    return tiny_model(tmp_path_factory.mktemp("models") / "bert-of-ones-own")
