// The map, the way to where one is, what is there as a list, and one file's facts.

const LIST_LIMITS = { wide: 300, narrow: 12 };

function makeExplorer(target) {
  const hasArchs = Object.keys(target.archs).length > 1;
  if (!hasArchs) state.colour = "kind";
  const choice = (value, label) =>
    make("label", {}, make("input", { type: "radio", name: "colour", value, checked: state.colour === value, onchange: () => { state.colour = value; drawPlace(); } }), label);
  return section("bytes", "Where the bytes are", null,
    make("div", { class: "tools" },
      make("nav", { id: "way", "aria-label": "Place in the image" }),
      make("div", { class: "choices" },
        make("label", { class: "find" }, make("span", { class: "hidden" }, "Find a file"),
          make("input", { id: "find", type: "search", placeholder: "Find a file  ( / )", autocomplete: "off", spellcheck: "false", oninput: () => drawFound(), onkeydown: leaveSearch })),
        hasArchs ? make("fieldset", { class: "switch" }, make("legend", { class: "hidden" }, "Colours"), choice("kind", "Kind"), choice("arch", "GPU")) : null)),
    make("div", { class: "explorer" },
      make("div", { class: "stage" },
        make("div", { id: "map", tabindex: "-1", role: "group", "aria-label": "Treemap. Arrow keys walk, Enter opens, Escape goes up." }),
        make("div", { class: "under" }, make("p", { id: "status", role: "status" }), make("p", { class: "keys note", "aria-hidden": "true" }, "arrows walk \u00b7 Enter opens \u00b7 Esc goes up")),
        make("ul", { id: "legend", "aria-label": "Colours" })),
      make("div", { id: "side", tabindex: "-1", role: "group", "aria-label": "What is here" })));
}

/**
 * Everything that depends on the place. All of it is made anew, so whoever has the focus in a `part` of it gets it back
 * there: on the tile or row of `focusName`, or on the first.
 */
function drawPlace(focusName, part = findPart()) {
  const way = findPlace();
  drawWay(way);
  drawMap(way, focusName, part === "map");
  drawSide(way, focusName, part === "side");
  drawLegend(way[way.length - 1]);
  if (part === "way") document.querySelector("#way [aria-current]").focus();
}

function drawWay(way) {
  const words = way.map((node, index) => {
    const isLast = index === way.length - 1;
    const label = index ? node.name : "image";
    return make("li", {}, make("button", { type: "button", class: "link", "aria-current": isLast ? "location" : null, onclick: () => goTo(state.target, way.slice(1, index + 1).map((one) => one.name)) }, label));
  });
  document.getElementById("way").replaceChildren(make("ol", {}, words));
}

function drawMap(way, focusName, isWalking) {
  const box = document.getElementById("map");
  const node = way[way.length - 1];
  if (!node.children) {
    const tile = make("button", { type: "button", class: `tile single c-${colourOf(node)}`, onclick: goUp }, make("span", { class: "head" }, make("b", {}, node.name), make("i", {}, formatBytes(node.bytes))));
    box.replaceChildren(tile);
    box.onkeydown = null;
    tell(null, node);
    if (isWalking) tile.focus();
    return;
  }
  const first = drawTreemap(box, node, { colourOf, isHolder }, focusName, { onOpen: descend, onShow: (shown) => tell(shown, node) });
  if (isWalking) (first || box).focus();
  else tell(null, node);
}

/** Folders hold files; a file holds archs, which only matter where colours are theirs. */
const isHolder = (node) => Boolean(node.children) && !(node.isFile && state.colour === "kind");

function descend(node) {
  if (!isOpenable(node)) return;
  goTo(state.target, [...findPlace().slice(1).map((one) => one.name), node.name]);
}

/** One line for eyes and screen readers: what is under the pointer or the focus. */
function tell(node, parent) {
  const what = node || parent;
  const isAll = what.name === state.target.id;
  const words = isAll ? ["The whole image", formatBytes(what.bytes)] : [what.name, formatBytes(what.bytes), `${formatShare(what.bytes, state.target.unpacked)} of the image`];
  if (what.item) words.push(`version ${what.item.version}`, plural(what.item.files, "file"), CLASS_WORDS[what.item.class]);
  else if (what.kind && !what.isRest) words.push(what.kind);
  document.getElementById("status").textContent = words.filter(Boolean).join("  \u00b7  ");
}

function drawSide(way, focusName, isWalking) {
  const node = way[way.length - 1];
  const side = document.getElementById("side");
  if (!node.isFile) return drawList(node, LIST_LIMITS[isNarrow() ? "narrow" : "wide"], focusName, isWalking);
  side.replaceChildren(makeFileFacts(node, way));
  if (isWalking) side.focus();
}

const isNarrow = () => matchMedia("(max-width: 60rem)").matches;

/** At least `limit` rows, and so many that the one to get the focus is there. */
function drawList(node, limit, focusName, isWalking) {
  const named = node.children.findIndex((child) => child.name === focusName && isOpenable(child));
  const start = named >= 0 ? named : node.children.findIndex(isOpenable);
  const shown = node.children.slice(0, Math.max(limit, named + 1));
  const rows = shown.map((child, index) => makeRow(child, shown[0].bytes, node.bytes, index === start));
  const more = node.children.length - shown.length;
  const showMore = () => drawList(node, shown.length + LIST_LIMITS.wide, node.children[shown.length].name, true);
  const side = document.getElementById("side");
  side.replaceChildren(make("ul", { class: "rows", onkeydown: walkList }, rows),
    more > 0 ? make("button", { type: "button", class: "link more", onclick: showMore }, `and ${formatCount(more)} smaller`) : "");
  if (isWalking) (side.querySelector("button.row[tabindex='0']") || side).focus();
}

const isOpenable = (node) => !node.isArch && !node.isRest;

function makeRow(child, largest, whole, isStop) {
  const content = [
    make("span", { class: `swatch c-${colourOf(child)}`, "aria-hidden": "true" }), make("span", { class: "name", title: child.name }, nameRow(child)),
    make("span", { class: "n" }, formatBytes(child.bytes)), make("span", { class: "n faint" }, formatShare(child.bytes, whole)), makeBar(child.bytes, largest),
  ];
  return make("li", {}, isOpenable(child)
    ? make("button", { type: "button", class: "row", tabindex: isStop ? "0" : "-1", onclick: () => descend(child) }, content)
    : make("div", { class: "row" }, content));
}

/** The last part of a name matters most: what is before it is faint. */
function nameRow(node) {
  const [head, tail] = node.item ? [node.name.slice(0, node.name.indexOf(":") + 1), node.name.slice(node.name.indexOf(":") + 1)]
    : [node.name.slice(0, node.name.lastIndexOf("/") + 1), node.name.slice(node.name.lastIndexOf("/") + 1)];
  return [head ? make("span", { class: "faint" }, head) : null, tail];
}

/** Up and down in the list, so that it is one stop of the Tab key. */
function walkList(event) {
  const buttons = [...event.currentTarget.querySelectorAll("button")];
  const here = buttons.indexOf(document.activeElement);
  const places = { ArrowDown: here + 1, ArrowUp: here - 1, Home: 0, End: buttons.length - 1 };
  if (!(event.key in places) || !buttons[places[event.key]]) return;
  event.preventDefault();
  buttons[here].tabIndex = -1;
  buttons[places[event.key]].tabIndex = 0;
  buttons[places[event.key]].focus();
}

/** What `rockiln why` says of a file. */
function makeFileFacts(node, way) {
  const { target } = state;
  const owner = way[1];
  const layer = target.layers.find((one) => one.owners.includes(owner.name));
  const path = `/${node.path}`;
  const { stripped, files } = target.slimmed || EMPTY_CUTS;
  const isThis = (item) => `/${item.path}` === path;
  const bare = stripped.flatMap((part) => part.files).find(isThis);
  const change = files.find(isThis);
  const findings = ((target.audit || {}).findings || []).filter((finding) => finding.path === path);
  const rows = [
    ["Path", make("span", { class: "mono" }, breakPath(path))],
    ["Size", `${formatBytes(node.bytes)} (${formatCount(node.bytes)}\u00a0bytes)`],
    ["Kind", node.kind],
    ["Brought by", `${owner.name} ${owner.item.version}`],
    ["Layer", layer ? layer.title : "\u2013"],
    ...(node.children || []).map((arch) => [arch.name === "host" ? "Host code and data" : `Code for ${arch.name}`, formatBytes(arch.bytes)]),
    ...(bare ? [["Symbols", `${formatBytes(bare.before_bytes)} \u2192 ${formatBytes(bare.after_bytes)}, without symbol and debug tables, by rule ${bare.rule}`]] : []),
    ...(change ? [["Other GPUs", describeChange(change)]] : []),
    ...findings.map((finding) => [finding.severity, `${finding.evidence} ${finding.remedy}`]),
  ];
  return make("dl", { class: "facts" }, rows.map(([term, value]) => make("div", {}, make("dt", {}, term), make("dd", {}, value))));
}

function describeChange(change) {
  if (change.outcome === "slimmed") return `${formatBytes(change.before_bytes)} \u2192 ${formatBytes(change.after_bytes)}, without code for ${listTargets(change.dropped)}`;
  return change.outcome === "refused" ? `left alone: ${change.reason}` : change.reason || "no code for others was in it";
}

function drawLegend(node) {
  const sums = weigh(node, state.colour);
  const total = Object.values(sums).reduce((sum, bytes) => sum + bytes, 0);
  const named = state.colour === "kind" && !node.isFile ? KIND_COLOURS.map(([id, label]) => [id, label]) : nameArchs(node, sums);
  const items = named.filter(([id]) => sums[id]).map(([id, label]) =>
    make("li", {}, make("span", { class: `swatch c-${id}`, "aria-hidden": "true" }), label, make("span", { class: "faint" }, ` ${formatShare(sums[id], total)}`)));
  document.getElementById("legend").replaceChildren(...items);
}

/** Archs by colour: two may share one, and both are named. */
function nameArchs(node, sums) {
  const names = {};
  const here = node.isFile && node.children ? node.children.map((child) => child.name) : Object.keys(state.target.archs);
  for (const arch of here) (names[archColour(arch)] ||= []).push(arch);
  const kinds = Object.fromEntries(KIND_COLOURS.map(([id, label]) => [id, label]));
  return Object.keys(sums).sort((one, other) => sums[other] - sums[one]).map((id) => [id, names[id] ? names[id].join(", ") : kinds[id]]);
}
