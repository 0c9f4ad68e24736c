"""A visitor whose clicks are counted."""

from playwright.sync_api import Locator, Page, expect


class Visitor:
    """Opens pages and clicks."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.clicks = 0

    def open(self, address: str) -> None:
        """Begin at an address."""
        self.page.goto(address)
        self.clicks = 0

    def click(self, where: Locator) -> None:
        """One click."""
        where.first.click()
        self.clicks += 1

    def link(self, name: str, *, within: str = "main") -> None:
        """Click a link by its text."""
        self.click(self.page.locator(within).get_by_role("link", name=name))

    def sees(self, *texts: str, within: str = "main") -> None:
        """All texts are shown, in any element."""
        for text in texts:
            expect(self.page.locator(within).first).to_contain_text(text)

    def again(self) -> None:
        """Open the present address in a new history, as somebody does who was sent it."""
        address = self.page.url
        self.page.goto("about:blank")
        self.page.goto(address)

    def has_clicked(self, most: int) -> None:
        """The answer took at most so many clicks."""
        assert self.clicks <= most, f"{self.clicks} clicks, {most} allowed"
