"""What points are missing for, by the keys of a card; and what other answers would be worth."""

from dataclasses import replace

from registry.fair.card.card import read
from registry.fair.card.draft import redescribed
from registry.fair.score.harvest import expected
from registry.fair.score.score import assess, card_gaps
from registry.validation.card import parse
from tests.registry.fair.cards import facts_of
from tests.registry.fair.samples import LEAST, MOST


def test_each_key_stands_once_with_all_that_it_would_mend() -> None:
    found = card_gaps(assess(expected(LEAST)))
    fields = [gap.field for gap in found]
    assert len(fields) == len(set(fields))
    assert {"license", "authors", "datasets", "intended_use", "README.md"} <= set(fields)
    (license_,) = [gap for gap in found if gap.field == "license"]
    assert len(license_.missing) > 1
    assert license_.points > 1


def test_what_cards_mend_comes_first_and_of_that_the_dearest() -> None:
    found = card_gaps(assess(expected(LEAST)))
    assert [gap.field is None for gap in found] == sorted(gap.field is None for gap in found)
    points = [gap.points for gap in found if gap.field]
    assert points == sorted(points, reverse=True)


def test_no_reason_is_lost_or_told_twice() -> None:
    score = assess(expected(LEAST))
    assert sum(len(gap.missing) for gap in card_gaps(score)) == len(
        {one for _, one in score.missing}
    )


def test_a_card_that_says_the_same_describes_the_same() -> None:
    facts = read(parse(b"---\nlicense: mit\ntask: x\n---\nText.\n"))
    assert redescribed(MOST, facts, facts) == MOST


def test_only_what_is_said_otherwise_differs() -> None:
    before = facts_of("license: mit\nmodel_name: A", "Text.\n")
    after = facts_of("license: apache-2.0\npipeline_tag: fill-mask", "Text.\n")
    made = redescribed(MOST, before, after)
    assert made == replace(MOST, license=after.license, task="fill-mask", title=MOST.name)
