// Charts as SVG files: with title and legend, which the page has as text.
import { init } from "./echarts.js";

const WIDTH = 960;
const HEAD = 64;
const ESCAPES = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };

const escaped = (text) => text.replace(/[&<>]/g, (sign) => ESCAPES[sign]);

// about: sentence for the file's description, with the address of the page.
export function svgOf(option, { title, about, height }) {
  const chart = init(null, null, { renderer: "svg", ssr: true, width: WIDTH, height: height + HEAD });
  chart.setOption({
    ...option,
    tooltip: undefined,
    animation: false,
    title: { text: title, left: 16, top: 10, textStyle: { color: option.textStyle.color, fontSize: 16 } },
    legend: { ...option.legend, show: true, left: 16, top: 38 },
    grid: { ...option.grid, top: (option.grid.top ?? 0) + HEAD },
  });
  const svg = chart.renderToSVGString();
  chart.dispose();
  return svg.replace(">", () => `><title>${escaped(title)}</title><desc>${escaped(about)}</desc>`);
}
