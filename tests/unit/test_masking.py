"""Masking: secrets of well-known shapes go, and what only looks like one stays."""

from __future__ import annotations

import random

import pytest

from processors.recall.cards import is_card_number, passes_luhn
from processors.recall.masking import Masker, masking

MASKER = Masker()


def token(length: int, alphabet: str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") -> str:
    """Made here and now: nobody's scanner takes this file for a leak."""
    return "a1B" + "".join(random.Random(length).choices(alphabet, k=length - 3))


#: Numbers that issuers publish for tests.
CARDS = (
    "4111 1111 1111 1111",
    "4111111111111111",
    "4012-8888-8888-1881",
    "4222222222222",
    "5555 5555 5555 4444",
    "5105105105105100",
    "2223 0031 2200 3222",
    "3782 822463 10005",
    "371449635398431",
    "6011 1111 1111 1117",
    "6011000990139424",
    "3530 1113 3330 0000",
    "3056 930902 5904",
    "30569309025904",
    "6200 0000 0000 0005",
    "6759 6498 2643 8453",
    "4111.1111.1111.1111",
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


def test_cards_beside_each_other_and_beside_other_numbers() -> None:
    text, found = MASKER.mask("12 4111 1111 1111 1111 4012 8888 8888 1881 order 77")
    assert text == "12 [masked: card number] [masked: card number] order 77"
    assert found["card number"] == 2


@pytest.mark.parametrize(
    "text",
    [
        "Order 4111111111111112 has shipped.",  # the check digit is wrong
        "order 1234567890123456",
        "order no. 9999-9999-9999-9995",  # passes Luhn, of no issuer
        "Call +49 151 1234 5678 or +4111111111111111.",
        "call me: (555) 010-0199, 020 7946 0958, 00 44 20 7946 0958",
        "ISBN 978-3-16-148410-0, 9783161484100 and 0-306-40615-2",
        "44444444-4444-4444-4444-444444444448",
        "550e8400-e29b-41d4-a716-446655440000",
        "f47ac10b-58cc-4372-8567-0e02b2c3d479",
        "commit 4111111111111111abcdef0123456789abcdef01",
        "da39a3ee5e6b4b0d3255bfef95601890afd80709",
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "pi is 3.14159265358979323846, e is 2.7182818284590452353",
        "0.4111111111111111 and 4111111111111111.25",
        "1700000000000 1700000000000000000 20230301091204",
        "IBAN DE89 3704 0044 0532 0130 00, GB29 NWBK 6016 1331 9268 19",
        "IBAN FR14 4111 1111 1111 1111 22",
        "in 2019 2020 2021 2022 we met",
        "01.02.2023 10:11:12.131415",
        "192.168.100.200 and fe80::1ff:fe23:4567:890a",
        "1 4111 11 1111 1111 11",
        "user_4111111111111111",
        "sk-learn, sk-folding-cube-container-wrapper and sk-estimator-parameters-panel",
        "The bearer of internationalization_and_localization is here.",
        "Bearer of bad news",
        "bearer authentication-and-authorization-overview",
        "My password is the name of my cat.",
        "My password is too long, and the password reset for account2go was sent.",
        "The password is base64-encoded; the password for the wiki is 12-digit; my password was sha256-hashed.",
        "The password is PBKDF2-hashed; my password was 2FA-protected or RFC2617-compliant.",
        "The password of the ward is covid-19-related. My password is mp3-like.",
        "passwordReset=2026-11-23T10:00:00, PASSWORD=os.environ, DB_PASSWORD=$DB_SECRET, DB_PASSWORD=%PASS%",
        "Is my password 'the one from work'? My password is \"not a good idea\".",
        "Forgot your password: ask the administrator; password=os.environ",
        "stored_password = argon2.hash_it(password)",
        "password: 8-12 characters, passwords: 30",
        "PWD=/home/ada2/project OLDPWD=/home/ada2",
        "ghp_short, xoxo-hugs-and-kisses-for-everybody, AKIA, AIza",
        "eyJhb.is.short and eyJust-a-long-word-without-any-dots-in-it-at-all",
        "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A\n-----END PUBLIC KEY-----",
        "-----BEGIN CERTIFICATE-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A\n-----END CERTIFICATE-----",
        "A PRIVATE KEY is what you keep to yourself; the SECRET KEY of happiness = tea",
        "https://hooks.slack.com/services/",
        "",
        "   ",
    ],
)
def test_what_only_looks_like_a_secret_stays(text: str) -> None:
    assert MASKER.mask(text) == (text, {})


@pytest.mark.parametrize(
    ("kind", "secret"),
    [
        ("aws key", "AKIA" + token(16).upper()),
        ("aws key", "ASIA" + token(16).upper()),
        ("github token", "ghp_" + token(36)),
        ("github token", "ghs_" + token(36)),
        ("github token", "github_pat_" + token(22) + "_" + token(59)),
        ("gitlab token", "glpat-" + token(20)),
        ("slack token", "xoxb-123456789012-1234567890123-" + token(24)),
        ("slack token", "xoxp-123456789012-" + token(24)),
        ("slack token", "xapp-1-A0123456789-1234567890123-" + token(64)),
        ("stripe key", "sk_live_" + token(24)),
        ("stripe key", "rk_test_" + token(24)),
        ("stripe key", "whsec_" + token(32)),
        ("google key", "AIza" + token(35)),
        ("google key", "ya29." + token(60)),
        ("google key", "GOCSPX-" + token(28)),
        ("api key", "sk-" + token(48)),
        ("api key", "sk-proj-" + token(48)),
        ("api key", "sk-ant-api03-" + token(93) + "-" + token(8)),
        ("npm token", "npm_" + token(36)),
        ("pypi token", "pypi-AgE" + token(100)),
        ("hugging face token", "hf_" + token(34)),
        ("sendgrid key", f"SG.{token(22)}.{token(43)}"),
        ("json web token", f"eyJ{token(20)}.eyJ{token(60)}.{token(43)}"),
    ],
)
def test_a_key_or_token_goes(kind: str, secret: str) -> None:
    for around in ("{}", "use {} please", 'KEY="{}"', "key={};", "({})", "https://x.example/?k={}&b=1"):
        assert MASKER.mask(around.format(secret)) == (around.format(f"[masked: {kind}]"), {kind: 1})


@pytest.mark.parametrize(
    "text",
    [
        "卡号4111111111111111",
        "我的卡号是4111 1111 1111 1111，请记住",
        "カード番号は４１１１１１１１１１１１１１１１です",
        "４１１１　１１１１　１１１１　１１１１",
        "4111ー1111ー1111ー1111",
        "카드번호4111-1111-1111-1111입니다",
        "บัตร4111111111111111ครับ",
        "رقم البطاقة ٤١١١١١١١١١١١١١١١",
    ],
)
def test_a_card_number_goes_beside_words_and_in_digits_of_any_script(text: str) -> None:
    masked, found = MASKER.mask(text)
    assert found == {"card number": 1}
    before, after = masked.split("[masked: card number]")
    assert text.startswith(before) and text.endswith(after)
    assert not any(map(str.isdecimal, before + after))


@pytest.mark.parametrize(
    "text",
    [
        "mein Passwort ist {}",
        "Das Passwort für das WLAN lautet: „{}“",
        "WLAN-Passwort: {}",
        "le mot de passe du wifi est {}",
        "mi contraseña es {}.",
        "minha senha é {}",
        "la mia password è {}",
        "mijn wachtwoord is {}",
        "moje hasło to {}",
        "мой пароль — {}",
        "Пароль: {}",
        "şifrem {}",
        "كلمة المرور هي {}",
        "मेरा पासवर्ड {} है",
        "密码：{}",
        "WiFi密码是{}，不要告诉别人",
        "密码{}谢谢",
        "我的password是{}",
        "パスワードは「{}」です",
        "パスワードは{}です。",
        "비밀번호는 {} 입니다",
        "รหัสผ่านคือ {}",
        "ｐａｓｓｗｏｒｄ：{}",
    ],
)
def test_a_password_goes_in_other_languages(text: str) -> None:
    masked = text.format("[masked: password]")
    assert MASKER.mask(text.format("Sesame-77")) == (masked, {"password": 1})
    assert MASKER.mask(masked) == (masked, {})


@pytest.mark.parametrize(
    "text",
    [
        "Mein Passwort ist der Name meiner Katze.",
        "Das Passwort ist 12-stellig und sha256-gehasht.",
        "Le mot de passe est trop long. La contraseña es de 8 caracteres.",
        "密码是sha256加密的，密码是8到12位字符，密码重置2026-11-23T10:00:00",
        "パスワードは8文字以上です。",
        "I forgot my password to account2go.",
        "订单号4111111111111112，ISBN 9783161484100号",
        "我们2019年2020年见过，电话＋4111111111111111",
        "５月３日、１０：３０に会いましょう。",
    ],
)
def test_what_is_no_secret_stays_in_other_languages(text: str) -> None:
    assert MASKER.mask(text) == (text, {})


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
        "My Password : ",
        "DB_PASSWORD=",
        "db-password: ",
        "dbPassword=",
        'spring: {"dbRootPassword" : "',
        "My password is ",
        "my PASSWORD is: '",
        "The password for our guest wifi is ",
        "the admin password was “",
        "mysql --password=",
        '{"passwd": "',
        "pwd='",
        "PASSPHRASE = ",
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


def test_a_private_key_that_does_not_end_goes_as_far_as_it_goes() -> None:
    text = f"-----BEGIN PRIVATE KEY-----\n{LINES}\nabcd=\nThat was it."
    assert MASKER.mask(text) == ("[masked: private key]That was it.", {"private key": 1})
    assert MASKER.mask(f"-----BEGIN PRIVATE KEY-----\n{LINES}")[0] == "[masked: private key]"


def test_two_private_keys() -> None:
    one = f"-----BEGIN PRIVATE KEY-----\n{LINES}\n-----END PRIVATE KEY-----"
    assert MASKER.mask(f"{one} and {one}.") == (
        "[masked: private key] and [masked: private key].",
        {"private key": 2},
    )


def test_masking_what_is_masked_changes_nothing() -> None:
    once, _ = MASKER.mask(" ".join([*CARDS, "sk_live_" + token(24), f"Bearer {token(40)}"]))
    assert MASKER.mask(once) == (once, {})


def test_off() -> None:
    assert masking(off=True)("4111 1111 1111 1111") == ("4111 1111 1111 1111", {})


def test_luhn() -> None:
    assert passes_luhn("79927398713")
    assert [n for n in range(10) if passes_luhn(f"7992739871{n}")] == [3]
    assert not is_card_number("79927398713")


@pytest.mark.timeout(24)
@pytest.mark.uncounted
@pytest.mark.parametrize(
    "piece",
    [
        "4111 1111 1111 1112 ",
        "4111-",
        "1 ",
        "12345678901234567890",
        "eyJ",
        "eyJaaaaa.",
        "eyJaaaaaa.eyJaaaaaa.",
        "-----BEGIN PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\nA: b\n",
        "-----BEGIN A B C PRIVATE KEY",
        "-----END PRIVATE KEY-----",
        "bearer ",
        "bearer\t\t\t\t\t",
        "sk-a",
        "xoxb-",
        "secret_access_key=",
        "password=",
        "password=!!!!!!",
        "password for a a a ",
        "password is 'a",
        "passwort ist a ",
        "passwort a a a a ",
        "mot de passe: a-",
        "пароль a",
        "密码",
        "密码是a",
        "４１１１－",
        "password is a-a-a-",
        "passwordpassword",
        "A_PASSWORD=",
        "a_a_a_password='",
        "--a-",
        "secret_key \t \t",
        "hooks.slack.com/services/",
        "ya29.",
        "SG.",
        "a",
        "PRIVATE KEY",
        "=",
    ],
)
def test_time_is_linear(piece: str) -> None:
    """Were it quadratic, the test would not end in time."""
    size = 400_000
    MASKER.mask((piece * (size // len(piece) + 1))[:size])
