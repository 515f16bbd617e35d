"""Rules are tried along references, in their own tokens where these are allowed, and samples."""

from __future__ import annotations

from harness.protocol import complete_options
from harness.protocol_checks.trial import Thoroughness, places_of, routes_of
from tests.miniatures import Enumerator

SCHEMA = '{"enum": ["ab", 12, [true]]}'


def start(vocabulary):
    return Enumerator(vocabulary, complete_options(Enumerator.OPTIONS, {})).compile(SCHEMA)


def test_a_reference_is_led_along_in_its_own_tokens_to_the_end(vocabulary):
    own = {0: 91, 1: 116}  # `t`, where the longest token would be `true`
    texts = [(b"[true]", own), (b"123", {}), (b"?", {})]  # the others as far as they are allowed
    routes = routes_of(start(vocabulary), vocabulary, texts, Thoroughness(samples=0), "key")
    tokens = [[vocabulary.tokens[token] for token in way] for way in routes]
    assert tokens == [[b"[", b"t", b"r", b"u", b"e", b"]", b"<eos>"], [b"12"], []]


def test_samples_are_the_engines_own_and_depend_on_the_seed_alone(vocabulary):
    def samples(seed):
        return routes_of(start(vocabulary), vocabulary, [], Thoroughness(seed, samples=8), "key")

    assert samples(1) == samples(1)
    assert all(way[-1] == vocabulary.eos for way in samples(1))
    assert len({tuple(samples(seed)) for seed in range(5)}) > 1


def test_places_are_each_way_s_ends_and_some_between_each_once(vocabulary):
    routes = [(91, 116, 114, 117, 101, 93, 256), (91, 93)]
    places = list(places_of(routes, vocabulary, Thoroughness(positions=4), "key"))
    consumed = [place.consumed for place in places]
    assert len(set(consumed)) == len(consumed)
    assert {(), routes[0][:6], routes[1]} < set(consumed)
    assert len(consumed) == 4 + 2
    assert next(one for one in places if one.consumed == routes[0][:6]).rest == (256,)


def test_without_any_way_there_is_the_start(vocabulary):
    (place,) = places_of([], vocabulary, Thoroughness(), "key")
    assert (place.consumed, place.rest) == ((), ())
