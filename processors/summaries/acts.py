"""The model of what is done by a sentence: decided, to be done, left open, or set as a limit.

A linear model over the features of :mod:`processors.extraction.features` and who speaks.  Weights: ``acts.npz``
beside this file, made by ``python -m benchmarks.notebook.train_acts`` (see MODEL_CARD.md).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from models.messages import Role
from processors.extraction.features import NAMES, surface
from processors.extraction.units import Unit

WEIGHTS = Path(__file__).with_name("acts.npz")

Floats = NDArray[np.float32]


class Act(StrEnum):
    """Act of a sentence; the classes of the model, in the order of its rows."""

    NONE = "none"
    DECISION = "decision"
    TODO = "todo"
    QUESTION = "question"
    CONSTRAINT = "constraint"


ACTS = tuple(Act)

#: A label says what a sentence is ("Todo for me: ..."), whatever the model thinks.
_LABELS = {
    Act.TODO: r"(?:to-?dos?|note to self|pendiente|à faire|zu erledigen)\b[^:.!?]{0,30}:",
    Act.DECISION: r"(?:decision|decided|entschieden|decidido|décidé)\b[^:.!?]{0,30}:",
    Act.QUESTION: r"(?:open|offene) (?:question|frage)\b[^:.!?]{0,30}:",
}
#: Words of a sentence that does one thing; a longer one tells many, and none of them is all of it.
_LONGEST = 24

#: Cues of what is done, beside those of the extractor: English, and the commonest words of German, Spanish, French
#: and Portuguese.
_CUES = (
    r"\b(?:let['’]?s|lets) (?!see\b|think\b)|\b(?:go(?:ing)? with|went for|stick(?:ing)? with|settle[ds]? on|it is)\b|^(?:wir nehmen|wir bleiben|vamos com?n?|on (?:prend|garde|part)|a gente)\b",
    r"\b(?:decid\w*|decision|agreed?|settle[ds]?|chosen?|picked|made up my mind|final|deal|sold|signed|said (?:yes|no)|told them|call(?:ing|ed)? off|entschieden|beschlossen|zugesagt|steht fest|dabei bleibt|acordado|quedamos|he dicho que|décidé\w*|convenu|choisi\w*|dit oui|resolv\w+|fechad\w|combin\w+)\b",
    r"\b(?:i|we)(?:['’]m| am|['’]re| are|m) (?:not )?(?:taking|going (?:with|permanent|back)|dropping|selling|keeping|cancel\w+|staying|leaving|calling|buying|quitting)\b|\b(?:i|we) won['’]?t\b",
    r"\b(?:need(?:s|ed)? to|have to|has to|must|gotta|got to|ought to|should|supposed to|müss\w*|muss|hay que|tengo que|tiene que|me falta|falta|il (?:me )?faut|je dois|preciso|tenho que|tem que)\b",
    r"\b(?:remind me|me lembra|recuérdame|rappelle-moi|erinn?er\w* mich|erinner|don['’]?t (?:let me )?forget|note to self|to-?dos?(?: for)?|next step|on my list|action for|left to do|my job (?:for|is)|pendiente|à faire|zu erledigen|als nächstes|promised)\b",
    r"\b(?:i|we)(?:['’]ll| will|['’]m going to|['’]m gonna|m going to|['’]re going to)\b|\bill\b|\b(?:will|must) do\b|^on it\b|\b(?:ich (?:rufe|frag\w*|schreib\w*|werde)|mañana|demanderai|appellerai|vou|ligo|amanhã)\b",
    r"\b(?:to-?dos?|remind me|don['’]?t let me forget|note to self)\b",
    r"\b(?:still|yet|haven['’]?t|hasn['’]?t|not yet|noch|todavía|toujours pas|encore|ainda)\b",
    r"\b(?:don['’]?t know|not sure|no idea|no answer|undecided|torn|can['’]?t decide|wonder\w*|open question|figured? out|find out|up in the air|the (?:big )?question|waiting|whether|unklar|weiß (?:noch )?nicht|offene frage|no sé|no me decido|ne sais|reste à savoir|hésit\w+|não sei|saber (?:quién|quem))\b",
    r"\b(?:should|can|am|ought|do|shall|must|could) (?:i|we)\b|\bsoll ich\b|\b(?:debería|est-ce que je|será que)\b",
    r"\b(?:do|have|are|would|will|can|did|is) (?:you|your)\b|\b(?:your|dein\w*|votre|seu)\b",
    r"\b(?:shall i|would you like|want me to|do you want (?:more|me|a|an)|soll ich dir|quieres que|voulez-vous|quer que)\b|^(?:does that|is there anything|how can i)",
    r"\b(?:at most|no more|not more|more than|a penny more|max\w*|budget|tops|only have|holds|limit|höchstens|mehr als|más de|plus de|mais que)\b",
    r"\b(?:allerg\w*|alergi\w*|coeliac|celiac\w*|celíac\w+|gluten|intoleran\w*|vertrag\w*|not allowed|doesn['’]t allow|(?:can|could)(?:no|['’])?t (?:do|have|lift|manage|stand (?!it)|eat|drink|take|use)|don['’]?t eat|darf\w*|kann nie|no puedo|ne peux pas|ne mange pas|não posso|never fly|doctor said|nothing (?:with|that)|no \w+(?: and no \w+)?,? ever|on principle|no \w+ (?:for me|please))\b",
    r"\b(?:by|before|until|avant|antes d\w+|até|bis|before the) (?:(?:the|zum|el|le|dia) )?(?:\d|mon|tues|wed|thu|fri|sat|sun|noon|three|june|summer|end|vier|sext|quint|17)\w*|\bdeadline\b",
    r"^(?:he|she|they|my \w+|our \w+|the \w+|mein\w* \w+|mi \w+|ma \w+|mon \w+|minha \w+)\b(?! (?:job|next|budget|deadline))",
    r"\b(?:he|she|they|boss|mum|mom|advert|apparently|in parliament)\b.{0,20}\b(?:says?|said|told|thinks?|decid\w+|wants)\b",
    r"\b(?:was going to|used to|went|long before|if i (?:ever|could)|früher|antes tenía|avant)\b",
    r"^(?:yes|yeah|yep|sure|ok|okay|ja|sí|si|oui|sim|go|agreed|deal|sounds)\b",
)

ACT_CUES = tuple(re.compile(pattern, re.IGNORECASE) for pattern in _CUES)

#: Features of the extractor that are used: the cues and the length, but not the place in the message.
_USED = NAMES.index("first sentence")
#: Features that need no vector: who speaks, the cues of acts, and those of the extractor.
SURFACE = 1 + len(ACT_CUES) + _USED
#: What the weights are of, stored beside them.
FEATURES = [*NAMES[:_USED], *(cue.pattern for cue in ACT_CUES)]


@cache
def _weights() -> Floats:
    with np.load(WEIGHTS, allow_pickle=False) as file:
        if file["names"].tolist() != FEATURES:
            raise ValueError(
                f"{WEIGHTS.name} was trained with other features: run python -m benchmarks.notebook.train_acts"
            )
        rows: Floats = file["rows"].astype(np.float32)
    return rows


def features(units: Sequence[Unit], vectors: Floats) -> Floats:
    """Return a row of features for each unit.

    ``vectors``: two rows a unit, of :func:`processors.extraction.features.texts`; zeros where there are none.
    """
    own = [
        [float(unit.message.role is Role.ASSISTANT), *(float(bool(cue.search(unit.text))) for cue in ACT_CUES)]
        for unit in units
    ]
    cues = np.stack([surface(unit)[:_USED] for unit in units])
    # The question before an answer tells what is done by it; the sentence before a sentence does not.
    asked = np.array([[bool(unit.asked)] for unit in units])
    context = np.where(asked, vectors[1::2], vectors[::2])
    return np.hstack([np.array(own, dtype=np.float32), cues, vectors[::2], context])


def acts(units: Sequence[Unit], vectors: Floats) -> list[dict[Act, float]]:
    """Return the probability of each act for each unit; ``vectors`` as for :func:`features`."""
    if not units:
        return []
    rows = _weights()
    scores = features(units, vectors) @ rows[:, :-1].T + rows[:, -1]
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    return [_of(unit.text, each) for unit, each in zip(units, shares, strict=True)]


def _of(text: str, shares: Floats) -> dict[Act, float]:
    label = next((act for act, pattern in _LABELS.items() if re.match(pattern, text, re.IGNORECASE)), None)
    if label is None and len(text.split()) > _LONGEST:
        label = Act.NONE
    return {
        act: float(share if label is None else act is label) for act, share in zip(ACTS, shares, strict=True)
    }
