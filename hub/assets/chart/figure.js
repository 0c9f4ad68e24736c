// One chart of a page: drawn from the JSON in its figure, walked by keyboard, exported as SVG.
import { download } from "../download.js";
import { init } from "./echarts.js";
import { isNarrow, marksOf, optionOf, paletteOf } from "./option.js";
import { svgOf } from "./svg.js";

const STEPS = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

export class Figure {
  // element: a figure with data-chart, as templates/partials/chart.html writes it.
  constructor(element) {
    this.plot = element.querySelector("[data-plot]");
    this.plot.style.height = `${element.dataset.height}px`;
    this.chosen = element.dataset.chosen ?? "";
    // Number of the mark that the keyboard is at; -1: none.
    this.at = -1;
    this.memory = {};
    this.chart = init(this.plot, null, { renderer: "svg" });
    this.chart.on("click", ({ data }) => this.choose(data?.id));
    this.plot.addEventListener("keydown", (event) => this.press(event));
    this.plot.addEventListener("blur", () => this.leave());
    new ResizeObserver(() => this.resize()).observe(this.plot);
    this.bind(element);
    this.draw({ isFirst: true });
  }

  bind(element) {
    this.element = element;
    const button = element.querySelector("[data-export]");
    button.hidden = false;
    button.addEventListener("click", () => this.save());
  }

  // Before a swap, which may put a new element of the same name in the place of this one.
  remember() {
    const table = this.element.querySelector("details");
    const isFocused = document.activeElement === this.plot;
    const scroll = table.querySelector(".scroll").scrollTop;
    this.memory = { isOpen: table.open, scroll, isFocused, at: this.at };
  }

  // After it: the plot, the keyboard and the table go on where they were.
  adopt(element) {
    const { isOpen, scroll, isFocused, at } = this.memory;
    element.querySelector("[data-plot]").replaceWith(this.plot);
    this.bind(element);
    const table = element.querySelector("details");
    table.open = isOpen;
    table.querySelector(".scroll").scrollTop = scroll;
    this.draw();
    if (!isFocused) return;
    this.plot.focus({ preventScroll: true });
    this.at = at;
    this.show();
  }

  dispose() { this.chart.dispose(); }

  draw({ isFirst = false } = {}) {
    const json = JSON.parse(this.element.querySelector('script[type="application/json"]').textContent);
    const isStill = !isFirst || matchMedia("(prefers-reduced-motion: reduce)").matches;
    const palette = paletteOf(this.element);
    this.narrow = isNarrow(this.plot);
    this.option = optionOf(json, palette, { chosen: this.chosen, narrow: this.narrow, isStill });
    palette.end();
    this.marks = marksOf(this.option);
    this.chart.setOption(this.option, true);
    this.show();
    this.element.dataset.drawn = "yes";
  }

  resize() {
    // A plot out of the page has no width; an observer begins with the width there is.
    if (!this.plot.clientWidth || this.plot.clientWidth === this.chart.getWidth()) return;
    this.chart.resize();
    if (isNarrow(this.plot) !== this.narrow) this.draw();
  }

  press(event) {
    const last = this.marks.length - 1;
    let next = null;
    if (event.key in STEPS) next = this.at < 0 ? 0 : Math.min(Math.max(this.at + STEPS[event.key], 0), last);
    if (event.key === "Home") next = 0;
    if (event.key === "End") next = last;
    if (event.key === "Escape") this.leave();
    if (event.key === "Enter" || event.key === " ") this.choose(this.marks[this.at]?.id);
    else if (next === null || last < 0) return;
    else this.walk(next);
    // Not the page's: it would scroll.
    event.preventDefault();
  }

  walk(next) {
    this.hide();
    this.at = next;
    this.show();
    this.element.querySelector("[data-mark]").textContent = this.marks[next].tip.join("; ");
  }

  show() {
    const mark = this.marks[this.at];
    if (!mark) return;
    const { seriesIndex, dataIndex } = mark;
    this.chart.dispatchAction({ type: "highlight", seriesIndex, dataIndex });
    this.chart.dispatchAction({ type: "showTip", seriesIndex, dataIndex });
  }

  hide() {
    const mark = this.marks[this.at];
    if (mark) this.chart.dispatchAction({ type: "downplay", seriesIndex: mark.seriesIndex, dataIndex: mark.dataIndex });
    this.chart.dispatchAction({ type: "hideTip" });
  }

  leave() {
    this.hide();
    this.at = -1;
  }

  choose(id) {
    if (!id) return;
    this.chosen = id;
    this.draw();
    this.element.dispatchEvent(new CustomEvent("chart:select", { bubbles: true, detail: { id } }));
  }

  save() {
    const title = this.element.querySelector("figcaption strong").textContent;
    const caption = this.element.querySelector(".chart-caption").textContent;
    const svg = svgOf(this.option, { title, about: `${caption} ${location.href}`, height: this.plot.clientHeight });
    download(new Blob([svg], { type: "image/svg+xml" }), `${this.element.dataset.chart}.svg`);
  }
}
