"""Masking: secrets of well-known shapes go, and what only looks like one stays."""

from __future__ import annotations

import random

import pytest

from processors.retrieval.recall.masking import Masker

MASKER = Masker()


def token(length: int, alphabet: str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") -> str:
    """Made here and now: nobody's scanner takes this file for a leak."""
    return "a1B" + "".join(random.Random(length).choices(alphabet, k=length - 3))


#: Numbers that issuers publish for tests.
CARDS = (
    "4111 1111 1111 1111",
    "4012-8888-8888-1881",
    "5555 5555 5555 4444",
    "3782 822463 10005",
    "3056 930902 5904",
    "6759 6498 2643 8453",
    "4111\u00a01111\u00a01111\u00a01111",
)


AROUND_CARDS = ("{}", "card:{},thanks", "({})", "“{}”", "a\n{}\nb", "{} 12/28 123")


@pytest.mark.parametrize(
    ("number", "around"),
    [*((number, "my card is {}.") for number in CARDS), *((CARDS[0], around) for around in AROUND_CARDS)],
)
def test_a_card_number_goes(number: str, around: str) -> None:
    text, found = MASKER.mask(around.format(number))
    assert text == around.format("[masked: card number]") or text.startswith(around[: around.index("{")])
    assert found == {"card number": 1}
    assert number not in text
    assert not any(len(piece) > 3 and piece in text for piece in number.split())


@pytest.mark.parametrize(
    "text",
    [
        "Order 4111111111111112 has shipped.",  # the check digit is wrong
        "Call +49 151 1234 5678 or +4111111111111111.",
        "44444444-4444-4444-4444-444444444448",
        "pi is 3.14159265358979323846, e is 2.7182818284590452353",
        "The password of the ward is covid-19-related. My password is mp3-like.",
        "PWD=/home/ada2/project OLDPWD=/home/ada2",
        "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A\n-----END PUBLIC KEY-----",
        "Le mot de passe est trop long. La contraseña es de 8 caracteres.",
        "密码是sha256加密的，密码是8到12位字符，密码重置2026-11-23T10:00:00",
    ],
)
def test_what_only_looks_like_a_secret_stays(text: str) -> None:
    assert MASKER.mask(text) == (text, {})


@pytest.mark.parametrize(
    "text",
    [
        "卡号4111111111111111",
        "４１１１　１１１１　１１１１　１１１１",
        "4111ー1111ー1111ー1111",
        "บัตร4111111111111111ครับ",
        "رقم البطاقة ٤١١١١١١١١١١١١١١١",
    ],
)
def test_a_card_number_is_masked_in_any_script(text: str) -> None:
    masked, found = MASKER.mask(text)
    assert found == {"card number": 1}
    before, after = masked.split("[masked: card number]")
    assert text.startswith(before) and text.endswith(after)
    assert not any(map(str.isdecimal, before + after))


@pytest.mark.parametrize(
    "text",
    [
        "mein Passwort ist {}",
        "كلمة المرور هي {}",
        "密码{}谢谢",
        "パスワードは「{}」です",
        "ｐａｓｓｗｏｒｄ：{}",
    ],
)
def test_a_password_goes_in_other_languages(text: str) -> None:
    masked = text.format("[masked: password]")
    assert MASKER.mask(text.format("Sesame-77")) == (masked, {"password": 1})
    assert MASKER.mask(masked) == (masked, {})


def test_what_says_that_a_secret_follows_stays() -> None:
    secret = token(40)
    for before in ("Authorization: Bearer ", "authorization: bearer ", "BEARER\t"):
        assert MASKER.mask(f"{before}{secret}.")[0] in (
            f"{before}[masked: bearer token]",
            f"{before}[masked: bearer token].",
        )
    for before in (
        "aws_secret_access_key = ",
        "AWS_SECRET_ACCESS_KEY=",
        '"SecretAccessKey": "',
        "secret_key: '",
    ):
        assert MASKER.mask(before + secret) == (f"{before}[masked: aws key]", {"aws key": 1})
    for before in (
        "password: ",
        "DB_PASSWORD=",
        'spring: {"dbRootPassword" : "',
        "My password is ",
        "The password for our guest wifi is ",
        "mysql --password=",
        "pwd='",
    ):
        assert MASKER.mask(f"{before}Sesame-77!") == (f"{before}[masked: password]!", {"password": 1})
    assert MASKER.mask("export DB_PASSWORD=correcthorse")[0] == "export DB_PASSWORD=[masked: password]"
    assert MASKER.mask(f"password={token(300)}1")[0] == "password=[masked: password]", "to its end"
    hook = "https://hooks.slack.com/services/T01234567/B01234567/" + token(24)
    assert MASKER.mask(hook)[0] == "https://hooks.slack.com/services/[masked: slack token]"


LINES = "\n".join([token(64)] * 5)


@pytest.mark.parametrize(
    "name",
    ["PRIVATE KEY", "RSA PRIVATE KEY", "OPENSSH PRIVATE KEY", "ENCRYPTED PRIVATE KEY", "PGP PRIVATE KEY BLOCK"],
)
def test_a_private_key_goes_whole(name: str) -> None:
    key = f"-----BEGIN {name}-----\nProc-Type: 4,ENCRYPTED\n\n{LINES}\nabc=\n-----END {name}-----"
    assert MASKER.mask(f"Here:\n{key}\nThanks!") == (
        "Here:\n[masked: private key]\nThanks!",
        {"private key": 1},
    )
    on_one_line = key.replace("\n", "\\n")
    assert MASKER.mask(f'"{on_one_line}"') == ('"[masked: private key]"', {"private key": 1})


@pytest.mark.timeout(24)
@pytest.mark.uncounted
@pytest.mark.parametrize(
    "piece",
    [
        "4111 1111 1111 1112 ",
        "eyJ",
        "-----BEGIN PRIVATE KEY-----\nA: b\n",
        "bearer\t\t\t\t\t",
        "password=",
        "密码",
        "passwordpassword",
        "secret_key \t \t",
    ],
)
def test_time_is_linear(piece: str) -> None:
    """Were it quadratic, the test would not end in time."""
    size = 150_000
    MASKER.mask((piece * (size // len(piece) + 1))[:size])
