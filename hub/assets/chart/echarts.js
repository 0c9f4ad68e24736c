// The parts of ECharts that the charts of the pages use; the bundle contains no others.
import { BarChart, CustomChart, LineChart, ScatterChart } from "echarts/charts";
import { GridComponent, LegendPlainComponent, TitleComponent, TooltipComponent } from "echarts/components";
import { init, use } from "echarts/core";
import { SVGRenderer } from "echarts/renderers";

use([
  BarChart, CustomChart, LineChart, ScatterChart,
  GridComponent, LegendPlainComponent, TitleComponent, TooltipComponent,
  SVGRenderer,
]);

export { init };
