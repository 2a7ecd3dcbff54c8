// Tabs, copy buttons, the menu of small screens, and the search. Without this script every page can be read.
const { root, search: searchModule } = document.currentScript.dataset;
document.documentElement.classList.add("js");
document.addEventListener("DOMContentLoaded", () => {
  for (const tabs of document.querySelectorAll(".tabs")) makeTabs(tabs);
  for (const figure of document.querySelectorAll("figure.code")) addCopyButton(figure);
  prepareMenu();
  prepareSearch();
});

const LANGUAGE = "docs-language";

/** Storage may be forbidden; then the choice lasts for the page. */
function chosenLanguage(language) {
  try {
    if (language !== undefined) localStorage.setItem(LANGUAGE, language);
    return localStorage.getItem(LANGUAGE);
  } catch {
    return null;
  }
}

function makeTabs(tabs) {
  const panels = [...tabs.querySelectorAll("figure")];
  const list = document.createElement("div");
  list.className = "tablist";
  list.setAttribute("role", "tablist");
  list.setAttribute("aria-label", "Language");
  const buttons = panels.map((panel, at) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = panel.dataset.tab;
    button.setAttribute("role", "tab");
    panel.id ||= `panel-${[...document.querySelectorAll("figure")].indexOf(panel)}`;
    button.id = `${panel.id}-tab`;
    button.setAttribute("aria-controls", panel.id);
    panel.setAttribute("role", "tabpanel");
    panel.setAttribute("aria-labelledby", button.id);
    button.addEventListener("click", () => {
      chosenLanguage(panel.dataset.tab);
      document.dispatchEvent(new CustomEvent("language", { detail: panel.dataset.tab }));
    });
    button.addEventListener("keydown", ({ key }) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[key];
      if (step === undefined) return;
      const next = buttons[(at + step + buttons.length) % buttons.length];
      next.click();
      next.focus();
    });
    return button;
  });
  const show = (language) => {
    const found = panels.findIndex((panel) => panel.dataset.tab === language);
    if (found < 0) return;
    panels.forEach((panel, at) => {
      panel.hidden = at !== found;
      buttons[at].setAttribute("aria-selected", String(at === found));
      buttons[at].tabIndex = at === found ? 0 : -1;
    });
  };
  list.append(...buttons);
  tabs.prepend(list);
  tabs.classList.add("ready");
  document.addEventListener("language", ({ detail }) => show(detail));
  show(panels[0].dataset.tab);
  show(chosenLanguage());
}

function addCopyButton(figure) {
  // Without HTTPS a browser has no clipboard for pages.
  if (navigator.clipboard === undefined) return;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    const copied = navigator.clipboard.writeText(figure.querySelector("code").textContent);
    button.textContent = await copied.then(
      () => "Copied",
      () => "Not copied",
    );
    setTimeout(() => {
      button.textContent = "Copy";
    }, 1500);
  });
  figure.append(button);
}

function prepareMenu() {
  const button = document.querySelector(".site-menu");
  const navigation = document.querySelector(".navigation");
  if (navigation === null) {
    button.remove();
    return;
  }
  button.addEventListener("click", () => {
    const isOpen = navigation.classList.toggle("open");
    button.setAttribute("aria-expanded", String(isOpen));
    if (isOpen) scrollTo(0, 0);
  });
  const current = navigation.querySelector("[aria-current]");
  const isBelow = current !== null && current.offsetTop > navigation.clientHeight * 0.9;
  if (isBelow) navigation.scrollTop = current.offsetTop - navigation.clientHeight / 2;
}

const RESULTS_MAX = 12;

/** Loads the index at the first use. */
async function loadIndex() {
  const [{ default: MiniSearch }, response] = await Promise.all([
    import(new URL(searchModule, document.baseURI)),
    fetch(`${root}search.json`),
  ]);
  const index = new MiniSearch({
    fields: ["title", "page", "text"],
    storeFields: ["title", "page"],
    searchOptions: { boost: { title: 4, page: 2 }, prefix: true, fuzzy: 0.2, combineWith: "AND" },
  });
  index.addAll(await response.json());
  return index;
}

function prepareSearch() {
  const input = document.querySelector(".site-search input");
  const results = document.querySelector(".site-results");
  let index;
  const update = async () => {
    const words = input.value.trim();
    if (words === "") {
      results.hidden = true;
      return;
    }
    index ??= loadIndex();
    const found = (await index).search(words).slice(0, RESULTS_MAX);
    if (input.value.trim() !== words) return;
    results.replaceChildren(...(found.length === 0 ? [nothingFound()] : found.map(resultItem)));
    results.hidden = false;
  };
  input.addEventListener("focus", () => {
    index ??= loadIndex();
  });
  input.addEventListener("input", () => void update());
  document.addEventListener("keydown", (event) => {
    const isTyping = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName ?? "");
    if (event.key === "/" && !isTyping && !event.target.isContentEditable) {
      event.preventDefault();
      input.focus();
    }
    if (event.key === "Escape") results.hidden = true;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") moveFocus(event, input, results);
  });
  document.addEventListener("click", ({ target }) => {
    if (!target.closest(".site-search")) results.hidden = true;
  });
}

/** The arrow keys move from the field through the results. */
function moveFocus(event, input, results) {
  if (results.hidden || !event.target.closest?.(".site-search")) return;
  const stops = [input, ...results.querySelectorAll("a")];
  const step = event.key === "ArrowDown" ? 1 : -1;
  const next = stops[stops.indexOf(event.target) + step];
  event.preventDefault();
  next?.focus();
}

function resultItem({ id, title, page }) {
  const item = document.createElement("li");
  const link = document.createElement("a");
  link.href = root + id.replace(/^\.\//, "");
  link.textContent = title;
  if (page !== title) {
    const from = document.createElement("small");
    from.textContent = page;
    link.append(from);
  }
  item.append(link);
  return item;
}

function nothingFound() {
  const item = document.createElement("li");
  const text = document.createElement("p");
  text.textContent = "Nothing found.";
  item.append(text);
  return item;
}
