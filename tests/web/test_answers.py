"""What is made once for all who ask."""

from gpuboard.web.answers import MOST_KEPT, Answers


def test_the_same_question_is_answered_once_a_tick() -> None:
    """Another tick, and it is made anew."""
    made: list[bytes] = []
    tick = [1]
    answers = Answers(lambda: tick[0])

    def make() -> bytes:
        made.append(b"answer")
        return made[-1]

    for _ in range(3):
        answers.get("free", make)
    tick[0] = 2
    answers.get("free", make)
    assert len(made) == 2


def test_visitors_who_ask_ever_new_questions_fill_no_memory() -> None:
    """Wishes are written by visitors; no more answers are kept than people can mean."""
    answers = Answers(lambda: 1)
    for wish in range(3 * MOST_KEPT):
        answers.get(wish, lambda: b"answer")
        assert len(answers._made) <= MOST_KEPT
