// Turns the JSON of a page into an option of ECharts: hub/pages/chart/figure.py describes the JSON.
import { MARKS } from "./marks.js";

// Pixels below which axes get less room for their labels.
const NARROW = 480;

export const isNarrow = (plot) => plot.clientWidth < NARROW;

export const tipOf = (mark) => (Array.isArray(mark?.tip) ? mark.tip : []);

// Reads colours of the style sheet. A custom property may hold light-dark(): only the value of a real
// property tells which of both applies.
export function paletteOf(element) {
  const probe = document.createElement("span");
  probe.hidden = true;
  element.append(probe);
  const font = getComputedStyle(element).fontFamily;
  const color = (name) => {
    probe.style.color = `var(${name})`;
    return getComputedStyle(probe).color;
  };
  const names = ["--ink", "--soft", "--line", "--panel"];
  const [ink, soft, line, panel] = names.map(color);
  return { color, font, ink, soft, line, panel, end: () => probe.remove() };
}

// A copy in which names of colours are replaced by colours.
function colored(value, palette, key = "") {
  if (Array.isArray(value)) return value.map((one) => colored(one, palette, key));
  if (value && typeof value === "object") {
    return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, colored(v, palette, k)]));
  }
  const isColor = typeof value === "string" && /color$/i.test(key) && value.startsWith("--");
  return isColor ? palette.color(value) : value;
}

function tooltip(palette) {
  return {
    trigger: "item",
    confine: true,
    className: "chart-tip",
    transitionDuration: 0,
    backgroundColor: palette.panel,
    borderColor: palette.line,
    borderWidth: 1,
    padding: [6, 10],
    textStyle: { color: palette.ink, fontSize: 13, fontFamily: palette.font },
    extraCssText: "white-space:normal;max-width:20rem;overflow-wrap:anywhere",
    // Elements, not markup: the policy of the pages allows no style attributes, and texts stay texts.
    formatter: ({ data }) => tipOf(data).map((text, at) => {
      const paragraph = document.createElement(at ? "div" : "strong");
      paragraph.textContent = text;
      return paragraph;
    }),
  };
}

function axis(source, palette, narrow) {
  const label = { ...source.axisLabel, color: palette.soft, hideOverlap: true };
  if (label.texts) {
    const { texts, customValues } = label;
    label.formatter = (value) => texts[nearest(customValues, value)];
    delete label.texts;
  }
  if (narrow && label.width) label.width = 84;
  return {
    ...source,
    axisLabel: label,
    axisLine: { show: true, ...source.axisLine, lineStyle: { color: palette.line } },
    axisTick: { ...source.axisTick, lineStyle: { color: palette.line } },
    splitLine: { show: source.type === "value", ...source.splitLine, lineStyle: { color: palette.line, type: [2, 3] } },
    nameTextStyle: { ...source.nameTextStyle, color: palette.soft },
  };
}

function nearest(values, value) {
  const distances = values.map((one) => Math.abs(one - value));
  return distances.indexOf(Math.min(...distances));
}

function chosenMark(mark, palette) {
  return { ...mark, symbolSize: 19, itemStyle: { borderColor: palette.ink, borderWidth: 2.5 } };
}

// An option of ECharts. chosen: id of the mark with a ring; narrow: whether there is little room.
export function optionOf(json, palette, { chosen = "", narrow = false, isStill = false } = {}) {
  const option = colored(json, palette);
  const axes = (source) => [source].flat().map((one) => axis(one, palette, narrow));
  const series = option.series.map((one) => ({
    ...one,
    ...(one.type === "custom" ? { renderItem: MARKS[one.renderItem] } : {}),
    cursor: one.data.some((mark) => mark.id) ? "pointer" : "default",
    data: one.data.map((mark) => (chosen && mark.id === chosen ? chosenMark(mark, palette) : mark)),
  }));
  const grid = { ...option.grid };
  if (narrow) grid.left = option.yAxis?.type === "category" ? 100 : 54;
  return {
    animation: !isStill,
    animationDuration: 250,
    backgroundColor: palette.panel,
    textStyle: { fontFamily: palette.font, color: palette.ink },
    tooltip: tooltip(palette),
    ...option,
    grid,
    legend: { ...option.legend, selectedMode: false, textStyle: { color: palette.ink } },
    xAxis: axes(option.xAxis),
    yAxis: axes(option.yAxis),
    series,
  };
}

// Marks that have a tooltip, from left to right: what the keyboard walks through.
export function marksOf(option) {
  const marks = option.series.flatMap((series, seriesIndex) => series.data.flatMap((mark, dataIndex) => {
    if (!tipOf(mark).length) return [];
    const x = Array.isArray(mark.value) ? mark.value[0] : dataIndex;
    return [{ seriesIndex, dataIndex, x: typeof x === "string" ? Date.parse(x) : x, id: mark.id, tip: mark.tip }];
  }));
  return marks.sort((one, other) => one.x - other.x || one.seriesIndex - other.seriesIndex);
}
