// The builds that a person has put aside for a comparison: kept in this browser, shown as a bar at the
// bottom. Without scripts or storage, "Add to compare" is a link to a comparison of one build.
(() => {
  const KEY = "hpcfair-compare";
  const MOST = 24;

  const read = () => {
    try {
      const stored = JSON.parse(localStorage.getItem(KEY) ?? "[]");
      return Array.isArray(stored) ? stored.filter((one) => typeof one?.build === "string").slice(0, MOST) : [];
    } catch { return []; }
  };
  const write = (builds) => {
    try { localStorage.setItem(KEY, JSON.stringify(builds)); } catch { return false; }
    return true;
  };

  const element = (name, text, properties = {}) => {
    const made = document.createElement(name);
    made.textContent = text;
    return Object.assign(made, properties);
  };

  const tray = element("aside", "", { className: "compare-tray", hidden: true });
  tray.setAttribute("aria-label", "Builds to compare");

  function show() {
    const builds = read();
    for (const link of document.querySelectorAll("[data-compare]")) {
      const isIn = builds.some(({ build }) => build === link.dataset.compare);
      link.textContent = isIn ? "Added" : "Add to compare";
      link.classList.toggle("added", isIn);
      link.setAttribute("aria-label", `${isIn ? "Remove from compare" : "Add to compare"}: ${link.dataset.label}`);
    }
    tray.hidden = !builds.length;
    document.body.classList.toggle("has-tray", !tray.hidden);
    const query = new URLSearchParams(builds.map(({ build }) => ["build", build]));
    const words = `${builds.length} ${builds.length === 1 ? "build" : "builds"}`;
    const status = element("span", words, { title: builds.map(({ label }) => label).join(", ") });
    status.setAttribute("role", "status");
    const go = element("a", "Compare", { className: "button primary", href: `/compare?${query}` });
    const clear = element("button", "Clear", { type: "button", className: "plain" });
    clear.addEventListener("click", () => { write([]); show(); });
    tray.replaceChildren(status, go, clear);
  }

  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("[data-compare]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const { compare: build, label } = link.dataset;
    const builds = read();
    const others = builds.filter((one) => one.build !== build);
    const isIn = others.length < builds.length;
    if (!isIn && builds.length >= MOST) return;
    if (!write(isIn ? others : [...builds, { build, label }])) return;
    event.preventDefault();
    show();
  });
  // Another tab changed it.
  addEventListener("storage", ({ key }) => { if (key === KEY) show(); });
  document.body.append(tray);
  show();
})();
