// Elements without markup: names of networks are untrusted, and are only ever set as text.

const SVG = "http://www.w3.org/2000/svg";

export function make(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

export function shape(name, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

export function button(text, label, action, attributes = {}) {
  return make("button", { type: "button", class: "graph-button", "aria-label": label, title: label, onclick: action, ...attributes }, text);
}

// At most so many characters, with an ellipsis.
export const cut = (text, most) => (text.length <= most ? text : `${text.slice(0, most - 1)}…`);

export const spelled = (number) => number.toLocaleString("en");

export function bytes(count) {
  if (count < 1000) return `${count} B`;
  const units = ["kB", "MB", "GB", "TB"];
  let at = -1;
  while (count >= 1000 && at < 3) [count, at] = [count / 1000, at + 1];
  return `${count.toFixed(count < 10 ? 1 : 0)} ${units[at]}`;
}

// 1_200_000 -> "1.2 M"
export function short(count) {
  if (count < 1000) return String(count);
  const units = ["k", "M", "G", "T"];
  let at = -1;
  while (count >= 1000 && at < 3) [count, at] = [count / 1000, at + 1];
  return `${count.toFixed(count < 10 ? 1 : 0)} ${units[at]}`;
}
