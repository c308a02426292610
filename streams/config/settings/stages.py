"""Settings of the stages: windows, tokens, turns, facts, responses."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import time
from typing import Literal

import msgspec
from pydantic import field_validator

from models.errors import ConfigurationError
from models.patterns import compiled
from models.statements import Kind
from streams.config.settings.places import PlaceSettings
from streams.config.settings.text import setting

_HH_MM = re.compile("([01][0-9]|2[0-3]):[0-5][0-9]")


def _time_of_day(value: str) -> time | None:
    """Return the time that ``HH:MM`` says; ``None`` for ``off``."""
    if value.strip().lower() == "off":
        return None
    if not _HH_MM.fullmatch(value.strip()):
        raise ValueError('it must be a time of day (UTC) between 00:00 and 23:59, such as 03:00, or "off"')
    return time.fromisoformat(value.strip())


def _patterns(value: str) -> list[str]:
    """Return the texts of a JSON list of texts; of an empty text none."""
    try:
        found = msgspec.json.decode(value, type=list[str]) if value.strip() else []
    except msgspec.DecodeError as error:
        raise ConfigurationError(
            f'it must be a JSON list of texts, such as ["EMP-[0-9]{{6}}"]: {error}'
        ) from error
    return found


_MOST_METADATA_KEYS = 4
_METADATA_KEY = re.compile(r"[\w.-]{1,64}")


def _names(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))


class StageSettings(PlaceSettings):
    """Settings of windows, summaries, turns, facts and duplicates.  Read as part of ``Settings``."""

    # Windows (ingest)
    window_size: int = setting(10, "messages in a window", "messages", ge=2, le=100)
    window_overlap: int = setting(
        3, "messages that a window repeats from the one before", "messages", ge=0, le=99
    )
    idle_seconds: float = setting(
        900.0, "silence, by sent_at or by arrival, after which a conversation's rest is flushed", "s", gt=0
    )
    conversation_forget_days: float = setting(
        90.0,
        "silence after which a conversation's state goes; what is said then begins it anew",
        "days",
        gt=0,
    )
    tick_seconds: float = setting(1.0, "how often silent conversations are looked for", "s", gt=0, le=60)
    max_content_bytes: int = setting(
        65_536, "longest message content, as UTF-8; longer ones are dead-lettered", "bytes", ge=1, le=500_000
    )

    # Token table and summaries
    token_threshold: int = setting(
        1200, "unsummarized tokens above which a summary is requested", "tokens", ge=1, le=1_000_000
    )
    summary_retry_seconds: float = setting(
        60.0, "how long a summary request stays unanswered before it is sent again", "s", gt=0
    )

    # Turns (recall)
    mask: Literal["on", "off"] = setting(
        "on",
        "on: card numbers, keys, tokens, passwords are masked before anything is made of them; off: nothing is",
    )
    mask_patterns: str = setting(
        "",
        'what else is masked: regular expressions (RE2 syntax), such as ["EMP-[0-9]{6}"]',
        allowed="JSON list of texts, or empty",
    )
    metadata_keys: str = setting(
        "",
        "by which fields of a message's `metadata` searches filter: turns note them from then on",
        allowed="up to four names with commas, or empty",
    )
    erased_files_seconds: int = setting(
        1800,
        "so long after an erasure recall begins to rewrite the files of the embedded indexes without what was "
        "erased until then; half an hour later at most they are clean",
        "s",
        ge=1,
        le=86_400,
    )
    turn_retention_days: float = setting(
        365.0,
        "how long memory.turns.v1 keeps a turn, from which the conversation log is filled again, and "
        "memory.episodes.v1 an episode; `topics apply` sets it there. The search knows them as long",
        "days",
        ge=1,
        le=36_500,
    )

    turn_log_days: float = setting(
        90.0,
        "how long Redis keeps a conversation's log, and who takes part in it, after its latest message (0: for "
        "ever); windows of older ones are read from memory.turns.v1. At least "
        "SWITCHBOARD_CONVERSATION_FORGET_DAYS: whose a conversation is must be known as long as it goes on",
        "days",
        ge=0,
        le=36_500,
    )

    backups: str = setting(
        "",
        "backups of what is kept, and for how many days each: nightly=35,yearly=400. A certificate of an "
        "erasure says when the last one from before is deleted",
        allowed="name=days with commas, or empty",
    )

    # Episodes (recall)
    episodes: Literal["fixed", "adaptive"] = setting(
        "fixed", "where episodes end: fixed, after so many turns; adaptive, where the topic changes, too"
    )
    episode_size: int = setting(20, "most turns of an episode", "turns", ge=2, le=200)
    episode_overlap: int = setting(
        3,
        "turns that an episode repeats from the one before, if that ended for its size (fixed: always)",
        "turns",
        ge=0,
        le=199,
    )

    # Facts (recall): how fast they fade.  Allergies and constraints do not.
    decay_event_per_day: float = setting(
        0.01, "how fast an event fades since it was last said", "1/d", ge=0, le=1
    )
    decay_instruction_per_day: float = setting(0.0, "how fast an instruction fades", "1/d", ge=0, le=1)
    decay_preference_per_day: float = setting(0.01, "how fast a preference fades", "1/d", ge=0, le=1)
    decay_profile_per_day: float = setting(0.01, "how fast a person's profile fades", "1/d", ge=0, le=1)
    decay_relation_per_day: float = setting(0.01, "how fast a relation to somebody fades", "1/d", ge=0, le=1)
    decay_state_per_day: float = setting(
        0.01, "how fast a state (home, employer, pets) fades; not: allergy, constraint", "1/d", ge=0, le=1
    )

    # Consolidation (memory): facts that say the same become one
    merge_similarity: float = setting(
        0.85,
        "nearness of two facts' vectors from which they may be one; `switchboard calibrate` finds a model's",
        "ratio",
        gt=0,
        le=1,
    )
    support_similarity: float = setting(
        0.6,
        "nearness from which what a person says bears out a fact about them; `switchboard calibrate` finds a "
        "model's; 1: nothing does",
        "ratio",
        gt=0,
        le=1,
    )
    recurring_fact_similarity: float = setting(
        1.0,
        "nearness from which sentences that a person says in several conversations become one fact when facts "
        "are looked at; what they tell of themselves then gets vectors; 0.75 fits the built-in model; 1: off",
        "ratio",
        gt=0,
        le=1,
    )
    consolidate_at: str = setting(
        "03:00",
        "when what changed of each person's facts is looked at, every day (UTC); off: on command only",
        allowed="HH:MM or off",
    )
    consolidate_within_minutes: float = setting(
        60.0,
        "over which time after that people are spread, each at the same one every day (0: all at once, which "
        "takes a core from everything else for as long as it lasts)",
        "min",
        ge=0,
        le=1_440,
    )

    # Search (recall)
    search_floor: float = setting(
        0.3,
        "chance that something answers below which a search finds nothing; 0: it always returns the best",
        "probability",
        ge=0,
        le=1,
    )

    # Context for the next turn (recall)
    context_tokens: int = setting(
        1500, "tokens of a context: messages, instructions, facts, episodes", "tokens", ge=0, le=1_000_000
    )
    context_patience_ms: float = setting(
        15.0,
        "how long a new turn's vector is waited for; after that its context is made of words, and again later",
        "ms",
        ge=0,
        le=10_000,
    )

    # Response filter (respond)
    content_similarity_threshold: float = setting(
        0.85, "similarity from which a sentence is a duplicate; 1: no content filtering", "ratio", ge=0, le=1
    )
    duplicate_window_sentences: int = setting(
        50, "earlier sentences that a new one is compared with", "sentences", ge=1, le=10_000
    )
    max_hold_ms: int = setting(
        500, "longest that text which may become similar is held back (fuzzy: on)", "ms", ge=0, le=60_000
    )
    max_repeat_hold_ms: int = setting(
        10_000,
        "longest that a sentence or line which repeats a passage is held back, with what came before it",
        "ms",
        ge=0,
        le=60_000,
    )
    response_fuzzy: Literal["off", "on"] = setting(
        "off", "on: take out what is similar, too; off: what repeats word for word only"
    )
    response_idle_seconds: float = setting(60.0, "silence after which a response is closed", "s", gt=0)
    response_memory: Literal["response", "conversation"] = setting(
        "response", "what a sentence is compared with: its own response, or the whole conversation"
    )
    response_memory_seconds: float = setting(
        86_400.0, "how long a conversation remembers what was said in it (memory: conversation)", "s", gt=0
    )

    @field_validator("mask_patterns")
    @classmethod
    def _check_patterns(cls, value: str) -> str:
        try:
            compiled(_patterns(value))
        except ConfigurationError as error:
            raise ValueError(str(error)) from error
        return value

    @field_validator("metadata_keys")
    @classmethod
    def _check_metadata_keys(cls, value: str) -> str:
        keys = _names(value)
        if len(keys) > _MOST_METADATA_KEYS:
            raise ValueError(f"it names {len(keys)} fields: at most {_MOST_METADATA_KEYS} are indexed")
        if wrong := [key for key in keys if not _METADATA_KEY.fullmatch(key)]:
            raise ValueError(f"{wrong[0]!r} is no name of up to 64 letters, digits, '.', '_' and '-'")
        return value

    @field_validator("consolidate_at")
    @classmethod
    def _check_consolidate_at(cls, value: str) -> str:
        _time_of_day(value)
        return value

    @property
    def consolidation_time(self) -> time | None:
        """When facts are looked at, every day (UTC); ``None``: on command only."""
        return _time_of_day(self.consolidate_at)

    @property
    def looks_for_recurring(self) -> bool:
        """True if facts are made of sentences that recur in several conversations."""
        return self.recurring_fact_similarity < 1.0

    @property
    def searched_metadata(self) -> tuple[str, ...]:
        """The fields of ``metadata`` that searches filter by."""
        return _names(self.metadata_keys)

    @property
    def own_patterns(self) -> list[str]:
        """The regular expressions of ``mask_patterns``."""
        return _patterns(self.mask_patterns)

    @property
    def decay_rates(self) -> Mapping[Kind, float]:
        """How fast facts fade, per day, by kind."""
        return {kind: float(getattr(self, f"decay_{kind.value}_per_day")) for kind in Kind}
