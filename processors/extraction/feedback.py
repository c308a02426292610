"""Feedback: what a person says about the assistant's answers, and how it should answer.

Two forms: a standing instruction ("please be more concise", "stop apologizing", "from now on ...") and a
verdict on an answer ("too long", "that was helpful").  A request for a thing ("find parking") is neither,
but one with a lasting condition ("only", "always", "avoid", "make sure") says what the person wants: a
preference, though a weak one.
"""

from __future__ import annotations

import re

from models.facts import Category
from processors.extraction.grammar import conjugate, is_past, third_person
from processors.extraction.own_words import Sentence
from processors.extraction.rules import Ruling

_INSTRUCTION, _VERDICT, _LASTING_REQUEST = 0.85, 0.7, 0.65

_POLITE = re.compile(
    r"\A(?:(?:and|also|but|so|hey|well|then|actually|just)\b,? |(?:ok(?:ay)?|no|yes|yeah|sure|great|good|"
    r"thanks|thank you|alright|right)[,.!]+ |please,? |kindly |(?:can|could|would|will) you (?:please |just |"
    r"also )?|"
    r"(?:i want|i'd like|i would like|i need|i'd prefer|i'd rather|i would prefer) you to |you (?:should|must|"
    r"need to|can) |remember to |try to |make sure (?:you|to) )+",
    re.IGNORECASE,
)
_LASTING_OPENER = re.compile(
    r"(?:from now on|going forward|in (?:the )?future|next time|for future reference|as a rule|"
    r"in general)\b,? ?",
    re.IGNORECASE,
)
_ANSWERS = (
    r"(?:answers?|responses?|repl(?:y|ies)|messages?|explanations?|sentences|paragraphs|summar(?:y|ies)|tone|"
    r"style|language|wording|jargon|emojis?|emoticons|bullet ?points?|bullets|lists?|headings|markdown|"
    r"tables?|code blocks?|examples?|sources?|citations?|links?|disclaimers?|caveats?|filler|pleasantries|"
    r"exclamation (?:marks|points)|small talk|apolog(?:y|ies)|metric|imperial|celsius|fahrenheit)"
)
_MANNER = (
    r"(?:concise|brief|short(?:er)?|succinct|specific|precise|detailed|verbose|wordy|formal|informal|casual|"
    r"polite|direct|honest|blunt|friendly|friendlier|serious|technical|simple|simpler|clear(?:er)?|thorough|"
    r"creative|consistent|to the point|patronizing|condescending|repetitive)"
)
_TELLING = (
    r"(?:answer|respond|reply|write|speak|talk|explain|summari[sz]e|repeat|apologi[sz]e|apologi[sz]ing|ask|"
    r"asking|repeating|explaining|saying|call|calling|address|assume|assuming|guess|use|using|add|adding|"
    r"include|including|give|giving|show|keep|format|cite|lecture|lecturing|suggest|suggesting|remind|"
    r"interrupt|interrupting|say)"
)
#: What goes on like this commands nothing: "play is always fun".
_STATES = r"(?:is|are|was|were|isn't|aren't|will|would|has|had|came|come)\b"
_STYLE = re.compile(
    rf"(?:be (?:a (?:bit|little) )?(?:more |less |very |so |as |too )*{_MANNER}\b.*"
    rf"|(?:keep|make) (?:it|them|things|this|your {_ANSWERS}) (?:(?:a bit|much|very|more|less|under|below|"
    rf"to) )*\S.*"
    rf"|(?:more|less|fewer|no|shorter|longer|simpler) (?:{_ANSWERS}|{_MANNER}|detail|words)\b(?! {_STATES}).*"
    r"|(?:(?:a (?:bit|little)|much|even) )?(?:shorter|simpler|clearer|briefer)(?: next time)?"
    rf"|(?:use|avoid|skip|drop|include|add|leave out|prefer) (?:[\w-]+ ){{0,3}}?{_ANSWERS}\b.*"
    r"|(?:answer|respond|reply|write|speak|talk) (?:to me )?(?:only )?(?:in|with|like|as|more|less)\b.+"
    r"|call me (?!(?:back|later|when|at|if|an?|tomorrow|tonight|now|soon|asap|again|before|after|in|on|maybe|"
    r"crazy|weird|old|old-fashioned)\b)\S.*)",
    re.IGNORECASE,
)
_NOT_TO = re.compile(
    rf"(?:don't|do not|never|stop|quit|no need to|avoid) (?P<what>(?:ever )?{_TELLING}\b.*)", re.IGNORECASE
)
_ALWAYS = re.compile(rf"always (?P<what>{_TELLING}\b.*)", re.IGNORECASE)

_BAD = (
    r"wrong|incorrect|not (?:right|correct|true|helpful|what i (?:asked|meant|wanted|said)[\w ]*)|inaccurate|"
    r"unhelpful|useless|confusing|misleading|too (?:long|short|verbose|wordy|vague|complicated|technical|"
    r"formal|generic|much(?: detail)?|detailed)|nonsense|off topic|outdated|(?:a bit |way |far )too [\w ]+"
)
_GOOD = (
    r"(?:very |really |so |super |extremely |incredibly |quite )*(?:helpful|useful|clear|spot on|informative|"
    r"insightful)|exactly what i (?:needed|wanted|was looking for|asked for)"
)
_JUDGED = (
    rf"(?:that|this|it|(?:that|this|your|the) (?:last |previous )?{_ANSWERS})"
    r"(?:'s| is| was| were| are| isn't| wasn't|'s been)?"
)
_VERDICT_ON_ANSWER = re.compile(
    rf"(?:{_JUDGED} )?(?P<a>(?:just |still |all |much |way |far |a bit |not )*(?:{_BAD}|{_GOOD}))",
    re.IGNORECASE,
)
_VERDICT_ON_ASSISTANT = re.compile(
    r"(?:i (?:really |also |do )*(?P<opinion>like|love|appreciate|hate|dislike|don't like) (?P<how>(?:how|"
    r"when|that|it when) you\b.+|your "
    rf"(?:[\w-]+ )?{_ANSWERS}\b.*)"
    r"|you(?:'re| are) (?P<being>(?:being |too |so |way too |very |really )*(?:verbose|wordy|helpful|vague|"
    r"rude|repetitive|condescending|slow|patronizing|formal|confusing)\b.*)"
    r"|you (?P<did>keep \w+ing\b.+|didn't answer\b.*|misunderstood\b.*|got (?:it|that) wrong\b.*|"
    r"missed the point\b.*|always (?:forget|repeat|apologi[sz]e)\b.*))",
    re.IGNORECASE,
)
_COMMAND = (
    r"(?:list|display|pick|go with|tune|switch|find|look for|search|show|get|give|take|set|keep|turn|route|"
    r"navigate|choose|pick|select|filter|prioriti[sz]e|avoid|skip|ignore|play|use|make sure|ensure|include|"
    r"exclude|plan|stick|go|recommend|suggest|book|order|start|direct|put|adjust|prefer|worry)\b"
    rf"(?! {_STATES})"
)
_IMPERATIVE = re.compile(
    rf"{_COMMAND}|(?:be|do|bring|check|let|leave|wake|help|send|drive|{_TELLING})\b(?! {_STATES})",
    re.IGNORECASE,
)
_REQUEST = re.compile(
    rf"{_COMMAND}|(?:always|never|don't|do not),? (?:ever |only )?(?:{_COMMAND}|drive\b)"
    r"|only (?!(?:kidding|joking|if|when|because|time|then|you|i|we|he|she|they|that|in case)\b)"
    r"|no (?!(?:need|idea|thanks|problem|worries|matter|hurry|rush|pressure|wait|way|clue|kidding|jokes?|"
    r"offen[sc]e|doubt|comment|more|longer|one|luck|big deal|it|i|that|this|you|not)\b)",
    re.IGNORECASE,
)
_LASTING = re.compile(
    r"\b(?:only|always|never|avoid(?:ing)?|make sure|ensure|prefer(?:ably)?|prioriti[sz]e|no matter|"
    r"at all times|every time|skip any|must be|has to be|without any|regardless|ideally|as usual|"
    r"at all costs)\b",
    re.IGNORECASE,
)
_REASON = re.compile(
    r"[,;.]? (?:because|since|as|so) (?:i|it)\b|[,;–—] (?:i|i'm|it's|that's|they|this|it|we)\b| - ",
    re.IGNORECASE,
)
#: A reason that makes a request a habit: "..., that's my usual go-to", "..., that's how I like it"
_OWN_WAY = re.compile(
    r"(?:my (?:usual|favou?rite|go-to|jam|preferred|fav)|(?:how|where|what|the way|when) i (?:\w+ )?(?:like|"
    r"want|prefer|love)|i (?:\w+ )?(?:prefer|love|like|need)\b)",
    re.IGNORECASE,
)
#: "Rap only", "Health topics, only those", "It has to be kosher"
_ONLY = re.compile(
    r"(?:(?P<what>(?!only|it|that|this|the only|i |i'|we |you |members )[\w' -]{2,40}?),? only"
    r"(?: those| that| please)?"
    r"|(?:it |yes |yeah |but )?(?:must be|has to be|needs to be) "
    r"(?P<must>(?!able|there|home|at|in|somewhere|a mistake)[\w' -]{2,40}))",
    re.IGNORECASE,
)
_POINTER_ONLY = re.compile(r"(?:do|make|keep|get) (?:it|that|this|so)\b.{0,12}$", re.IGNORECASE)
_END = re.compile(r"[\s.!?,;:…]+$")
_TAIL = re.compile(
    r",? (?:please|thanks|thank you|ok(?:ay)?|if (?:that's )?possible|if you can|will you)$", re.IGNORECASE
)


def feedback(sentence: Sentence, *, after_answer: bool) -> Ruling | None:
    """Judge a sentence spoken to an assistant; ``after_answer``: the message before is the assistant's."""
    text = _strip(sentence.text)
    if not text:
        return None
    lasting = _LASTING_OPENER.match(text)
    command = _POLITE.sub("", text[lasting.end() :] if lasting else text, count=1)
    if (found := _instruction(command, lasting=bool(lasting))) is not None:
        return found
    if sentence.is_question:
        return None
    if after_answer and (match := _VERDICT_ON_ANSWER.fullmatch(text)) is not None:
        negation = "not " if re.search(r"(?:isn't|wasn't) ", text) else ""
        return _ruled(f"found the assistant's answer {negation}{third_person(match['a'].lower())}", _VERDICT)
    if (match := _VERDICT_ON_ASSISTANT.match(text)) is not None:
        return _on_assistant(match)
    wish = _REASON.split(command, maxsplit=1)[0]
    if _POINTER_ONLY.match(wish):
        return None
    if _REQUEST.match(wish) and (_LASTING.search(wish) or _OWN_WAY.search(command, len(wish))):
        return _wanted(wish)
    if (match := _ONLY.fullmatch(wish)) is not None:
        only = match["what"] or match["must"]
        return Ruling(f"User wants only {third_person(only)}", Category.PREFERENCE, _LASTING_REQUEST)
    return None


def _strip(text: str) -> str:
    before = ""
    while text != before:
        before = text
        text = _TAIL.sub("", _END.sub("", text))
    return text


def _instruction(command: str, *, lasting: bool) -> Ruling | None:
    if (match := _NOT_TO.fullmatch(command)) is not None:
        words = match["what"].split()
        words[0] = _base_form(words[0])
        return _ruled(f"asks the assistant not to {_second_person(' '.join(words))}", _INSTRUCTION)
    if (match := _ALWAYS.fullmatch(command)) is not None:
        return _ruled(f"asks the assistant to always {_second_person(match['what'])}", _INSTRUCTION)
    if _STYLE.fullmatch(command):
        verb = command[:1].lower() + command[1:]
        wanted = (
            verb
            if re.match(
                r"(?:be|keep|make|use|avoid|skip|drop|include|add|leave|prefer|answer|respond|reply|write|"
                r"speak|talk|call)\b",
                verb,
            )
            else f"give {verb}"
        )
        if re.match(rf"give (?:(?:a \w+|much|even|more|less) )*{_MANNER}$", wanted):
            wanted = f"be {verb}"
        return _ruled(f"asks the assistant to {_second_person(wanted)}", _INSTRUCTION)
    if (
        # "As a rule, cats sleep a lot" asks for nothing.
        lasting and (_IMPERATIVE.match(command) or _REQUEST.match(command))
    ):
        return _ruled(
            f"asks the assistant to {_second_person(command[:1].lower() + command[1:])} from now on",
            _INSTRUCTION,
        )
    return None


_MODAL = re.compile(r"(?:can|could|will|would|wo|should|must|may|might|did)(?:n?[’']t)?")


def _on_assistant(match: re.Match[str]) -> Ruling:
    if match["how"] is not None:
        verb = match["opinion"].lower()
        opinion = "doesn't like" if verb == "don't like" else conjugate(verb)
        return _ruled(f"{opinion} {_of_assistant(match['how'])}", _INSTRUCTION)
    if match["being"] is not None:
        return _ruled(f"finds the assistant {third_person(match['being'])}", _VERDICT)
    did = match["did"]
    did = re.sub(r"\byourself\b", "itself", did)
    did = re.sub(r"^keep\b", "keeps", re.sub(r"^always (forget|repeat|apologi[sz]e)", r"always \1s", did))
    return _ruled(f"says that the assistant {third_person(did)}", _VERDICT)


def _wanted(command: str) -> Ruling:
    lowered = command[:1].lower() + command[1:]
    if re.match(r"(?:only|no)\b", lowered) and not _REQUEST.match(lowered, 5):
        wanted = f"User wants {_second_person(lowered)}"
    elif (match := re.match(r"(?:don't|do not|never) ", lowered)) is not None:
        wanted = f"User asks not to {_second_person(lowered[match.end() :])}"
    else:
        wanted = f"User asks to {_second_person(lowered)}"
    return Ruling(wanted, Category.PREFERENCE, _LASTING_REQUEST)


def _ruled(what: str, confidence: float) -> Ruling:
    return Ruling(f"User {what}", Category.FEEDBACK, confidence)


def _second_person(text: str) -> str:
    """ "your answers" are the assistant's own: "its answers"."""
    text = re.sub(r"\byou're\b", "it's", re.sub(r"\byour\b", "its", third_person(text)))
    return re.sub(r"\byou\b(?!')", "it", text)


def _of_assistant(text: str) -> str:
    text = re.sub(r"\byour\b", "the assistant's", third_person(text), count=1)
    text = re.sub(r"\byou (\w+(?:[’']t\b)?)", lambda m: f"the assistant {_agree(m[1].lower())}", text)
    return re.sub(r"\byour\b", "its", re.sub(r"\byou\b", "the assistant", text))


def _agree(verb: str) -> str:
    """Make a verb fit "the assistant"; modal verbs, their negations and adverbs stay as they are."""
    unchanged = is_past(verb) or _MODAL.fullmatch(verb) or verb in ("always", "never")
    return verb if unchanged else conjugate(verb.replace("’", "'"))


def _base_form(verb: str) -> str:
    verb = verb.lower()
    if not verb.endswith("ing"):
        return verb
    stem = verb[:-3]
    return stem + "e" if stem in ("us", "apologiz", "apologis", "assum", "includ", "lectur", "giv") else stem
