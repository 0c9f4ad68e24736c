"""A description full of what strangers type, for whatever has to write it down."""

from dataclasses import replace

from registry.fair.description import Description
from registry.fair.parts import License, Reference
from tests.registry.fair.samples import MOST

TEXT = (
    '</script><script>alert("1")</script> \\ \' & \n\t\u2028 \U0001f30c \u202eright to left %s {0}'
)
ADDRESS = "https://a.example/a paper <1>.pdf?q=[x]&50%#one#two"


def hostile() -> Description:
    """:data:`samples.MOST` with :data:`TEXT` and :data:`ADDRESS` wherever a card may put them."""
    creator = replace(MOST.creators[0], name=TEXT)
    return replace(
        MOST,
        title=TEXT,
        description=TEXT,
        creators=(creator, *MOST.creators[1:]),
        contact=replace(creator, email="no address"),
        license=License(
            expression="MIT AND LicenseRef-own",
            uris=("https://spdx.org/licenses/MIT", ADDRESS),
            name=TEXT,
        ),
        use_restrictions=TEXT,
        keywords=(TEXT,),
        task=TEXT,
        categories=(TEXT,),
        architectures=(TEXT,),
        datasets=tuple(replace(use, name=TEXT, url=ADDRESS) for use in MOST.datasets),
        evaluations=tuple(replace(one, metric=TEXT, value=TEXT) for one in MOST.evaluations),
        intended_use=TEXT,
        out_of_scope=TEXT,
        limitations=TEXT,
        ethics=TEXT,
        usage=TEXT,
        code=Reference(url=ADDRESS),
        papers=(Reference(url=ADDRESS, title=TEXT),),
        derived_from=tuple(replace(one, source=TEXT, url=ADDRESS) for one in MOST.derived_from),
        activities=tuple(
            replace(one, title=TEXT, used=(ADDRESS,), parameters={TEXT: TEXT})
            for one in MOST.activities
        ),
    )
