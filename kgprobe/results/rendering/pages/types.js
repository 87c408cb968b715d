// The map of all types: subject type, relation, object type. Colour is the share known, width the number of facts.
const MOST_LINKS = 30;
const LINK_HEIGHT = 26;
// How much wider bold letters are.
const BOLD = 1.15;

function linksOf(result) {
  return data.links
    .filter((link) => link[0] === result)
    .slice(0, MOST_LINKS)
    .map(([, from, relation, to, facts, asked, known, estimated]) => ({
      from,
      relation,
      to,
      facts,
      asked,
      known: known < 0 ? null : known / 1000,
      estimated: Boolean(estimated),
    }));
}
// The share known of a link: estimated over the graph, or of the asked facts.
function shareOf({ known, estimated, facts, asked }) {
  if (known === null) return "not asked";
  const share = percent(1000 * known);
  return estimated || asked === facts ? share : `${share} of ${grouped(asked)} asked`;
}
// Links of one subject type next to each other, the type with most facts first; within a type, the least known first.
function orderedLinks(links) {
  const sizes = new Map();
  for (const { from, facts } of links) sizes.set(from, (sizes.get(from) || 0) + facts);
  return links.sort(
    (one, other) => sizes.get(other.from) - sizes.get(one.from) || one.from - other.from || (one.known ?? 2) - (other.known ?? 2),
  );
}
// Rows from top to bottom, with a gap between subject types.
function placeLinks(links) {
  let y = 24;
  links.forEach((link, place) => {
    if (place && link.from !== links[place - 1].from) y += 10;
    link.y = y;
    y += LINK_HEIGHT;
  });
  return y;
}
// The middle of the rows of each type, moved down where two types would be too close.
function placeTypes(links, end, height) {
  const rows = new Map();
  for (const link of links) rows.set(link[end], [...(rows.get(link[end]) || []), link.y]);
  const types = [...rows].map(([type, ys]) => ({ type, y: ys.reduce((sum, y) => sum + y, 0) / ys.length }));
  types.sort((one, other) => one.y - other.y);
  types.forEach((type, place) => {
    if (place) type.y = Math.max(type.y, types[place - 1].y + 18);
  });
  // Those beyond the end move up again.
  for (let place = types.length - 1, limit = height - 12; place >= 0; place--, limit -= 18)
    types[place].y = Math.min(types[place].y, limit);
  return new Map(types.map(({ type, y }) => [type, y]));
}
const linkName = (link) => `${text(link.from)} – ${text(link.relation)} → ${text(link.to)}`;
function linkPath(link, from, to, xs) {
  const [left, start, end, right] = xs;
  const points = [
    [left, from],
    [start, link.y],
    [end, link.y],
    [right, to],
  ].map(([x, y]) => onScreen({ x, y }));
  const [a, b, c, d] = points;
  const bend = (one, other) =>
    `C ${(one.x + other.x) / 2} ${one.y} ${(one.x + other.x) / 2} ${other.y} ${other.x} ${other.y}`;
  return `M ${a.x} ${a.y} ${bend(a, b)} L ${c.x} ${c.y} ${bend(c, d)}`;
}
function drawLinks(links, result) {
  const { width, height } = stage;
  const xs = [0.21, 0.33, 0.67, 0.79].map((share) => share * width);
  const lefts = placeTypes(links, "from", height),
    rights = placeTypes(links, "to", height);
  const most = Math.max(...links.map((link) => link.facts));
  const room = width * stage.view.scale;
  const relations = [...new Set(links.map((link) => link.relation))];
  // A narrow picture has no room for numbers of asked facts: a pointer and the table have them.
  const shown = room < 600 ? ({ known }) => (known === null ? "–" : percent(1000 * known)) : shareOf;
  const widest = Math.max(...links.map((link) => widthOf(` ${shown(link)}`)));
  const relationNames = fittedApart(relations.map(text), 0.32 * room - widest);
  const parts = links.map((link) => {
    const name = `${linkName(link)}: ${counted(link.facts, "fact")}, ${grouped(link.asked)} asked, known: ${shareOf(link)}`;
    const part = activated({ class: "link" }, name, () => openLink(link, result));
    const path = linkPath(link, lefts.get(link.from), rights.get(link.to), xs);
    part.append(
      svgElement("path", {
        d: path,
        style: `stroke: ${knownColour(link.known)}; stroke-width: ${1.5 + 9 * Math.sqrt(link.facts / most)}`,
      }),
    );
    const middle = onScreen({ x: width / 2, y: link.y });
    const share = ` ${shown(link)}`;
    const relation = relationNames[relations.indexOf(link.relation)];
    // A plate behind the text, which would be hard to read on its line.
    const wide = widthOf(relation + share) + 10;
    part.append(
      svgElement("rect", { class: "plate", x: middle.x - wide / 2, y: middle.y - 9, width: wide, height: 18 }),
      svgElement(
        "text",
        { x: middle.x, y: middle.y + 4, "text-anchor": "middle", "aria-hidden": "true" },
        relation + share,
      ),
    );
    return part;
  });
  const ends = [
    [lefts, xs[0] - 6, "end"],
    [rights, xs[3] + 6, "start"],
  ].flatMap(([types, x, anchor]) => {
    const names = fittedApart([...types.keys()].map(text), (0.2 * room - 6) / BOLD);
    return [...types.values()].map((y, number) => {
      const place = onScreen({ x, y });
      return svgElement(
        "text",
        { x: place.x, y: place.y + 4, "text-anchor": anchor, class: "type", "aria-hidden": "true" },
        names[number],
      );
    });
  });
  at("map").replaceChildren(...parts, ...ends);
}
function showTypes(result) {
  const links = orderedLinks(linksOf(result));
  const all = data.links.filter((link) => link[0] === result).length;
  drawing("types", result);
  at("map-count").textContent =
    `${counted(links.length, "link")} between types${links.length < all ? ` of ${grouped(all)}, those with most facts` : ""}. Choose one to see its least known entity.`;
  setStage(Math.max(160, placeLinks(links) + 6), () => drawLinks(links, result));
}
// Go to the entity whose facts of a link are least known, in all.
function openLink(link, result) {
  const missing = new Map();
  for (const fact of allFacts(result)) {
    if (fact.relation !== link.relation || typeOf(fact.subject) !== link.from || typeOf(fact.object) !== link.to)
      continue;
    missing.set(fact.subject, (missing.get(fact.subject) || 0) + 1 - fact.known);
  }
  const [entity] = [...missing].reduce((worst, each) => (each[1] > worst[1] ? each : worst), [null, -1]);
  if (entity === null) at("map-count").textContent = `The page has no fact of ${linkName(link)}.`;
  else showEntity(entity, result);
}
