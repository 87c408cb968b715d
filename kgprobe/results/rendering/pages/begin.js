// The start of a page of results.
// Mark the section that is read in the table of contents.
function followSections() {
  const links = new Map();
  for (const link of document.querySelectorAll(".rail a")) links.set(link.getAttribute("href").slice(1), link);
  const observer = new IntersectionObserver(
    (entries) => {
      for (const { isIntersecting, target } of entries) {
        if (!isIntersecting || !links.has(target.id)) continue;
        for (const link of links.values()) link.removeAttribute("aria-current");
        links.get(target.id).setAttribute("aria-current", "true");
      }
    },
    { rootMargin: "0px 0px -70% 0px" },
  );
  for (const section of document.querySelectorAll("section[id]")) observer.observe(section);
}
// A link to a folded section opens it; paper shows all of them.
function openFolded() {
  const open = () => {
    const part = location.hash && document.getElementById(location.hash.slice(1));
    const folded = part && part.querySelector(":scope > details.folded");
    if (folded) folded.open = true;
  };
  for (const link of document.querySelectorAll(".rail a")) link.addEventListener("click", () => setTimeout(open));
  window.addEventListener("hashchange", open);
  open();
  let closed = [];
  window.addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("details.folded:not([open])")];
    for (const folded of closed) folded.open = true;
  });
  window.addEventListener("afterprint", () => {
    for (const folded of closed) folded.open = false;
  });
}
openFolded();
(async () => {
  try {
    await unpackFacts();
  } catch (error) {
    at("facts-failed").textContent =
      `The facts cannot be read by this browser: ${error}. The files next to this page have them, too.`;
    at("facts-failed").hidden = false;
    return;
  }
  if (at("asked-table")) beginFacts();
  if (at("matrix")) beginMatrix();
  if (at("map")) beginMap();
  followSections();
  document.documentElement.dataset.ready = "yes";
})();
