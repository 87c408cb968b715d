// The stage of the map: zoom, moves, and labels that are never drawn over one another. Positions are zoomed, texts keep
// their size, so that a nearer view has room for more labels.
const FARTHEST = 1;
const NEAREST = 8;
const stage = { width: 900, height: 560, view: { x: 0, y: 0, scale: 1 }, draw: () => {} };

const measure = document.createElement("canvas").getContext("2d");
measure.font = "12px system-ui, sans-serif";
const widthOf = (name) => measure.measureText(name).width;
// A name that is cut to a width in pixels.
function fitted(name, width) {
  if (widthOf(name) <= width) return name;
  const letters = [...name];
  // Long labels are cut roughly first, because each further letter is measured.
  letters.length = Math.min(letters.length, Math.ceil(width / 3));
  while (letters.length && widthOf(`${letters.join("")}…`) > width) letters.pop();
  return `${letters.join("")}…`;
}
// The names of different things, cut to a width; those that would be cut alike lose their middle, and differ.
function fittedApart(names, width) {
  const cut = names.map((name) => fitted(name, width));
  return cut.map((end, place) => {
    const name = names[place];
    if (end === name || cut.filter((other) => other === end).length === 1) return end;
    const half = Math.floor(([...end].length - 1) / 2);
    if (half < 1) return end;
    return `${[...name].slice(0, half).join("")}…${[...name].slice(-half).join("")}`;
  });
}
const onScreen = ({ x, y }) => ({
  x: (x - stage.view.x) * stage.view.scale,
  y: (y - stage.view.y) * stage.view.scale,
});
// From orange by grey to blue, as on every page; null is not asked.
const knownColour = (share) =>
  share === null
    ? "var(--band)"
    : `color-mix(in srgb, var(${share < 0.5 ? "--unknown" : "--known"}) ${Math.round(Math.abs(share - 0.5) * 200)}%, var(--middle))`;

// Boxes on the stage that labels must not touch.
class Boxes {
  constructor() {
    this.all = [];
  }
  add(box) {
    this.all.push(box);
  }
  isFree(box) {
    return !this.all.some(
      (other) => box.left < other.right && other.left < box.right && box.top < other.bottom && other.top < box.bottom,
    );
  }
  addDot({ x, y }, radius) {
    this.add({ left: x - radius, right: x + radius, top: y - radius, bottom: y + radius });
  }
}
function textBox({ x, y }, name, anchor) {
  const width = widthOf(name);
  const left = x - { start: 0, middle: width / 2, end: width }[anchor];
  return { left: left - 1, right: left + width + 1, top: y - 11, bottom: y + 4 };
}
// A text at the first place that is free and on the stage; null without one: the list and a pointer have it, too.
function label(boxes, name, places, attributes = {}) {
  for (const { x, y, anchor } of places) {
    const box = textBox({ x, y }, name, anchor);
    const isInside = box.left >= 0 && box.right <= stage.width && box.top >= 0 && box.bottom <= stage.height;
    if (!isInside || !boxes.isFree(box)) continue;
    boxes.add(box);
    return svgElement("text", { x, y, "text-anchor": anchor, "aria-hidden": "true", ...attributes }, name);
  }
  return null;
}
// Places around a dot, the one away from the centre first.
function placesAround({ x, y }, radius, rightwards) {
  const right = { x: x + radius + 4, y: y + 4, anchor: "start" };
  const left = { x: x - radius - 4, y: y + 4, anchor: "end" };
  const below = { x, y: y + radius + 13, anchor: "middle" };
  const above = { x, y: y - radius - 5, anchor: "middle" };
  return rightwards ? [right, below, above, left] : [left, below, above, right];
}
// A part of the picture that opens something.
function activated(attributes, name, open) {
  const part = svgElement("g", { tabindex: "0", role: "button", "aria-label": name, ...attributes });
  part.append(svgElement("title", {}, name));
  part.addEventListener("click", open);
  part.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    open();
  });
  return part;
}

// Zoom so that the point of the stage stays where it is; true if something changed.
function zoom(factor, { x, y } = { x: stage.width / 2, y: stage.height / 2 }) {
  const { view } = stage;
  const scale = Math.min(NEAREST, Math.max(FARTHEST, view.scale * factor));
  if (scale === view.scale) return false;
  const held = { x: view.x + x / view.scale, y: view.y + y / view.scale };
  stage.view = { x: held.x - x / scale, y: held.y - y / scale, scale };
  moveBy(0, 0);
  return true;
}
// Move the view, which stays on the picture.
function moveBy(x, y) {
  const { view, width, height } = stage;
  const within = (value, size) => Math.min(size - size / view.scale, Math.max(0, value));
  view.x = within(view.x + x / view.scale, width);
  view.y = within(view.y + y / view.scale, height);
  stage.draw();
}
// Draw something else, from afar.
function setStage(height, draw) {
  stage.width = Math.max(300, at("map").parentElement.clientWidth - 2);
  stage.height = height;
  stage.view = { x: 0, y: 0, scale: 1 };
  stage.draw = draw;
  at("map").setAttribute("viewBox", `0 0 ${stage.width} ${stage.height}`);
  at("map").setAttribute("height", stage.height);
  draw();
}
function pressKey(event) {
  const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  if (event.key === "+") keepFocus(() => zoom(1.3));
  else if (event.key === "-") keepFocus(() => zoom(1 / 1.3));
  else if (event.key in moves) {
    event.preventDefault();
    const [x, y] = moves[event.key];
    keepFocus(() => moveBy((x * stage.width) / 10, (y * stage.height) / 10));
  }
}
// A drawing replaces all parts: the part with the same name gets the focus again.
function keepFocus(change) {
  const name = at("map").contains(document.activeElement) ? document.activeElement.getAttribute("aria-label") : null;
  change();
  if (name !== null)
    [...at("map").querySelectorAll("[tabindex]")].find((part) => part.getAttribute("aria-label") === name)?.focus();
}
function beginStage() {
  const svg = at("map");
  let grip = null;
  svg.addEventListener("keydown", pressKey);
  svg.addEventListener(
    "wheel",
    (event) => {
      const box = svg.getBoundingClientRect();
      const point = { x: event.clientX - box.left, y: event.clientY - box.top };
      // Where nothing is left to zoom, the wheel scrolls the page.
      if (zoom(event.deltaY < 0 ? 1.15 : 1 / 1.15, point)) event.preventDefault();
    },
    { passive: false },
  );
  svg.addEventListener("pointerdown", (event) => {
    grip = { x: event.clientX, y: event.clientY };
  });
  svg.addEventListener("pointermove", (event) => {
    if (grip === null || stage.view.scale === 1) return;
    moveBy(grip.x - event.clientX, grip.y - event.clientY);
    grip = { x: event.clientX, y: event.clientY };
  });
  for (const name of ["pointerup", "pointerleave"])
    svg.addEventListener(name, () => {
      grip = null;
    });
  at("map-nearer").addEventListener("click", () => zoom(1.3));
  at("map-farther").addEventListener("click", () => zoom(1 / 1.3));
}
