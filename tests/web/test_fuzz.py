"""The API against its own description: whatever fits it, and whatever does not, no answer is a fault of ours."""

from hypothesis import HealthCheck, settings
from schemathesis import openapi
from starlette.testclient import TestClient

from quipukit.web.access import HEADER
from quipukit.web.app import create_app
from tests.web.fakes import ROOT, service

OWN = service(results=True)
APP = create_app(OWN)
SCHEMA = openapi.from_dict(TestClient(APP, ROOT).get("/api/openapi.json").json())


@SCHEMA.parametrize()
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
def test_no_answer_is_a_fault_of_ours(case) -> None:  # type: ignore[no-untyped-def]
    client = TestClient(APP, ROOT, raise_server_exceptions=False)
    sent = case.as_transport_kwargs(base_url=ROOT)
    sent["headers"] = {**{name: value for name, value in sent["headers"].items() if value}, HEADER: OWN.access.start}
    sent.pop("cookies", None)
    if isinstance(sent.get("data"), bytes | str):
        sent["content"] = sent.pop("data")
    answer = client.request(**sent)
    assert answer.status_code < 500, answer.text
    assert answer.status_code != 403, answer.text  # it was let in
