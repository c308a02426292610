"""Passwords that people tell in other languages than English: ``mein Passwort ist …``, ``密码：…``."""

from __future__ import annotations

import re

#: What a password is called, in lower case, where spaces part words; and where they do not.
_SPACED = (
    r"passwort|kennwort|mots?\sde\spasse|contraseña|contrasena|senha|palavra-passe|wachtwoord|lösenord|adgangskode|"
    r"kodeord|passord|salasana|hasło|heslo|şifre|parola|jelszó|mật\skhẩu|kata\ssandi|парол[ьяюи]|парола|"
    r"κωδικός(?:\sπρόσβασης)?|סיסמה|סיסמא|סיסמת|كلمة\s(?:ال)?(?:مرور|سر)|رمز\sعبور|पासवर्ड|비밀번호|패스워드|암호"
)
_UNSPACED = r"密码|密碼|口令|パスワード|暗証番号|รหัสผ่าน"

#: A part of each of these words: a text without any of them, in lower case, holds none.
_ASCII_HINTS = (
    *("asswor", "passwd", "pwd", "ennwor", "de passe", "contrasena", "senha", "avra-passe", "wachtwoord"),
    *("adgangskode", "kodeord", "passord", "salasana", "heslo", "parola", "jelszavam", "sandi"),
)
_OTHER_HINTS = (
    *("contraseña", "lösenord", "hasło", "şifre", "jelszó", "khẩu", "парол", "κωδικ", "סיסמ", "كلمة", "رمز"),
    *("पासवर्ड", "비밀번호", "패스워드", "암호", "密码", "密碼", "口令", "パスワード", "暗証番号", "รหัสผ่าน"),
)

_IS = (
    r"ist|lautet|war|est|était|es|era|è|é|is|was|är|var|er|on|to|jest|je|este|là|adalah|это|был|є|είναι|"
    r"היא|هي|هو|[-–—]"
)
_QUOTE = r"[\"'“‘„«「『]?"
_ENDS = r"\s\"'`“”„‘’«»「」『』、。,;<>(){}\[\]"

#: How it is kept, or how long it is.
_NO_SECRET = r"(?!(?:base|sha|md|utf|argon|aes|rsa)-?\d|\d{1,4}-[^\W\d_])"
_SECRET = rf"{_NO_SECRET}(?P<secret>[^{_ENDS}]{{5,1023}}[^{_ENDS}.!?:])"
#: Where words follow it without a space.
_ASCII_SECRET = rf"{_NO_SECRET}(?P<secret>(?:(?![{_ENDS}])[!-~]){{5,1023}}(?![{_ENDS}.!?:])[!-~])"

#: Endings of the words ("hasła", "비밀번호는"), and what it is for ("du wifi").
_ENDING = r"[^\W\d_]{0,5}"
_FOR = r"(?:\s[^\W\d_]{1,32}){0,4}?"

#: For texts whose full-width forms are folded (:mod:`.widths`).
PATTERNS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        # "WLAN-Passwort: …"
        rf"(?:{_SPACED}){_ENDING}[\"']?\s{{0,5}}[:=]\s{{0,5}}{_QUOTE}{_SECRET}",
        # "mein Passwort für das WLAN ist: …"
        rf"(?:{_SPACED}){_ENDING}{_FOR}\s{{1,5}}(?:{_IS})\s{{0,2}}:?\s{{0,5}}{_QUOTE}{_SECRET}",
        # "la mia password è …"; the rest of these are words of English, too
        rf"(?:password|passwd){_FOR}\s{{1,5}}(?:ist|lautet|est|es|era|è|é|är|er)\s{{0,2}}:?\s{{0,5}}{_QUOTE}{_SECRET}",
        # "şifrem …", "비밀번호는 … 입니다": no verb stands before it
        rf"(?:şifrem|parolam|jelszavam|पासवर्ड|비밀번호|패스워드|암호|رمز\sعبور|пароль){_ENDING}\s{{1,5}}{_QUOTE}{_SECRET}",
        # "WiFi密码是…", "パスワードは「…」", "我的password是…"
        rf"(?:{_UNSPACED}|passwords?|passwd|pwd)\s{{0,5}}(?:是|为|為|は|คือ)\s{{0,2}}:?\s{{0,5}}{_QUOTE}{_ASCII_SECRET}",
        # "密码：…", "密码…"
        rf"(?:{_UNSPACED})\s{{0,5}}[:=]?\s{{0,5}}{_QUOTE}{_ASCII_SECRET}",
    )
)


def may_be_in(text: str) -> bool:
    """Say whether a text may hold such a password; it is asked of every message."""
    lowered = text.lower()
    hints = _ASCII_HINTS if text.isascii() else _ASCII_HINTS + _OTHER_HINTS
    for hint in hints:  # noqa: SIM110  # a generator takes twice as long
        if hint in lowered:
            return True
    return False
