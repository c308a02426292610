"""Whatever is sent to an operation, it answers as the description says: no 5xx, nothing undocumented."""

from __future__ import annotations

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.schemas import APIOperation
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from streams.server.api.app import create_api
from streams.server.api.catalog import OPERATIONS
from streams.server.api.openapi import openapi
from streams.server.api.parts import Parts

#: Without any part every good request ends at the first one that it needs: what is tried is the way there.
app = create_api(Parts())
schema = schemathesis.openapi.from_dict(openapi(OPERATIONS))
schema.app = app
described = [operation.ok() for operation in schema.get_all_operations()]


# Schemathesis's own parameters give all operations one test id, and pytest-xdist runs an id once.
@pytest.mark.parametrize("operation", described, ids=[each.label for each in described])
def test_every_answer_is_one_that_is_described(operation: APIOperation) -> None:
    @given(operation.as_strategy())
    @settings(
        max_examples=8,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def tried(case: schemathesis.Case) -> None:
        answer = case.call(base_url="http://localhost")
        checks = [content_type_conformance, response_schema_conformance, status_code_conformance]
        case.validate_response(
            answer, checks=[*checks, *([] if answer.status_code == 503 else [not_a_server_error])]
        )

    tried()


def test_every_operation_is_described() -> None:
    paths = openapi(OPERATIONS)["paths"]
    assert [each.name for each in OPERATIONS if each.method.lower() not in paths[each.path]] == []
