// Theme: the system's until a person chooses one, which the browser stores.
(() => {
  const root = document.documentElement;
  const stored = localStorage.getItem("theme");
  // "auto" is stored by the manual.
  if (stored && stored !== "auto") root.dataset.theme = stored;
  document.addEventListener("DOMContentLoaded", () => {
    const toggle = document.querySelector("[data-theme-toggle]");
    toggle.hidden = false;
    toggle.addEventListener("click", () => {
      const dark = root.dataset.theme
        ? root.dataset.theme === "dark"
        : matchMedia("(prefers-color-scheme: dark)").matches;
      root.dataset.theme = dark ? "light" : "dark";
      localStorage.setItem("theme", root.dataset.theme);
    });
  });
})();
