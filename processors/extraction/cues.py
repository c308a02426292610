"""Surface cues of a sentence: what a note-taker's eye catches before reading it.

A cue is a name and a pattern; a sentence has it or not.  They know English, and the commonest words of German,
Spanish, French and Portuguese.  Names, brands and topics are no cues.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_CUES = {
    "first person": r"\b(?:i|i['’]?m|i['’]?ve|i['’]?d|i['’]?ll|im|ive|me|myself|ich|mir|mich|yo|me|je|j['’]\w+|moi|eu)\b",
    "mine": r"\b(?:my|mine|mein\w*|mi|mis|mío|mía|mon|ma|mes|meu|minha|meus|minhas)\b",
    "we": r"\b(?:we|we['’]\w+|us|our|ours|wir|uns|unser\w*|nosotr\w+|nos|nuestr\w+|nous|notre|a gente|nosso|nossa)\b",
    "begins with I": r"^(?:i|i['’]\w+|im|ive|my|we|ich|mein\w*|wir|mi|mis|je|j['’]\w+|mon|ma|eu|meu|minha)\b",
    "you": r"\b(?:you|your|u|ur|du|dein\w*|dir|dich|sie|ihnen|tú|tu|te|usted|toi|vous|votre|você|vc)\b",
    "question": r"[?？]\s*$",
    "question word": r"^(?:what|how|why|when|where|who|which|can|could|do|does|did|is|are|will|should|any|was|wie|was|warum|wann|wo|wer|kann|qué|cómo|cuál|cuándo|dónde|quel\w*|comment|pourquoi|quand|est-ce|como|qual|quando|onde|por que)\b",
    "always": r"\b(?:always|never|every|each|usually|mostly|generally|whenever|normally|immer|nie|niemals|jede[nrs]?|meistens|siempre|nunca|cada|todos los|toujours|jamais|chaque|tous les|sempre|todo|toda)\b",
    "since": r"\b(?:since|for (?:\w+ ){1,2}(?:years?|months?|weeks?)|years? (?:now|ago)|until|still|already|seit|noch|schon|desde|hace|todavía|aún|depuis|encore|déjà|há|ainda|já)\b",
    "no longer": r"\b(?:any ?more|no longer|not? more|used to|former|ex|quit|gave up|given up|stopped|over|finished|cancel\w+|nicht mehr|keine? \w* ?mehr|früher|aufgehört|ya no|dejé|antes|ne \w+ plus|arrêté|plus de|não \w+ mais|parei|larguei)\b",
    "change": r"\b(?:moved?|started|start|begin\w*|switch\w*|changed?|new|now|become|became|turned|got|bought|sold|signed|joined|left|passed|accepted|decided|umgezogen|angefangen|neue?[nrs]?|jetzt|gekauft|nuev[oa]|empec\w+|ahora|compré|vendí|mud\w+|nouveau|nouvelle|commencé|maintenant|acheté|novo|nova|agora|comecei|comprei)\b",
    "from now on": r"\b(?:from now on|from here on|(?:in|for) (?:the )?future|(?:new|second|third|another|one more|one) rule|going forward|henceforth|next time|ab jetzt|ab sofort|in zukunft|künftig|a partir de ahora|en adelante|désormais|dorénavant|à l['’]avenir|de agora em diante|a partir de agora|daqui pra frente)\b",
    "order": r"^(?:and |also |oh |ok(?:ay)?,? |so |but |then |no,? |please |pls |plz )*(?:please|stop|don['’]?t|do not|never|keep|use|write|give|answer|call|make|talk|speak|remember|remind|no|only|just|be|say|spare|skip|bitte|schreib\w*|antwort\w*|nenn\w*|merk\w*|sag\w*|kein\w*|no me|háblame|llámame|respond\w+|usa|nada de|appel\w+|répond\w+|arrête|évit\w+|me chama|responde|fala|pode parar|sem)\b",
    "keep secret": r"\b(?:secret|don['’]?t tell|nobody knows|no one knows|between us|between you and me|private\w*|confidential|keep (?:it|this|that) (?:quiet|to yourself)|not? a word|geheim\w*|niemand weiß|unter uns|secreto|nadie (?:lo )?sabe|entre nous|personne ne sait|segredo|ninguém sabe|entre nós)\b",
    "if": r"\b(?:would|could|might|maybe|perhaps|if|wish|imagine|suppose|should i|thinking of|thinking about|would(?:n['’]t)?|wenn|würde|wäre|vielleicht|si|quizás?|tal vez|sería|peut-être|serait|aimerais|se|talvez|seria|queria)\b",
    "taste": r"\b(?:lov\w+|hat(?:e|es|ed|ing)|like[sd]?|prefer\w*|favou?rite\w*|can['’]?t stand|enjoy\w*|fan of|adore|fond|obsessed|detest|mag|mochte|liebe\w*|hasse|lieber|lieblings\w*|gern\w*|gusta\w*|encanta\w*|odio|prefiero|favorit\w+|aime\w*|adore|déteste|préfère|préféré\w*|gosto|adoro|odeio|prefiro)\b",
    "health": r"\b(?:allerg\w*|intoleran\w*|diabet\w*|insulin\w*|asthma\w*|coeliac|celiac|epilep\w*|migraine\w*|pregnan\w*|medic\w*|pills?|tablets?|dose|mg|doctor|surgery|operation|hospital|diagnos\w*|blood|heart|knee|hip|back pain|therapy|therapist|adhd|depress\w*|anxiety|inhaler|pacemaker|penicillin|statins?|vegan\w*|vegetari\w*|gluten|lactose|halal|kosher|diet|arzt|ärztin|tabletten|schwanger|blutdruck|alergi\w*|médic\w*|pastillas|embarazad\w*|ordonnance|enceinte|médecin|traitement|grávida|remédio|pressão)\b",
    "family": r"\b(?:wife|husband|sons?|daughters?|kids?|child|children|baby|mum|mom|mam|mama|mummy|dad|mother|father|brothers?|sisters?|boyfriend|girlfriend|partner|fianc\w+|nan|nana|gran\w*|aunt\w*|uncle|cousin|niece|nephew|twins|parents|in-laws?|step\w+|ex-\w+|frau|mann|sohn|tochter|kinder|mutter|vater|bruder|schwester|freundin|freund|oma|opa|eltern|mujer|marido|hij[oa]s?|madre|padre|herman[oa]s?|novi[oa]|abuel[oa]|suegr[oa]|femme|mari|fils|fille|mère|père|frère|sœur|compagn\w+|esposa|filh[oa]s?|mãe|pai|irm[ãa]o?|namorad[oa]|vó|vô|avó|sogra)\b",
    "friend or colleague": r"\b(?:friends?|mate|buddy|neighbou?rs?|boss|manager|colleague\w*|coworker\w*|flatmate|housemate|roommate|teacher|coach|dentist|landlord|chef|kolleg\w+|nachbar\w*|amig[oa]s?|jefe|jefa|vecin\w+|ami[es]*|collègue\w*|voisin\w*|patron|chefe|vizinh\w+)\b",
    "pet": r"\b(?:dogs?|cats?|pupp\w+|kitten\w*|horses?|hens?|chickens?|parrots?|rabbits?|tortoise|hamster|pets?|hund\w*|katze\w*|kater|perr[oa]s?|gat[oa]s?|chiens?|chats?|chienne|cachorr\w+)\b",
    "job": r"\b(?:work\w*|jobs?|shifts?|office|company|firm|boss|employ\w*|hired|fired|retired?|retirement|promot\w+|salary|contract|career|degree|university|college|school|course|exam|study\w*|studies|student|nurse|teacher|engineer|arbeit\w*|schicht\w*|firma|stelle|beruf|rente|studium|schule|trabaj\w+|empresa|turno\w*|jubil\w+|carrera|travail\w*|boulot|retraite|métier|école|trabalh\w+|emprego|plantão|faculdade|escola|serviço)\b",
    "home": r"\b(?:live[sd]?|living|flat|apartment|house|home|moved|rent\w*|street|village|town|city|neighbourhood|landlord|mortgage|garden|wohn\w*|haus|wohnung|stadt|dorf|miete|viv[oei]\w*|piso|casa|barrio|calle|habit\w+|maison|appartement|ville|quartier|mor[oa]\w*|apê|bairro|rua)\b",
    "owns": r"\b(?:have|has|had|own\w*|got|['’]ve got|bought|habe|hab|hast|tengo|tiene|tenemos|j['’]ai|nous avons|avons|tenho|temos|tem)\b",
    "is called": r"\b(?:called|named|name is|name['’]s|names are|call(?:s)? (?:me|him|her|it)|heiß\w*|namens|se llama|me llamo|llaman|s['’]appelle|m['’]appelle|chama|chamo|nome)\b",
    "birthday": r"\b(?:birthday|born|turn(?:s|ed|ing)? \d+|\d+ years? old|years old|anniversary|wedding|geburtstag|geboren|jahre alt|cumple\w*|años|nací|aniversario|anniversaire|née?|ans|aniversário|nasci|anos)\b",
    "plan": r"\b(?:will|going to|gonna|plan\w*|next (?:week|month|year|spring|summer|autumn|winter)|booked|book|ticket\w*|hope to|want to|in (?:january|february|march|april|may|june|july|august|september|october|november|december)|werde\w*|nächste[nrs]?|plane|gebucht|möchte|voy a|vamos a|próxim\w+|reservad\w+|quiero|je vais|nous allons|prochain\w*|réservé|vou|vamos|que vem|marquei|marcad\w+|quero)\b",
    "negation": r"\b(?:not|n['’]t|don['’]?t|can['’]?t|won['’]?t|no|never|without|nicht|kein\w*|nie|no|nunca|sin|ne|n['’]\w+|pas|jamais|sans|não|nunca|sem)\b",
    "correction": r"\b(?:no wait|wait no|i mean|sorry|correction|actually|scratch that|not \w+ but|meant|stimmt nicht|doch nicht|quatsch|perdón|mejor dicho|en realidad|pardon|en fait|plutôt|aliás|na verdade|quer dizer)\b",
    "digit": r"\d",
    "date": r"\b(?:\d{1,2}(?:st|nd|rd|th)|\d{1,2}[./]\d{1,2}|(?:19|20)\d\d|january|february|march|april|june|july|august|september|october|november|december|jan|feb|aug|sept?|oct|nov|dec|januar|februar|märz|mai|juni|juli|oktober|dezember|enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre|janvier|février|mars|avril|juin|juillet|août|septembre|octobre|novembre|décembre|janeiro|fevereiro|março|maio|junho|julho|setembro|outubro|novembro|dezembro)\b",
    "weekday": r"\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|weekends?|montags?|dienstags?|mittwochs?|donnerstags?|freitags?|samstags?|sonntags?|lunes|martes|miércoles|jueves|viernes|sábados?|domingos?|lundis?|mardis?|mercredis?|jeudis?|vendredis?|samedis?|dimanches?|segunda|terça|quarta|quinta|sexta)\b",
    "today": r"\b(?:today|tonight|this (?:morning|evening|afternoon|week|weekend)|right now|at the moment|yesterday|tomorrow|heute|gestern|morgen|gerade|hoy|ayer|mañana|esta noche|aujourd['’]hui|hier|demain|ce soir|ce matin|hoje|ontem|amanhã|essa semana)\b",
    "thanks": r"\b(?:thanks?|thx|ta|cheers|lol|haha\w*|ok(?:ay)?|great|perfect|nice|cool|good|lovely|brilliant|sure|yes|yeah|yep|danke|super|genau|gracias|vale|perfecto|merci|parfait|d['’]accord|obrigad[oa]|valeu|beleza|show|kkk+)\b",
    "laughs": r"\b(?:lol|lmao|haha\w*|hehe\w*|jaja\w*|kkk+|rsrs|mdr|ha)\b|[😂🤣😅🙃]|;\)|:[pP]\b",
    "swears": r"\b(?:oh great|oh joy|just what i needed|of course|obviously|as if|yeah right|sure,|brilliant\.|clearly|apparently|lucky me|naturally)",
    "task": r"\b(?:write|draft|translat\w*|rewrite|proofread|summari[sz]\w*|explain|calculate|list|find|suggest|recommend|check|compare|recipe|ideas?|tips?|help|show me|tell me|give me|schreib\w*|übersetz\w*|erklär\w*|rezept|hilf|vorschl\w+|escrib\w+|traduc\w+|explic\w+|receta|ayud\w+|écri\w*|traduis|expliqu\w*|recette|aide\w*|escrev\w+|traduz\w*|explica|receita|ajuda)\b",
    "pretend": r"\b(?:imagine|pretend|role-?play|act as|story|character|novel|film|movie|book|song|game|poem|dreamt?|stell dir vor|geschichte|roman|cuento|novela|película|histoire|roman|film|conto|filme|livro|sonhei)\b",
    "others say": r"\b(?:says?|said|told me|wrote|thinks?|claims?|reckons|apparently|according to|sagt\w*|meint\w*|dice|dijo|dicen|dit|disent|disse|falou|diz)\b",
    "people in general": r"\b(?:people|everyone|everybody|they say|nobody|someone|most|some|leute|man|alle|la gente|todo el mundo|on|les gens|tout le monde|todo mundo|as pessoas)\b",
    "he, she, they": r"\b(?:he|she|they|his|her|their|him|them|er|sie|ihr\w*|sein\w*|él|ella|ellos|il|elle|ils|elles|son|sa|ses|ele|ela|eles|dele|dela)\b",
    "name inside": r"(?-i:(?<!^)(?<![.!?…] )\b[A-ZÀ-Þ][a-zà-þ]{2,})",
    "money": r"[£$€]\s?\d|\b(?:\d+ ?(?:euros?|pounds?|dollars?|quid|bucks|reais|k)|budget|debt|loan|savings|overdraft|pension|gehalt|kredit|deuda|ahorr\w+|dette|épargne|dívida)\b",
    "third person of user": r"\b(?:the user|user['’]s|der nutzer|el usuario|l['’]utilisateur|o usuário)\b",
    "exclamation": r"!",
    "ellipsis": r"\.\.\.|…",
    "list or label": r":\s|\n|^\W*[-*•]\s|;",
    "code or markup": r"[{}<>|\\]|https?://|\w\(\)|==",
}


class Cue(NamedTuple):
    name: str
    pattern: re.Pattern[str]


CUES: tuple[Cue, ...] = tuple(Cue(name, re.compile(pattern, re.IGNORECASE)) for name, pattern in _CUES.items())
