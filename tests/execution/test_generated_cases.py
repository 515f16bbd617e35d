"""Generated schemas show what engines planted with faults get wrong, and charge no honest one."""

from dataclasses import replace

from harness.analysis.tally import summary
from harness.comparison.case_run import Rules
from harness.inputs.case_selection import open_cases
from harness.inputs.vocabulary import byte_vocabulary
from tests.books import Book, all_bugs, store
from tests.inprocess import make_run
from tests.miniatures import Enumerator


class TakesTheFirst(Enumerator):
    """Of the values that are listed it takes the first alone."""

    def language(self, schema):
        return super().language({**schema, "enum": schema["enum"][:1]})


class TakesQuestions(Enumerator):
    """Takes a question mark behind each text."""

    def language(self, schema):
        honest = super().language(schema)
        asked = {text[:-1] + b'?"' for text in honest.texts if text.endswith(b'"')}
        return replace(honest, texts=honest.texts | asked)


def test_planted_faults_are_found_and_the_honest_engine_is_not_charged(tmp_path):
    kinds = (Enumerator, TakesTheFirst, TakesQuestions)
    vocabulary = replace(byte_vocabulary(), pattern=r"(?s:.)")
    run = make_run(kinds, vocabulary, Rules(walks=0, samples=0))
    books = []
    for one in open_cases("generated:40,depth=0,keywords=enum"):
        if '"enum"' in one.schema:
            books.append(Book(one.id))
            books[-1].rows = run.run(one)
    engines = {kind.__name__: {"version": "1", "options": {}} for kind in kinds}
    told = summary(store(tmp_path / "run", *books, engines=engines), all_bugs)
    wrong = {
        name: [bool(one[effect]["schemas"]) for effect in ("loss", "leak")]
        for name, one in told["engines"].items()
    }
    assert wrong == {
        "Enumerator": [False, False],
        "TakesTheFirst": [True, False],
        "TakesQuestions": [False, True],
    }
