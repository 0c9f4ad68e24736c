// Values that a page lays over a network: {metric, unit, scale, groups: {id, label, nodes, value, text,
// grade, marks}, texts, folded: [node]}. Groups are in columns; id, label, text, grade and marks are
// places in texts. A group's value belongs to all of its nodes together.

// Cividis (Nunez, Anderton and Renslow 2018), and blue to orange for differences.
const CIVIDIS = ["#00204d", "#31446b", "#666970", "#958f78", "#cbba69", "#ffea46"];
const DIVERGING = ["#2166ac", "#67a9cf", "#d1e5f0", "#f2f2f0", "#fdd9b5", "#f1a340", "#b35806"];
export const SCALES = ["sqrt", "linear", "log"];

export class Overlay {
  constructor(data, network) {
    this.metric = data.metric ?? "value";
    this.unit = data.unit ?? "";
    this.isDiverging = data.scale === "diverging";
    this.scale = "sqrt";
    const { groups, texts } = data;
    this.groups = groups.id.map((id, at) => ({
      id: texts[id],
      label: texts[groups.label[at]],
      text: texts[groups.text[at]],
      grade: texts[groups.grade[at]],
      nodes: groups.nodes[at].filter((node) => Number.isInteger(node) && node >= 0 && node < network.count),
      value: Number.isFinite(groups.value[at]) ? groups.value[at] : null,
      marks: groups.marks[at].map((mark) => texts[mark]),
    }));
    this.byId = new Map(this.groups.map((group) => [group.id, group]));
    this.byNode = new Map();
    for (const group of this.groups) for (const node of group.nodes) {
      const before = this.byNode.get(node);
      // Of several groups that compute a node, the one that costs most.
      if (!before || (before.value ?? 0) < (group.value ?? 0)) this.byNode.set(node, group);
    }
    this.folded = new Set(data.folded ?? []);
    // Hottest first, for n and p.
    this.ranked = this.groups.filter((group) => group.value !== null && group.nodes.length);
    this.ranked.sort((a, b) => Math.abs(b.value) - Math.abs(a.value) || a.nodes[0] - b.nodes[0]);
    this.most = this.ranked.length ? Math.abs(this.ranked[0].value) : 0;
  }

  // What a box shows: {value, text, grade, marks, state}; state is hot, folded or none.
  of(box, network) {
    if (box.kind === "node") {
      const group = this.byNode.get(box.node);
      if (group && group.value !== null) {
        const isAnchor = group.nodes[0] === box.node;
        return { value: group.value, text: isAnchor ? this.text(group) : "", grade: group.grade, marks: isAnchor ? group.marks : [], state: "hot", group };
      }
      return { value: null, text: "", marks: group?.marks ?? [], grade: group?.grade, state: this.folded.has(box.node) ? "folded" : "none", group };
    }
    if (box.kind !== "scope") return { value: null, text: "", marks: [], state: "end" };
    let value = null;
    let folded = 0;
    const marks = new Set();
    const grades = new Set();
    const nodes = network.all(box.group);
    for (const node of nodes) {
      const group = this.byNode.get(node);
      if (this.folded.has(node)) folded++;
      if (!group || group.nodes[0] !== node || group.value === null) continue;
      value = (value ?? 0) + group.value;
      grades.add(group.grade);
      group.marks.forEach((mark) => marks.add(mark));
    }
    if (value === null) return { value, text: "", marks: [], state: folded === nodes.length ? "folded" : nodes.some((node) => this.byNode.has(node)) ? "within" : "none" };
    const grade = grades.has("inferred") ? "inferred" : grades.has("shared") ? "shared" : "exact";
    return { value, text: this.written(value), grade, marks: [...marks], state: "hot" };
  }

  text(group) {
    return group.text || this.written(group.value);
  }

  written(value) {
    const size = Math.abs(value);
    const text = size >= 100 ? value.toFixed(0) : size >= 1 ? value.toFixed(1) : size >= 0.01 ? value.toFixed(2) : value === 0 ? "0" : value.toExponential(0);
    return `${this.isDiverging && value > 0 ? "+" : ""}${text} ${this.unit}`.trim();
  }

  bins() {
    return this.isDiverging ? DIVERGING.length : CIVIDIS.length;
  }

  // Bin of a value from 0; most: the largest absolute value shown.
  bin(value, most) {
    if (!most) return this.isDiverging ? 3 : 0;
    if (this.isDiverging) return Math.max(0, Math.min(6, Math.round(3 + (3 * value) / most)));
    return Math.max(0, Math.min(5, Math.floor(6 * this.share(Math.max(0, value) / most))));
  }

  share(part) {
    if (this.scale === "linear") return part;
    if (this.scale === "log") return part <= 0 ? 0 : Math.max(0, 1 + Math.log10(part) / 3);
    return Math.sqrt(part);
  }

  // Lower end of a bin.
  lower(bin, most) {
    if (this.isDiverging) return (most * (bin - 3.5)) / 3;
    const share = bin / 6;
    if (this.scale === "linear") return share * most;
    if (this.scale === "log") return bin ? most * 10 ** (3 * (share - 1)) : 0;
    return share * share * most;
  }
}

// {fill, ink} of a bin. More of it stands out more: dark on a light page, light on a dark one.
export function heat(bin, isDiverging, isDark) {
  const colors = isDiverging ? DIVERGING : isDark ? CIVIDIS : [...CIVIDIS].reverse();
  const fill = colors[bin];
  return { fill, ink: luminance(fill) > 0.3 ? "#14161a" : "#ffffff" };
}

function luminance(hex) {
  const [r, g, b] = [1, 3, 5].map((at) => {
    const part = parseInt(hex.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
