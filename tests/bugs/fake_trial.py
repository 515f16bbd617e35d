"""A trial that shows errors by a function, for tests of shrinking."""

import json
import re

from jsonschema import ValidationError

from harness.validators.drafts import draft_of


class Fake:
    """What a trial does beside showing errors, as far as shrinking asks for it."""

    failures = 0
    seconds = 0.0

    def reproduce(self, case):
        return next(iter(self.reproduce_all([case])))

    def are_right(self, cases):
        return [self.may_be(case) and self.reproduce(case) is None for case in cases]

    def is_valid(self, case):
        return self.may_be(case) == (case.kind == "false_rejection")

    def may_be(self, case):
        """Whether validators say of the text what an error of the kind needs."""
        try:
            draft_of(case.parsed).repaired(case.parsed).validate(json.loads(case.text))
        except (ValueError, ValidationError):
            return case.kind == "false_acceptance"
        except re.error:
            return False
        return case.kind == "false_rejection"
