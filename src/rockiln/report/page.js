// The page: which image, where in it, in which colours. The address keeps the place, so that it can be sent and gone back to.

const state = { target: facts.targets[0], path: [], colour: "kind", found: null };
const opened = new WeakMap();

/** A packed node as an object; its children are unpacked when somebody asks. */
function openNode(packed, parentPath) {
  if (opened.has(packed)) return opened.get(packed);
  const [name, bytes, kind, more] = packed;
  const path = `${parentPath}/${name}`.replace(/^\/+/, "");
  const node = { name: String(name), bytes, path, colours: {} };
  if (kind === -1) lazily(node, () => more.map((child) => openNode(child, path)));
  else if (kind === -2) Object.assign(node, { name: plural(name, "smaller file"), isRest: true, kind: "data" });
  else Object.assign(node, { kind: facts.kinds[kind], isFile: true }, more ? { children: openArchs(more, bytes) } : {});
  opened.set(packed, node);
  return node;
}

function lazily(node, make) {
  let children = null;
  Object.defineProperty(node, "children", { get: () => (children ||= make()), enumerable: true });
}

/** Device code of a file, and the rest of it. */
function openArchs(pairs, bytes) {
  const found = pairs.map(([arch, size]) => ({ name: facts.archs[arch], bytes: size, isArch: true }));
  const host = bytes - found.reduce((sum, one) => sum + one.bytes, 0);
  return [...found, { name: "host", bytes: host, isArch: true }].sort((one, other) => other.bytes - one.bytes);
}

function openTarget(target) {
  if (opened.has(target)) return opened.get(target);
  const children = target.packages.map((item) => {
    const tree = facts.trees[item.tree];
    const node = { name: item.name, bytes: item.bytes, item, colours: {}, prefix: tree[0] };
    lazily(node, () => tree[3].map((child) => openNode(child, tree[0])));
    return node;
  });
  const root = { name: target.id, bytes: target.unpacked, children, colours: {} };
  opened.set(target, root);
  return root;
}

const bundleNode = (children, bytes) => ({ name: `${formatCount(children.length)} smaller`, bytes, children, colours: {}, isBundle: true });

/** Bytes by colour below a node, and from that the colour of most of them. */
function weigh(node, by) {
  if (node.isArch) return { [archColour(node.name)]: node.bytes };
  if (!node.children || (by === "kind" && node.isFile)) return { [by === "kind" ? COLOUR_OF_KIND[node.kind] : "host"]: node.bytes };
  if (node.colours && node.colours[by]) return node.colours[by];
  const sums = {};
  for (const child of node.children) {
    for (const [colour, bytes] of Object.entries(weigh(child, by))) sums[colour] = (sums[colour] || 0) + bytes;
  }
  if (node.colours) node.colours[by] = sums;
  return sums;
}

function colourOf(node) {
  const sums = Object.entries(weigh(node, state.colour));
  return sums.length ? sums.reduce((most, one) => (one[1] > most[1] ? one : most))[0] : "other";
}

/** The nodes from the image down to the place; a name that is not there ends the way. */
function findPlace() {
  const way = [openTarget(state.target)];
  for (const name of state.path) {
    const last = way[way.length - 1];
    const next = (last.children || []).find((child) => child.name === name)
      || limitChildren(last.children || [], TILE_LIMIT).find((child) => child.name === name && child.isBundle);
    if (!next) break;
    way.push(next);
  }
  return way;
}

function readAddress() {
  const words = location.hash.startsWith("#/") ? location.hash.slice(2).split("/").map(decodeWord) : [];
  state.target = facts.targets.find((target) => target.id === words[0]) || facts.targets[0];
  state.path = words.slice(1).filter(Boolean);
}

function decodeWord(word) {
  try {
    return decodeURIComponent(word);
  } catch {
    return word;
  }
}

function goTo(target, path, focusName, part = findPart()) {
  const isOther = target !== state.target;
  [state.target, state.path] = [target, path];
  history.pushState(null, "", `#/${[target.id, ...path].map(encodeURIComponent).join("/")}`);
  show(isOther, focusName, part);
}

/** A place that was gone to in any way; what was searched for before is over. */
function show(isOther, focusName, part) {
  state.found = null;
  document.getElementById("find").value = "";
  if (isOther) drawAll(part);
  else drawPlace(focusName, part);
}

function drawAll(part) {
  const { target } = state;
  const main = document.getElementById("main");
  const parts = [
    make("div", { class: "hero" }, make("h1", {}, target.title), make("p", { class: "mono faint" }, `${target.id} \u00b7 ${target.digest.slice(0, 19)}\u2026`), makeFigures(target)),
    makeExplorer(target), makeLayers(target), makeDrops(target), makeAudit(target), makeSmoke(target),
  ];
  main.replaceChildren(...(facts.targets.length > 1 ? [makeOverview((chosen) => goTo(chosen, []), target)] : []), ...parts);
  drawJumps(main);
  observer.disconnect();
  observer.observe(document.getElementById("map"));
  drawPlace(null, part);
  if (part === "images") document.querySelector("#images [aria-current]").focus();
}

function drawJumps(main) {
  const jump = (heading) => {
    heading.scrollIntoView({ block: "start" });
    heading.focus({ preventScroll: true });
  };
  const headings = [...main.querySelectorAll("h2")];
  document.getElementById("jumps").replaceChildren(
    ...headings.map((heading) => make("button", { type: "button", class: "link", onclick: () => jump(heading) }, heading.textContent)));
}

/** The map in its new size; a tile that has the focus keeps it. */
const observer = new ResizeObserver(() => drawMap(findPlace(), document.querySelector("#map .tile[tabindex='0']")?.dataset.name, findPart() === "map"));

function switchScheme() {
  const root = document.documentElement;
  const isDark = root.dataset.scheme ? root.dataset.scheme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.scheme = isDark ? "light" : "dark";
}

document.getElementById("scheme").addEventListener("click", switchScheme);
document.getElementById("footer").append(
  `${facts.generator}. Sizes are of files, in decimal units.`,
  facts.floor ? ` Files below ${formatBytes(facts.floor)} are counted, not named; rockiln why finds each.` : "");
addEventListener("popstate", () => {
  const [target, path] = [state.target, state.path];
  readAddress();
  const isBelow = state.path.every((name, index) => name === path[index]);
  show(target !== state.target, isBelow ? path[state.path.length] : null, findPart());
});
addEventListener("keydown", takeKey);
readAddress();
drawAll("");
