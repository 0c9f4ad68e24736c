// The drawing as a file: SVG and PNG of all visible boxes, JSON of the topology with the overlay. Each
// names the page that it comes from.
import { pathOf } from "./layout.js";
import { shape } from "./dom.js";

// A bitmap of more pixels is refused by browsers.
const MOST_PIXELS = 64e6;

const STYLE = (style) => `
  svg { background: ${style.paper}; font-family: system-ui, sans-serif; }
  .graph-edge { fill: none; stroke: ${style.soft}; stroke-width: 1.2; }
  .graph-face { stroke: ${style.line}; } .graph-face:not([fill]) { fill: ${style.panel}; } .graph-stack { fill: ${style.sunken}; stroke: ${style.line}; }
  .graph-title { font-size: 13px; font-weight: 600; } .graph-line { font-size: 11px; } .graph-value { font-size: 12px; font-weight: 700; }
  text:not([fill]) { fill: ${style.ink}; } .graph-stripe { fill: ${style.accent}; } .graph-mark { fill: ${style.warn}; } .graph-mark-text { font-size: 9px; fill: ${style.panel}; }
  .h-hot .graph-stripe, .h-folded .graph-stripe { display: none; } .graph-tip { fill: ${style.soft}; } text.graph-mark-text:not([fill]) { fill: ${style.panel}; }
  .grade-inferred .graph-face { stroke-dasharray: 5 3; stroke: ${style.ink}; } .graph-open { display: none; } .h-folded .graph-face { fill: ${style.line}; }
`;

export function svgText(view, draw, style, title) {
  const { drawing, shown } = view;
  const svg = shape("svg", { xmlns: "http://www.w3.org/2000/svg", viewBox: `0 0 ${Math.ceil(drawing.width)} ${Math.ceil(drawing.height)}`, width: Math.ceil(drawing.width), height: Math.ceil(drawing.height) });
  svg.append(shape("title", {}, title), shape("desc", {}, location.href), shape("style", {}, STYLE(style)), view.definitions());
  for (const segment of drawing.segments) svg.append(shape("path", { class: "graph-edge", d: pathOf(segment), "marker-end": segment.arrow ? "url(#graph-arrow)" : null }));
  for (const box of shown) {
    const element = draw(box);
    element.removeAttribute("tabindex");
    svg.append(element);
  }
  return new XMLSerializer().serializeToString(svg);
}

export async function pngOf(svg, width, height) {
  const scale = Math.min(2, Math.sqrt(MOST_PIXELS / (width * height)), 16_000 / Math.max(width, height));
  const picture = new Image();
  picture.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await picture.decode();
  const canvas = document.createElement("canvas");
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
  return new Promise((done) => canvas.toBlob(done, "image/png"));
}
