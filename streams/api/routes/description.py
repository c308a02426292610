"""Description of the API."""

from __future__ import annotations

from typing import Any

from streams.api.operations import Call, Scope, operation


@operation("GET", "/v1/openapi.json", scope=Scope.NONE)
async def get_openapi(call: Call) -> dict[str, Any]:
    """This description: OpenAPI 3.1."""
    # The description describes this operation, too.
    from streams.api.catalog import OPERATIONS
    from streams.api.openapi import openapi

    return openapi(OPERATIONS)
