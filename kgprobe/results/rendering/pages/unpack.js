// The facts of the page, unpacked; and what all other scripts need. All data become text, never markup.
"use strict";
const at = (id) => document.getElementById(id);
const filled = (element, attributes, text) => {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text !== null) element.textContent = text;
  return element;
};
const htmlElement = (tag, attributes = {}, text = null) => filled(document.createElement(tag), attributes, text);
const svgElement = (tag, attributes = {}, text = null) =>
  filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, text);

const grouped = (number) => number.toLocaleString("en");
const counted = (number, thing) => `${grouped(number)} ${thing}${number === 1 ? "" : "s"}`;

// Facts as kgprobe.results.rendering.packed_facts wrote them: columns of numbers, and places of texts.
let data = null;
let strings = null;
let columns = null;
let BELIEFS = null;

async function unpackFacts() {
  const packed = Uint8Array.from(atob(at("asked-facts").textContent), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  data = JSON.parse(await new Response(stream).text());
  ({ strings, columns, beliefs: BELIEFS } = data);
}

const text = (place) => (place < 0 ? "" : strings[place]);
const nameOf = (entity) => text(data.entities[entity]);
const typeOf = (entity) => data.types[entity];
// 1234 is 2.34e-1: exponent and three digits.
const probability = (code) => {
  if (code <= 0) return code < 0 ? "" : "0";
  const value = (code % 1000) / 100 / 10 ** Math.floor(code / 1000);
  return value < 0.0005 ? "≈ 0" : String(Number(value.toPrecision(3)));
};
const percent = (thousandths) => (thousandths > 0 && thousandths < 10 ? "< 1%" : `${Math.round(thousandths / 10)}%`);
const beliefClass = (row) => BELIEFS[columns.belief[row]].replace(" ", "-");
const isKnown = (row) => columns.right[row] > columns.wrong[row];

// Lower-case texts of a fact, in which a search looks; made once, when it is first needed.
let searchTexts = null;
function searchText(row) {
  if (searchTexts === null) {
    const lower = strings.map((string) => string.toLowerCase());
    const part = (place) => (place < 0 ? "" : lower[place]);
    searchTexts = Array.from({ length: data.rows }, (_, each) =>
      [
        ...[columns.question, columns.answer, columns.prediction].map((column) => part(column[each])),
        part(data.entities[columns.subject[each]]),
        part(data.entities[columns.object[each]]),
      ].join("\n"),
    );
  }
  return searchTexts[row];
}
const wordsOf = (input) => input.value.toLowerCase().split(/\s+/).filter(Boolean);
const hasWords = (row, words) => words.every((word) => searchText(row).includes(word));

function offer(select, values) {
  for (const [value, label] of values) select.append(htmlElement("option", { value }, label));
}
// Call a function after the last of several inputs.
function whenChanged(form, show) {
  let waiting = 0;
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(show, 60);
  });
  form.addEventListener("reset", () => setTimeout(show));
}

// What was put to the model about a fact, and what it answered.
function factDetail(row) {
  const list = htmlElement("dl");
  const add = (name, value) => {
    if (value === "") return;
    const definition = htmlElement("dd", { dir: "auto" });
    definition.append(value);
    list.append(htmlElement("dt", {}, name), definition);
  };
  const { label, probe } = data.results[columns.result[row]];
  add("Result", `${label}: ${probe}`);
  add("Fact", `${nameOf(columns.subject[row])} — ${text(columns.relation[row])} → ${nameOf(columns.object[row])}`);
  add("Id", data.facts[row]);
  if (columns.prompt[row] >= 0) add("Prompt", htmlElement("pre", {}, text(columns.prompt[row])));
  const likely = probability(columns.probability[row]);
  add("Right answer", `${text(columns.answer[row])}${likely && `, ${likely}`}`);
  add("Answers", `${grouped(columns.right[row])} right, ${grouped(columns.wrong[row])} wrong`);
  if (columns.text[row] >= 0) add("Generated text", htmlElement("pre", {}, text(columns.text[row])));
  const alternatives = alternativesOf(row);
  if (alternatives) add("Alternatives", alternatives);
  if (at("map")) add("Map", mapButton(row));
  return list;
}
function alternativesOf(row) {
  const first = row ? data.ends[row - 1] : 0;
  if (data.ends[row] === first) return null;
  const names = htmlElement("ul");
  for (let place = first; place < data.ends[row]; place++)
    names.append(
      htmlElement("li", { dir: "auto" }, `${text(data.names[place])}: ${probability(data.probabilities[place])}`),
    );
  const more = columns.more[row];
  if (more) names.append(htmlElement("li", {}, `and ${grouped(more)} more, less probable`));
  return names;
}
function mapButton(row) {
  const button = htmlElement("button", { type: "button" }, "Show in the map");
  button.addEventListener("click", () => {
    showEntity(columns.subject[row], columns.result[row]);
    at("map").scrollIntoView({ block: "center" });
  });
  return button;
}
