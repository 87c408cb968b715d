// The facts around one entity: the least known ones are farthest; asked ones are filled, expected ones hollow. Many
// facts of one relation collapse into a hub.
const HUB_FROM = 8;
const BEFORE_HUB = 4;
const HUB_STEP = 30;
const MOST_SPOKES = 60;
const mapState = { mode: "types", entity: null, result: 0, expanded: new Map(), before: [] };

function* allFacts(result) {
  for (let row = 0; row < data.rows; row++) if (columns.result[row] === result) yield askedFact(row);
  const { expected } = data;
  for (let row = 0; row < expected.result.length; row++)
    if (expected.result[row] === result)
      yield {
        isAsked: false,
        relation: expected.relation[row],
        subject: expected.subject[row],
        object: expected.object[row],
        known: expected.known[row] / 1000,
      };
}
const askedFact = (row) => ({
  isAsked: true,
  row,
  relation: columns.relation[row],
  subject: columns.subject[row],
  object: columns.object[row],
  known: columns.known[row] / 1000,
});

// Facts by their ends, for one result at a time.
const byEntity = { result: null, facts: null };
function factsOf(entity, result) {
  if (byEntity.result !== result) {
    byEntity.result = result;
    byEntity.facts = new Map();
    for (const fact of allFacts(result))
      for (const end of new Set([fact.subject, fact.object])) {
        if (!byEntity.facts.has(end)) byEntity.facts.set(end, []);
        byEntity.facts.get(end).push(fact);
      }
  }
  return byEntity.facts.get(entity) || [];
}
// Facts of one relation, in one direction, to entities of one type; the largest group first.
function groupFacts(entity, facts) {
  const groups = new Map();
  for (const fact of facts) {
    const isOut = fact.subject === entity;
    const other = isOut ? fact.object : fact.subject;
    const key = `${fact.relation} ${isOut} ${typeOf(other)}`;
    if (!groups.has(key)) groups.set(key, { key, relation: fact.relation, isOut, type: typeOf(other), facts: [] });
    groups.get(key).facts.push({ ...fact, other });
  }
  for (const group of groups.values())
    group.facts.sort(
      (one, other) => other.isAsked - one.isAsked || one.known - other.known || one.other - other.other,
    );
  return [...groups.values()].sort(
    (one, other) => other.facts.length - one.facts.length || one.relation - other.relation,
  );
}
// Of the asked facts the share that is known, of the others the mean expectation.
function sharesOf(facts) {
  const asked = facts.filter((fact) => fact.isAsked);
  const expected = facts.filter((fact) => !fact.isAsked);
  const parts = [];
  if (asked.length)
    parts.push(`${grouped(asked.filter((fact) => isKnown(fact.row)).length)} of ${grouped(asked.length)} asked known`);
  if (expected.length) {
    const mean = expected.reduce((sum, fact) => sum + fact.known, 0) / expected.length;
    parts.push(`${percent(1000 * mean)} of ${grouped(expected.length)} expected to be known`);
  }
  return parts.join(", ");
}
// The facts of a group that are spokes, and the hub of the others.
function spokesOf(group, room) {
  const wanted =
    mapState.expanded.get(group.key) || (group.facts.length > HUB_FROM ? BEFORE_HUB : group.facts.length);
  const count = Math.max(0, Math.min(wanted, room));
  const spokes = group.facts.slice(0, count).map((fact) => ({ ...fact, group }));
  const rest = group.facts.slice(count);
  if (rest.length) {
    const known = rest.reduce((sum, fact) => sum + fact.known, 0) / rest.length;
    spokes.push({ hub: true, group, count: rest.length, known, shares: sharesOf(rest), shown: count });
  }
  return spokes;
}
// Spokes in a circle, groups next to each other; the distance grows with the probability of failing.
function placeSpokes(groups) {
  let room = MOST_SPOKES;
  const rows = groups.map((group) => {
    const spokes = spokesOf(group, room);
    room -= spokes.length;
    return spokes;
  });
  const slots = rows.reduce((sum, spokes) => sum + spokes.length + 0.7, 0);
  let slot = 0;
  for (const spokes of rows) {
    for (const spoke of spokes) {
      spoke.angle = (2 * Math.PI * (slot + 0.5)) / slots - Math.PI / 2;
      Object.assign(spoke, ringPlace(spoke.known, spoke.angle));
      slot++;
    }
    slot += 0.7;
  }
  return rows;
}
function ringPlace(known, angle) {
  const { width, height } = stage;
  const share = 0.22 + 0.78 * (1 - known);
  const across = Math.max(width / 2 - Math.min(150, width * 0.17), 90),
    down = height / 2 - 34;
  return { x: width / 2 + share * across * Math.cos(angle), y: height / 2 + share * down * Math.sin(angle) };
}
const typeName = (type) => (type < 0 ? "any type" : `type ${text(type)}`);
const arrow = ({ relation, isOut }) => (isOut ? `${text(relation)} →` : `← ${text(relation)}`);
function spokeName(spoke) {
  if (spoke.hub)
    return `+${grouped(spoke.count)} more of ${typeName(spoke.group.type)} (${arrow(spoke.group)}), ${spoke.shares}`;
  const fact = `${nameOf(spoke.subject)} — ${text(spoke.relation)} → ${nameOf(spoke.object)}`;
  return `${fact}: ${spoke.isAsked ? BELIEFS[columns.belief[spoke.row]] : "expected"}, known ${percent(1000 * spoke.known)}`;
}
const radiusOf = (spoke) => (spoke.hub ? 8 + 3 * Math.log10(spoke.count) : 6);
function openSpoke(spoke) {
  if (!spoke.hub) {
    showEntity(spoke.other, mapState.result);
    return;
  }
  mapState.expanded.set(spoke.group.key, spoke.shown + HUB_STEP);
  drawEntity();
  const group = [...at("map").querySelectorAll("[data-group]")].filter(
    (part) => part.dataset.group === spoke.group.key,
  );
  (group.find((part) => part.classList.contains("hub")) || group[group.length - 1]).focus();
}
function drawRings(boxes) {
  const centre = onScreen({ x: stage.width / 2, y: stage.height / 2 });
  return [1, 0.5, 0].flatMap((known) => {
    const edge = onScreen(ringPlace(known, 0)),
      top = onScreen(ringPlace(known, -Math.PI / 2));
    const ring = svgElement("ellipse", {
      class: "ring",
      cx: centre.x,
      cy: centre.y,
      rx: edge.x - centre.x,
      ry: centre.y - top.y,
    });
    const name = label(boxes, `known ${100 * known}%`, [{ x: centre.x, y: top.y - 3, anchor: "middle" }], {
      class: "ring-name",
    });
    return name === null ? [ring] : [ring, name];
  });
}
function drawSpoke(spoke, centre) {
  const point = onScreen(spoke);
  const colour = knownColour(spoke.known);
  const name = spokeName(spoke);
  const part = activated(
    {
      class: spoke.hub ? "spoke hub" : `spoke ${spoke.isAsked ? "asked" : "expected"}`,
      "data-group": spoke.group.key,
      style: `--colour: ${colour}`,
    },
    name,
    () => openSpoke(spoke),
  );
  part.append(
    svgElement("line", { x1: centre.x, y1: centre.y, x2: point.x, y2: point.y }),
    svgElement("circle", { cx: point.x, cy: point.y, r: radiusOf(spoke) }),
  );
  return part;
}
// Names of relations in the middle of their groups, then names of hubs, then of entities; where there is room.
function drawNames(rows, boxes) {
  const names = [];
  for (const spokes of rows) {
    const angle = (spokes[0].angle + spokes[spokes.length - 1].angle) / 2;
    const places = [0.05, 0.3, 0.6, 0.8, -0.06].map((known) => ({
      ...onScreen(ringPlace(known, angle)),
      anchor: "middle",
    }));
    names.push(label(boxes, fitted(arrow(spokes[0].group), 150), places, { class: "relation-name" }));
  }
  const spokes = rows.flat().sort((one, other) => Boolean(other.hub) - Boolean(one.hub));
  const entities = [...new Set(spokes.filter((spoke) => !spoke.hub).map((spoke) => spoke.other))];
  const entityNames = fittedApart(entities.map(nameOf), 150);
  for (const spoke of spokes) {
    const name = spoke.hub
      ? fitted(spokeName(spoke).replace(/ \(.*\),/, ","), 260)
      : entityNames[entities.indexOf(spoke.other)];
    names.push(label(boxes, name, placesAround(onScreen(spoke), radiusOf(spoke), Math.cos(spoke.angle) >= 0)));
  }
  return names.filter((name) => name !== null);
}
function drawEntity() {
  const rows = (mapState.rows = placeSpokes(groupFacts(mapState.entity, factsOf(mapState.entity, mapState.result))));
  const boxes = new Boxes();
  const centre = onScreen({ x: stage.width / 2, y: stage.height / 2 });
  boxes.addDot(centre, 12);
  for (const spoke of rows.flat()) boxes.addDot(onScreen(spoke), radiusOf(spoke));
  const name = label(boxes, fitted(nameOf(mapState.entity), 200), placesAround(centre, 11, true), {
    class: "centre-name",
  });
  const names = drawNames(rows, boxes);
  const rings = drawRings(boxes);
  const middle = svgElement("circle", { class: "centre", cx: centre.x, cy: centre.y, r: 11 });
  at("map").replaceChildren(
    ...rings,
    ...rows.flat().map((spoke) => drawSpoke(spoke, centre)),
    middle,
    ...names,
    ...(name ? [name] : []),
  );
  const list = at("map-listed").querySelector("ul");
  list.replaceChildren(...rows.flat().map((spoke) => htmlElement("li", { dir: "auto" }, spokeName(spoke))));
}
function showEntity(entity, result, isBack = false) {
  if (!isBack) mapState.before.push({ mode: mapState.mode, entity: mapState.entity, result: mapState.result });
  const hadFocus = at("map").contains(document.activeElement);
  mapState.expanded.clear();
  mapState.entity = entity;
  drawing("entity", result);
  const facts = factsOf(entity, result);
  at("map-count").textContent = `${nameOf(entity)}: ${counted(facts.length, "fact")}; ${sharesOf(facts)}`;
  at("map-entity").value = nameOf(entity);
  setStage(stage.width < 600 ? 480 : 560, drawEntity);
  if (hadFocus) at("map").querySelector(".spoke")?.focus();
}
// What the map shows: all types, or one entity.
function drawing(mode, result) {
  mapState.mode = mode;
  mapState.result = result;
  at("map-result").value = String(result);
  at("map-back").disabled = mapState.before.length === 0;
  at("map").closest("section").dataset.mode = mode;
  at("map-listed").hidden = mode !== "entity";
}
function showAllTypes() {
  if (mapState.mode !== "types")
    mapState.before.push({ mode: mapState.mode, entity: mapState.entity, result: mapState.result });
  at("map-entity").value = "";
  showTypes(mapState.result);
}
function goBack() {
  const { mode, entity, result } = mapState.before.pop();
  if (mode === "types") showTypes(result);
  else showEntity(entity, result, true);
}
function findEntity(name) {
  const lower = name.trim().toLowerCase();
  const found = data.entities.findIndex(
    (place, entity) => text(place).toLowerCase() === lower && factsOf(entity, mapState.result).length,
  );
  return found < 0 ? null : found;
}
function offerEntities(event) {
  const lower = event.target.value.trim().toLowerCase();
  const names = new Set();
  for (const place of data.entities) {
    if (names.size === 20) break;
    if (lower && text(place).toLowerCase().includes(lower)) names.add(text(place));
  }
  at("map-entities").replaceChildren(...[...names].map((name) => htmlElement("option", { value: name })));
}
function beginMap() {
  offer(
    at("map-result"),
    data.results.map((result, place) => [place, result.label]),
  );
  at("map-results").hidden = data.results.length < 2;
  at("map-types").hidden = data.links.length === 0;
  at("map-entity").addEventListener("input", offerEntities);
  at("map-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const entity = findEntity(at("map-entity").value);
    if (entity === null) at("map-count").textContent = `The page has no fact about “${at("map-entity").value}”.`;
    else showEntity(entity, mapState.result);
  });
  const redraw = () =>
    mapState.mode === "types" ? showTypes(mapState.result) : showEntity(mapState.entity, mapState.result, true);
  at("map-result").addEventListener("input", () => {
    mapState.result = Number(at("map-result").value);
    redraw();
  });
  at("map-types").addEventListener("click", showAllTypes);
  at("map-back").addEventListener("click", goBack);
  at("map-form").hidden = false;
  at("map").removeAttribute("hidden");
  beginStage();
  if (data.links.length) showTypes(data.links[0][0]);
  else showEntity(data.start[0], data.start[1], true);
  let drawnFor = window.innerWidth;
  window.addEventListener("resize", () => {
    if (window.innerWidth !== drawnFor) {
      drawnFor = window.innerWidth;
      redraw();
    }
  });
}
