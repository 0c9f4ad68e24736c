"""Circumstances of a measurement, as metadata records list them."""

from registry.selectors.fair.description.measurements import MeasurementDetails, protocol_of


def test_the_protocol_says_whose_caller_was_placed() -> None:
    details = MeasurementDetails(
        protocol={
            "order": "ABBA",
            "caller_placed": {"candidate": False, "baseline": True},
            "seed": 3,
        }
    )
    assert protocol_of(details) == {
        "order": "ABBA",
        "caller_placed": '{"baseline": true, "candidate": false}',
    }
