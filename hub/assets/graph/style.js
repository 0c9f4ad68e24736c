// Colours of the page, for what is drawn on a canvas or saved as a file.

export function styleOf(element) {
  const read = getComputedStyle(element);
  const color = (name) => read.getPropertyValue(name).trim();
  const probe = (name) => {
    element.style.setProperty("outline-color", `var(${name})`);
    return getComputedStyle(element).outlineColor;
  };
  const style = Object.fromEntries(["paper", "panel", "sunken", "ink", "soft", "line", "accent", "warn"].map((name) => [name, color(`--${name}`) && probe(`--${name}`)]));
  element.style.removeProperty("outline-color");
  const [red, green, blue] = style.panel.match(/[\d.]+/g).map(Number);
  style.isDark = red + green + blue < 380;
  return style;
}
