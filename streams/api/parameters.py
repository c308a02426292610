"""Query parameters, checked.  Unknown and repeated ones are refused: a typo must not widen a question."""

from __future__ import annotations

from http import HTTPStatus
from typing import TypeVar

import msgspec
from starlette.requests import Request

from streams.api.problems import Problem

T = TypeVar("T", bound=msgspec.Struct)


def read(request: Request, kind: type[T], usage: str) -> T:
    """Return the parameters as a ``kind``.

    Raises:
        Problem: 400; what is wrong, and ``usage``.
    """
    given = request.query_params
    repeated = [name for name in given if len(given.getlist(name)) > 1]
    if repeated:
        raise Problem(HTTPStatus.BAD_REQUEST, f"{repeated[0]} is given more than once. {usage}.")
    try:
        return msgspec.convert(dict(given), kind, strict=False)
    except msgspec.ValidationError as error:
        said = str(error).replace("Object ", "").replace("$.", "")
        raise Problem(HTTPStatus.BAD_REQUEST, f"{said}. {usage}.") from error
