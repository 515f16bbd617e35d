"""Cases, schemas and vocabularies from outside, and what comes with the project.

What cannot be read or used raises `harness.errors.InputError`, a name that stands for nothing
`harness.errors.UsageError`; the message says where, in one line.
"""
