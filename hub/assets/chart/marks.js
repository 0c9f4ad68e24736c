// Marks of custom series, by the name that an option gives as renderItem.

const CAP = 4;

const segment = (from, to, stroke) => ({
  type: "line",
  shape: { x1: from[0], y1: from[1], x2: to[0], y2: to[1] },
  style: { stroke, lineWidth: 1.4, opacity: 0.75 },
});

// An interval with a cap at both ends; data: [x, y, low, high].
const whisker = (isVertical) => (params, api) => {
  const at = (end) => api.coord(isVertical ? [api.value(0), end] : [end, api.value(1)]);
  const stroke = api.visual("color");
  const ends = [at(api.value(2)), at(api.value(3))];
  const [dx, dy] = isVertical ? [CAP, 0] : [0, CAP];
  const caps = ends.map(([x, y]) => segment([x - dx, y - dy], [x + dx, y + dy], stroke));
  return { type: "group", children: [segment(ends[0], ends[1], stroke), ...caps] };
};

// A bar of a histogram from the axis; data: [from, to, height].
const bin = (params, api) => {
  const [left, top] = api.coord([api.value(0), api.value(2)]);
  const [right, zero] = api.coord([api.value(1), 0]);
  return {
    type: "rect",
    shape: {
      x: left,
      y: Math.min(top, zero),
      width: Math.max(right - left - 1, 1),
      height: Math.max(Math.abs(zero - top), 1),
    },
    style: { fill: api.visual("color") },
  };
};

// A stretch of the horizontal axis from top to bottom; data: [from, to].
const band = (params, api) => {
  const { y, height } = params.coordSys;
  const [left] = api.coord([api.value(0), 0]);
  const [right] = api.coord([api.value(1), 0]);
  return {
    type: "rect",
    shape: { x: left, y, width: Math.max(right - left, 1), height },
    style: { fill: api.visual("color"), opacity: 0.45 },
  };
};

export const MARKS = { band, "whisker-x": whisker(false), "whisker-y": whisker(true), bin };
