"""Names of days and months, and words for the people in a life: one table for all who look for them.

Trained models (:mod:`processors.extraction.cues` and ``slots``, ``statement_features``, ``recall.features``)
spell theirs out: their weights depend on each word of an expression.
"""

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

_WOMEN = """
    sister mother daughter mom mum mam wife girlfriend aunt auntie grandma grandmother granny nan niece fiancée
    schwester mutter mama tochter frau freundin kollegin tante oma nichte
    hermana madre mamá hija esposa mujer novia amiga tía abuela sobrina
    sœur soeur mère maman fille femme copine amie grand-mère nièce irmã mãe filha
    sorella moglie figlia zus vrouw moeder dochter
"""
_MEN = """
    brother father son dad husband boyfriend uncle grandpa grandad grandfather nephew fiancé
    bruder vater papa sohn mann freund kollege onkel opa neffe
    hermano padre papá hijo esposo marido novio amigo tío abuelo sobrino
    frère père fils mari copain ami oncle grand-père neveu irmão pai filho
    marito fratello figlio man broer vader zoon
"""
_EITHER = "partner kid cousin friend colleague boss neighbour neighbor roommate flatmate"
#: Women, men and anybody by their part in a life, in seven languages.
WOMEN, MEN, EITHER = (tuple(each.split()) for each in (_WOMEN, _MEN, _EITHER))
KIN = (*WOMEN, *MEN, *EITHER)
