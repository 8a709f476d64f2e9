"""Files of games as people and programs write them: read as they are meant, or refused by place."""

import codecs

import pytest

from oware_env.errors import OwareError
from oware_env.records import GameRecord, load_ogn

HEAD = '[South "Ama"]\n[North "Kofi"]\n'
TAGS = {"South": "Ama", "North": "Kofi"}
GAME = GameRecord.from_moves("FfEcCc", tags=TAGS)
PLAIN = HEAD + "\n1. F f 2. E c 3. C c *\n"
BEGUN = GameRecord.from_moves("", tags=TAGS)

READ = {
    "plain": (PLAIN.encode(), [GAME]),
    "comments": (
        (
            "; kept by hand\n" + HEAD + "{ before } 1. F { a comment; over\ntwo (lines } f ; 1. A\n"
            "2. E c 3. C c * { after }\n"
        ).encode(),
        [GAME],
    ),
    "variations": (
        (HEAD + "1. F (1. A a (1... b 2. B) 2. D) f 2. E c (2... d {)} ; (\n) 3. C c *").encode(),
        [GAME],
    ),
    "Windows line ends": (PLAIN.replace("\n", "\r\n").encode(), [GAME]),
    "old Macintosh line ends": (PLAIN.replace("\n", "\r").encode(), [GAME]),
    "a byte-order mark": (codecs.BOM_UTF8 + PLAIN.encode(), [GAME]),
    "names in any script": (
        PLAIN.replace("Ama", "Ɔwáre 西非").encode(),
        [GameRecord.from_moves("FfEcCc", tags=TAGS | {"South": "Ɔwáre 西非"})],
    ),
    "only headers": (HEAD.encode(), [BEGUN]),
    "only headers and an open result": ((HEAD + '[Result "*"]\n\n*\n').encode(), [BEGUN]),
    "only a result": (b"*", [GameRecord()]),
    "no numbers and one move a line": (
        (HEAD + "\n".join("FfEcCc")).encode(),
        [GAME],
    ),
    "several games": ((PLAIN + "\r\n" + HEAD + "\n*\n" + PLAIN).encode(), [GAME, BEGUN, GAME]),
    "several games without headers": (
        b"1. F f * 1. E *\n\n1. D",
        [GameRecord.from_moves(moves) for moves in ("Ff", "E", "D")],
    ),
}


@pytest.mark.parametrize("name", READ)
def test_a_file_is_read(name, tmp_path):
    content, games = READ[name]
    (tmp_path / "games.ogn").write_bytes(content)
    assert load_ogn(tmp_path / "games.ogn") == games


ILLEGAL = HEAD + "\n1. F f\n2. E f\n3. C c\n"
REFUSED = {
    "an illegal move in the middle": (ILLEGAL, "line 5, move 2 of North (f): illegal move"),
    "the same behind Windows line ends": (
        ILLEGAL.replace("\n", "\r\n"),
        "line 5, move 2 of North (f): illegal move",
    ),
    "the same behind a byte-order mark": ("\ufeff" + ILLEGAL, "line 5, move 2 of North (f): "),
    "the same behind comments": (
        ILLEGAL.replace("f\n2", "f { one\ntwo\nthree }\n2"),
        "line 7, move 2 of North (f): illegal move",
    ),
    "the same behind a variation": (
        ILLEGAL.replace("f\n2", "f (1... a\n2. B)\n2"),
        "line 6, move 2 of North (f): illegal move",
    ),
    "the same in the second game": (
        PLAIN + "\n" + ILLEGAL,
        "line 10, move 2 of North (f): illegal move",
    ),
    "a move after the end": (
        '[FEN "0-0-0-0-0-2-1-2-4-4-0-0-20-15-S"]\n1. F c',
        "line 2, move 1 of North (c): illegal move 2 in",
    ),
    "a word that is no move": (HEAD + "1. F f 2. Ex c", "line 3, move 2 of South (Ex): illegal"),
    "a comment left open": (HEAD + "1. F { f\n2. E", "line 3: a comment is opened by '{' and"),
    "a variation left open": (HEAD + "1. F (1. A\n2. E", "line 3: a variation is opened by '('"),
    "a result that is not so": (HEAD + "1. F f 29-20", "line 3: the result is said to be 29-20"),
    "only headers, but a result that cannot be": (
        HEAD + '[Result "29-20"]',
        "line 3: the result is said to be 29-20, the moves leave the game unfinished (*)",
    ),
    "another game": ('[Variant "Kalah"]\n1. F', "line 1: Variant is 'Kalah', only Abapa is"),
    "nothing": ("", "the text holds no game"),
    "nothing but blank lines": ("\r\n \r\n", "the text holds no game"),
    "nothing but comments": ("; nothing\n{ at all }", "the text holds no game"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_file_is_refused_in_one_line_with_its_place(name, tmp_path):
    text, place = REFUSED[name]
    path = tmp_path / "games.ogn"
    path.write_bytes(text.encode())
    with pytest.raises(OwareError) as caught:
        load_ogn(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: {place}") and "\n" not in message


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "{path} cannot be read: No such file or directory"),
        ("folder", "{path} cannot be read: Is a directory"),
        ('[South "Ama"]\n[North "Ren\xe9"]\n'.encode("latin-1"), "line 2 is not text in UTF-8"),
        (PLAIN.encode("utf-16"), "line 1 is not text in UTF-8"),
        (b"1. F \x00 f", "line 1, move 1 of North ('\\x00')"),
    ],
)
def test_what_is_no_text_is_refused(content, message, tmp_path):
    path = tmp_path / "games.ogn"
    if content == "folder":
        path.mkdir()
    elif content is not None:
        path.write_bytes(content)
    with pytest.raises(OwareError) as caught:
        load_ogn(path)
    assert message.format(path=path) in str(caught.value) and str(path) in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "1. " + "F" * 100_000,
        "1. F+" + "9" * 100_000,
        "1. \x1b]0;owned\x07",
        "1. F f " + "9" * 100_000 + "-1",
        "1" + "." * 100_000 + "F",
        "9" * 100_000 + ". F",
        f'[{"x" * 100_000} "1"][{"x" * 100_000} "1"]',
        f'[{"x" * 100_000} "\x1b[2J"]',
        f'[FEN "{"9" * 100_000}"]',
        f'[MaxPlies "{"9" * 100_000}"]',
        f'[Variant "{"x" * 100_000}"]',
        f'[Result "{"x" * 100_000}"]',
    ],
    ids=lambda text: text[:12].encode("unicode_escape").decode(),
)
def test_a_message_stays_short_and_harmless_whatever_the_file_holds(text, tmp_path):
    (tmp_path / "games.ogn").write_text(text)
    with pytest.raises(OwareError) as caught:
        load_ogn(tmp_path / "games.ogn")
    message = str(caught.value).removeprefix(str(tmp_path))
    assert "line 1" in message and len(message) < 400 and message.isprintable()
