"""Names of days and months."""

from __future__ import annotations

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")

_MONTHS = (
    "january february march april may june july august september october november december",
    "januar februar märz april mai juni juli august september oktober november dezember",
    "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
)
MONTHS = tuple(_MONTHS[0].split())

#: The English name of each month in German, Spanish, French and Portuguese.
ENGLISH_MONTHS = {
    name: english for names in _MONTHS[1:] for name, english in zip(names.split(), MONTHS, strict=True)
}
