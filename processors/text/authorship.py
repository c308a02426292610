"""The author's own words of a message, apart from text that the author only passes on.

One rule for every extractor, the graph and instructions.  Text to translate, proofread or summarize, drafts for
somebody else, quoted or pasted text, role play, and a message by somebody else at the keyboard are not the
author's own words.  The rest of the message still is: "Translate this for my mum, she only speaks Thai: ..."
tells of a mother.  The tables know English, German, Spanish, French, Portuguese, Italian and Dutch; quotation
marks, code and block quotes are known in any language.
"""

from __future__ import annotations

import re

from processors.text.lexicon import KIN
from processors.text.sentences import sentence_spans


def own_words(text: str) -> str:
    """Return ``text`` with everything that is not the author's own blanked by spaces, character for character.

    The result has the length of ``text``, so spans of it are spans of ``text``.
    """
    if _OTHER_SPEAKER.match(text) or _ABOUT_A_TEXT.search(text):
        return _blanked(text)
    masked = _TYPESET.sub(_blank, text)
    masked = _QUOTED.sub(_blank_quote, masked)
    masked = _without_mail(masked)
    start = _passed_on_from(masked)
    if start is not None:
        masked = masked[:start] + _blanked(masked[start:])
    return _TRANSCRIPT.sub(_blank, masked) if len(_TRANSCRIPT.findall(masked)) > 1 else masked


def letters_of(text: str) -> int:
    """Return how many letters and digits a text has."""
    return sum(map(str.isalnum, text))


def _blank(match: re.Match[str]) -> str:
    return _blanked(match[0])


def _blanked(text: str) -> str:
    return "".join(each if each in "\r\n" else " " for each in text)


def _re(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE | re.MULTILINE)


#: Code, block quotes, log lines, JSON and templates.
_TYPESET = _re(
    r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|`[^`\n]+`|^[ \t]*(?:>|&gt;).*$"
    r"|^[ \t]*[\[(]?\d{1,4}[:./-]\d\d(?:[:./-]\d\d)*[\])]?,?(?: \S+)? (?:INFO|WARN(?:ING)?|ERROR|DEBUG|TRACE)\b.*$"
    r'|^[ \t]*[{\[]\s*"[\s\S]*?[}\]]\s*$|(?<![^.!?\n])[^.!?\n]*\{\{[^}\n]*\}\}[^.!?\n]*[.!?]?'.replace(
        ".*?(?:", r"[\s\S]*?(?:"
    )
)

#: A quotation: of at least three words, or with a first person in it.  A name in quotation marks stays.
_QUOTED = re.compile(
    r"“[^”]*”?|„[^“”]*[“”]?|«[^»]*»?|»[^«]*«|「[^」]*」?|『[^』]*』?|(?<!\w)\"[^\"]*\"?|(?<!\w)'[^'\n]*[.!?,]'(?!\w)"
)
_QUOTE_WORDS = 3

_FIRST = _re(
    r"\b(?:i|i'm|im|i've|i’m|i’ve|i'd|i'll|my|we|our|me|ich|mein\w*|wir|unser\w*|mir|mich|yo|mi|mis|soy|tengo|vivo|trabajo|"
    r"nosotros|nuestr\w+|je|j'\w+|j’\w+|mon|ma|mes|nous|notre|eu|meu|minha|sou|tenho|moro|trabalho|nós|io|mio|sono|"
    r"abito|ik|mijn|wij|ons)\b"
)


def _blank_quote(match: re.Match[str]) -> str:
    is_long = len(match[0].split()) >= _QUOTE_WORDS
    return _blanked(match[0]) if is_long or _FIRST.search(match[0]) else match[0]


# --- somebody else writes, or the message is about a text ------------------------------------------------

_KIN = "|".join((*KIN, r"grand\w+", "carer", "nurse", "assistant", "housemate"))
#: "This is not Ada, this is her sister", "I'm not the account owner"; "I'm not vegan" is the author's.
_NOT_ME = (
    rf"(?:not|nicht) (?:(?:the|der|die) (?:account |phone )?(?:owner|user|besitzer\w*)|(?-i:[A-ZÀ-Þ]\w+)"
    rf"(?=[^\n]{{0,40}}\b(?:{_KIN}|typing|writing|speaking|phone|account)\b))"
)
_OTHER_SPEAKER = _re(
    r"\s*(?:(?:hi|hello|hey|hallo|hola|salut|bonjour|olá|oi|ciao|hoi|sorry|ok|psst)[,!. ]+)*(?:"
    rf"(?:this is|it'?s|it’s|i am|i'm|i’m) (?!(?:my|our)\b)(?:{_NOT_ME}|[^.!?\n]{{0,40}}\b\w+['’]s (?:\w+ )?(?:{_KIN})\b|(?:his|her|their) (?:{_KIN})\b"
    r"|[^.!?\n]{0,30}\b(?:typing|writing) (?:for|on behalf of|instead of)\b)"
    rf"|(?:hier (?:ist|schreibt)|ich bin) (?:{_NOT_ME}|[^.!?\n]{{0,40}}\b(?:{_KIN}) von\b|[^.!?\n]{{0,20}}\w+s (?:{_KIN})\b)"
    rf"|(?:soy|aquí|habla|escribe) [^.!?\n]{{0,40}}\b(?:{_KIN}) de\b|(?:c['’]est|ici|je suis) [^.!?\n]{{0,40}}\b(?:{_KIN}) (?:de\b|d['’])"
    rf"|(?:aqui (?:é|quem fala é)|sou|quem escreve é) [^.!?\n]{{0,40}}\b(?:{_KIN}) (?:de|da|do)\b|(?:sono|qui è) [^.!?\n]{{0,40}}\b(?:{_KIN}) di\b"
    rf"|(?:dit is|hier is|met) [^.!?\n]{{0,30}}\b(?:{_KIN}) van\b"
    rf"|[A-Z]\w+['’]s (?:{_KIN}) here\b|[A-Z]\w+ here[,.] (?:not \w+|\w+['’]s (?:{_KIN}))"
    r"|(?:not \w+|someone else|somebody else)[,.:]? (?:here|typing|writing)"
    r"|(?:borrowing|using) [A-Z]?\w+['’]s (?:phone|laptop|account|tablet|computer)\b"
    r"|i['’]?m (?:on|using|borrowing) (?:my )?\w+['’]s (?:phone|laptop|account|tablet))"
)
_ABOUT_A_TEXT = _re(
    r"\b(?:is|are|does|was) (?:this|that|it|the following)\b[^.?!\n]{0,40}\b(?:sentences?|grammar\w*|phrase|spelling|"
    r"(?:good|correct|proper) english|correct|wording|idiomatic)\b[^.\n]{0,20}\?"
    r"|\bwhat(?:'s| is) (?:this|that|the) (?:song|poem|quote|film|movie|book)\b[^?]{0,20}\?|\bwhich (?:song|poem|film|movie|book) (?:is|goes)\b"
    r"|\bist (?:das|dieser satz|der satz)\b[^.?!\n]{0,30}\b(?:richtig|korrekt)\b|\b(?:está bien|es correct[ao])\b[^.?!\n]{0,30}\b(?:frase|escrito)\b"
    r"|\b(?:cette|la) phrase est[- ]elle (?:correcte|juste)|\b(?:a|essa|esta) frase (?:está|é) (?:corret|cert)\w+"
    r"|\blorem ipsum\b|\bfill (?:in|out) (?:this|the) form\b"
)

# --- a task, a label or a lead-in, and from there on a text ----------------------------------------------

_POLITE = (
    r"(?:(?:hi|hey|hello|ok|okay|so|now|and|then|also|please|pls|plz|quick(?: one| task)?|bitte|por favor|porfa|s['’]il (?:te|vous) pla[iî]t|per favore|"
    r"can|could|would|will|you|u|help me(?: to)?|i need you to|i want you to|i'd like you to|kannst|könntest|könnten|du|sie|mir|mal|puedes|podrías|"
    r"peux-tu|pouvez-vous|tu peux|pode|poderia|você|puoi|kun je|let'?s|let’s|just|next)[,:!]? +)*"
)
_TEXT_TASK = (
    r"translat\w*|proof-?read\w*|correct(?! me|[,.!])|fix(?= (?:this|the|my|these|grammar|spelling|typo|it\b|:))|rewrite|rephrase|reword|paraphrase|summari[sz]e|"
    r"shorten|polish|edit|improve|check(?= (?:this|the|my|for|these|spelling|grammar|if))|review(?= (?:this|the|my|these))|format|convert|grammar[- ]check|spell-?check|"
    r"sum up|tl;?dr|analy[sz]e|classify|extract|continue|complete|finish(?= (?:this|the) (?:story|text|sentence))|transcribe|parse|explain(?= (?:this|the) (?:\w+ )?(?:text|sentence|joke|poem|quote|log|line|mail|lyrics))|"
    r"read (?:this|the following)|rate this|annotate|anonymi[sz]e|"
    r"übersetz\w*|korrigier\w*|verbesser\w*|lektorier\w*|formulier\w*|fass\w* .{0,30}zusammen|kürz\w*|prüf\w*|schreib\w* (?:das|den text|den satz|dies\w*) um|"
    r"traduc\w*|tradú\w*|corrig\w*|corríg\w*|resum\w*|reescrib\w*|reformul\w*|acorta|revisa|mejora|"
    r"tradui\w*|corrige\w*|résume\w*|réécri\w*|relis\w*|relire|raccourci\w*|améliore\w*|"
    r"traduz\w*|corrij\w*|reescrev\w*|revis[ea]\w*|melhor[ae]\w*|tradurr\w*|correggi\w*|riscriv\w*|riassum\w*|vertaal\w*|corrigeer\w*|herschrijf\w*|vat .{0,20}samen"
)
_DRAFT = (
    r"(?:write|draft|compose|prepare|make up|create|generate|give me|suggest|tell|reply|respond|answer|send|say|invent|type|caption|dictate|word)\b"
    r"|schreib\w*|verfass\w*|entwirf|entwerf\w*|antwort\w*|sag\w*(?= (?:ihm|ihr|ihnen|meine))|escrib\w*|escríb\w*|redact\w*|redáct\w*|respond\w*|dile|"
    r"écri\w*|rédig\w*|répond\w*|dis-lui|escrev\w*|redij\w*|responda\w*|diga\w*|scriv\w*|rispond\w*|schrijf\w*|antwoord\w*"
)
_ROLE_PLAY = (
    r"act as\b|act like\b|pretend\b|play the (?:role|part)|role-?play|imagine (?:you|that|i am|i'm|i’m|we|a\b)|you are (?:now )?(?:an? \w+(?: \w+)?[.,:]|[A-Z]\w+[.,])|"
    r"you're (?:now )?playing|let'?s (?:play|pretend|do a role)|be my \w+[.,:]|in this (?:story|scene|game|scenario)|suppose (?:i|you|we)\b|"
    r"stell dir vor|tu so, als|spiel (?:mal )?(?:eine|einen|die rolle)|du bist (?:jetzt )?eine?\b|handle als|actúa como|haz de cuenta|finge|imagina que|eres un\w* |hagamos como|"
    r"fais comme si|imagine que|agis comme|joue le rôle|tu es un\w* |faz de conta|finja|aja como|imagine que|você é um\w* |fai finta|immagina di|sei un\w* |doe alsof|speel de rol|stel je voor|je bent een"
)
_TASK_AT = _re(
    rf"(?:(?<=[.!?…\n] )|(?<=[.!?\n])|^)[ \t]*{_POLITE}(?P<verb>(?P<text>{_TEXT_TASK})|(?P<play>{_ROLE_PLAY})|(?P<draft>{_DRAFT}))"
)
#: What a draft says: "a mail that says ...", "tell my boss that ...".
_CONTENT = _re(
    r"\b(?:that|saying|says?|said|telling|which says|about how|where i|in which|to say|like|dass|in der|que diga|que dice|diciendo|que dise|"
    r"disant|qui dit|que je|dizendo|que diz|che dice|dicendo|dat)\b"
)
_ARTEFACT = (
    r"e-?mails?|letters?|messages?|texts?|notes?|posts?|tweets?|bios?|captions?|reviews?|stor(?:y|ies)|poems?|songs?|lyrics|speech|essay|dialogue|dialog|chat|"
    r"transcript|article|prompt|sentences?|quotes?|paragraph|abstract|statement|ad|advert|listing|profile|cv|resume|résumé|cover letter|toast|scene|monologue|diary|"
    r"application|complaint|ticket|template|voicemail|sms|whatsapp|comment|reply|answer|blog|example|exercise|excerpt|headline|slogan|testimonial|character|"
    r"mail|brief|nachricht|satz|text|gedicht|geschichte|bewertung|rede|anzeige|beispiel\w*|carta|correo|mensaje|frase|cuento|historia|poema|reseña|"
    r"lettre|courriel|phrase|histoire|poème|avis|mensagem|texto|história|avaliação|lettera|messaggio|racconto|storia|bericht|zin|verhaal|gedicht"
)
_SPOKE = (
    r"wrote|writes|said|says|say|texted|texts|told|tells|replied|replies|answered|asked|posted|tweeted|emailed|mailed|messaged|claims?|claimed|stated|mentioned|shouted|sent|goes|reads|"
    r"schrieb|schreibt|sagte?|meinte?|antwortete|fragte|hat (?:mir )?geschrieben|escribió|dijo|dice|me puso|respondió|preguntó|mandó|"
    r"écrit|dit|répond\w*|demande|envoyé|escreveu|disse|diz|respondeu|mandou|perguntou|scritto|ha detto|dice|risponde|schreef|zei|antwoordde|appte"
)
#: A lead-in that names another's text, before its colon.
_LEAD = _re(
    rf"\b(?:{_SPOKE})\b|\b(?:{_ARTEFACT})\b|\b(?:customer|client|candidate|patient|applicant|landlord|tenant|agent|support|system|bot|guest|speaker|"
    r"interviewer|witness|kunde|kundin|patientin?|bewerber\w*|cliente|paciente|inquilino|candidat\w*|locataire|klant|source|input|output|original|facts?|memor(?:y|ies)|known|user|assistant|"
    r"transcript|subject|from|ticket|quote|tool)\b"
)
#: A lead-in that announces the author's own words.
_OWN_LEAD = _re(
    r"\b(?:update|news|thing|things|btw|by the way|ps|p\.s|edit|reminder|fyi|question|problem|confession|about me|about myself|anyway|situation|issue|plan|background|"
    r"truth|short|important|note to (?:you|self)|for (?:you|next time|the record|later)|remember|correction|i|i'm|i’m|i am|i've|me|us|we|my (?:answer|point|rule|diet|job|situation|update|schedule)|"
    r"übrigens|kurz|nachtrag|wichtig|neuigkeit\w*|frage|ich|wir|über mich|por cierto|noticia|nota|yo|sobre mí|importante|pregunta|"
    r"au fait|nouvelle|moi|je|sur moi|important|aliás|novidade|eu|sobre mim|pergunta|io|novità|ik|trouwens)\b"
)
_COLON = re.compile(r"(?<![\d/])[:：](?!//)(?!\d)(?=\s|[“\"«„'A-ZÀ-Þ¿¡])")
_HEADER = _re(
    r"^[ \t]*(?:(?:from|to|cc|subject|sent|date|von|an|betreff|gesendet|de|para|asunto|objet|à|envoyé|assunto|enviado|da|oggetto|aan|onderwerp|van)\s*:\s*\S.*\n\s*){2,}"
    r"|^-+ ?(?:original message|forwarded message|ursprüngliche nachricht|mensaje (?:original|reenviado)|message (?:d'origine|transféré)|mensagem (?:original|encaminhada))"
    r"|^(?:begin forwarded message|on .{5,60} wrote:)"
)
_GREETING = _re(
    r"^[ \t]*(?:dear|to whom|hi|hello|hey|sehr geehrte\w*|liebe[rs]?|hallo|estimad[oa]s?|querid[oa]s?|hola|ch(?:er|ère)s?|madame|monsieur|bonjour|prezad[oa]s?|"
    r"car[oa]|olá|gentile|egregi\w+|beste|geachte)\b[^.!?\n]{0,50}[,:!]?[ \t]*$"
)
_SIGN_OFF = _re(
    r"^[ \t]*(?:(?:best|kind|warm)(?:est)?(?: regards| wishes)?|regards|sincerely|yours\b.{0,20}|cheers|love|many thanks|thanks|thank you|cordially|"
    r"(?:mit )?(?:freundliche[nr]?|beste[nr]?|viele|liebe|herzliche) grü(?:ße|ßen|sse|ssen)|vg|lg|mfg|(?:un )?saludos?(?: cordiales)?|atentamente|un abrazo|"
    r"cordialement|bien à vous|amicalement|bises|atenciosamente|abraços?|cumprimentos|cordiali saluti|saluti|groet\w*|met vriendelijke groet\w*)[,.!]?[ \t]*$"
)
_TRANSCRIPT = _re(
    r"^[ \t]*(?:\[[^\]\n]*\][ \t]*)?[A-ZÀ-Þ][\w.'’-]{0,20}(?: [A-ZÀ-Þ#]?[\w.'’-]{1,20})?[ \t]*[:：][ \t]+\S.*$"
)


def _without_mail(text: str) -> str:
    """Blank a pasted mail: from its headers on, or from its greeting to the line after its sign-off."""
    if (header := _HEADER.search(text)) is not None:
        return text[: header.start()] + _blanked(text[header.start() :])
    greeting = _GREETING.search(text)
    closing = None if greeting is None else _SIGN_OFF.search(text, greeting.end())
    if greeting is None or closing is None or "\n" not in text[greeting.end() : closing.start()].strip(" \t"):
        return text
    name = text.find("\n", min(closing.end() + 1, len(text)))
    end = len(text) if name < 0 else name
    return text[: greeting.start()] + _blanked(text[greeting.start() : end]) + text[end:]


def _passed_on_from(text: str) -> int | None:
    """Return where another's text begins that runs to the end of the message, ``None`` if none does."""
    starts = [start for found in _TASK_AT.finditer(text) if (start := _task_text(text, found)) is not None]
    starts += [found.end() for found in _COLON.finditer(text) if _introduces(text, found.start())]
    return min(starts, default=None)


def _task_text(text: str, task: re.Match[str]) -> int | None:
    """Return where the text begins that a task is about; ``None`` if the message holds none."""
    if task["play"]:
        return task.start("verb")
    end = next((stop for start, stop in sentence_spans(text) if start <= task.start("verb") < stop), len(text))
    colon = _COLON.search(text, task.end(), end)
    line = text.find("\n", task.end(), end)
    if colon is not None:
        return colon.end()
    if line >= 0:
        return line
    if task["text"]:
        # A text follows in a paragraph or a sentence of its own, or without any mark behind the task itself.
        rest = text[end:]
        names_text = re.search(
            r"\b(?:this|that|these|it|following|below|text|diesen?|das|folgende\w*|est[eoa]|lo|ce(?:ci|tte)?|suivant\w*|ist[oe]|es[st][ea]|questo|dit|deze)\b",
            text[task.end() : end],
            re.I,
        )
        if rest.strip() and (names_text or "\n" in rest[:2]):
            return end
        first = _FIRST.search(text, task.end(), end)
        return (
            None
            if first is None
            or re.match(r"(?:my|mein\w*|mi|mis|mon|ma|mes|meu|minha|mijn|me|mir)\b", first[0], re.I)
            else first.start()
        )
    content = _CONTENT.search(text, task.end(), end)
    if content is not None and _FIRST.search(text, content.end(), end):
        return content.end()
    is_text = re.search(rf"\b(?:{_ARTEFACT})\b", text[task.end() : end], re.I)
    return end if is_text and "\n" in text[end : end + 2] and text[end:].strip() else None


def _introduces(text: str, colon: int) -> bool:
    """Return whether the colon introduces another's first person ("The candidate wrote: I ...")."""
    begin = max(text.rfind(mark, 0, colon) for mark in (".", "!", "?", "\n")) + 1
    lead, rest = text[begin:colon], text[colon + 1 :]
    if rest.startswith("    "):
        return False  # a quotation stood there, so what follows it is the author's again
    if not _FIRST.search(rest):
        return bool(re.search(rf"\b(?:{_SPOKE})\b", lead, re.I)) and len(rest.split()) >= _QUOTE_WORDS
    if re.search(rf"\b(?:i|ich|yo|je|eu|io|ik|we|wir)\b[^:]{{0,25}}\b(?:{_SPOKE})\b", lead, re.I):
        return False
    return _LEAD.search(lead) is not None and not _OWN_LEAD.match(lead.strip())
