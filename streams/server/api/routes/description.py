"""Description of the API."""

from __future__ import annotations

from typing import Any

from streams.server.api.operations import Call, Scope, operation


@operation("GET", "/v1/openapi.json", scope=Scope.NONE)
async def get_openapi(call: Call) -> dict[str, Any]:
    """This description: OpenAPI 3.1."""
    # The description describes this operation, too.
    from streams.server.api.catalog import OPERATIONS
    from streams.server.api.openapi import openapi

    return openapi(OPERATIONS)
