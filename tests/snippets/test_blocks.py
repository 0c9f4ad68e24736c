"""Blocks are read as people see them."""

from tests.snippets.blocks import Block, blocks_of_page


def test_blocks_of_a_page_are_grouped_and_unescaped() -> None:
    html = (
        '<div data-snippet="one"><pre><code class="language-sh">a &amp;&amp; b</code></pre>'
        '<code>inline</code><code class="language-python">x = "1"</code></div>'
        '<div data-snippet="two"><code class="language-sh">c</code></div>'
    )
    assert blocks_of_page(html) == {
        "one": [Block("sh", "a && b"), Block("python", 'x = "1"')],
        "two": [Block("sh", "c")],
    }
