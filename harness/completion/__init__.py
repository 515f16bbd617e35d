"""Known continuations: how a started document may be finished."""
