// Draws the charts of a page, and draws them again when their data or the theme change.
import { Figure } from "./figure.js";

// By name: a live page replaces the figure of a chart by a new one of the same name.
const figures = new Map();

function update() {
  const names = new Set();
  for (const element of document.querySelectorAll("[data-chart]")) {
    const name = element.dataset.chart;
    names.add(name);
    const figure = figures.get(name);
    if (!figure) figures.set(name, new Figure(element));
    else if (figure.element !== element) figure.adopt(element);
  }
  for (const [name, figure] of figures) {
    if (names.has(name)) continue;
    figure.dispose();
    figures.delete(name);
  }
}

function redraw() {
  for (const figure of figures.values()) figure.draw();
}

// The script is deferred: the page is read.
update();
document.body.addEventListener("htmx:beforeSwap", () => {
  for (const figure of figures.values()) figure.remember();
});
document.body.addEventListener("htmx:afterSettle", update);
new MutationObserver(redraw).observe(document.documentElement, { attributeFilter: ["data-theme"] });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
