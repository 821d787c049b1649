// A node of the tree → its treemap: one button a child, with what is below drawn into it, to be walked by keyboard.
//
// A node here is { name, bytes, kind, children, files, … }; nodes.open(array) in page.js makes one from the packed form.

const TILE_LIMIT = 240;
const INNER_LIMIT = 160;
const DEPTH_LIMIT = 4;
const HEAD_PX = 19;
const GAP_PX = 2;

/**
 * `look`: colourOf(node) and isHolder(node), whether what is below is drawn into it. `onOpen(node)` descends,
 * `onShow(node)` says in words what is under pointer or focus.
 */
function drawTreemap(box, node, look, focusName, { onOpen, onShow }) {
  const width = box.clientWidth;
  const height = box.clientHeight;
  const shown = limitChildren(node.children.filter((child) => child.bytes > 0), TILE_LIMIT);
  const boxes = squarify(shown.map((child) => child.bytes), 0, 0, width, height);
  const tiles = shown.map((child, index) => makeTile(child, boxes[index], look));
  box.replaceChildren(...tiles);
  const start = Math.max(0, shown.findIndex((child) => child.name === focusName));
  tiles.forEach((tile, index) => {
    tile.tabIndex = index === start ? 0 : -1;
    tile.dataset.name = shown[index].name;
    tile.addEventListener("click", () => onOpen(shown[index]));
    tile.addEventListener("focus", () => {
      tiles.forEach((other) => (other.tabIndex = other === tile ? 0 : -1));
      onShow(shown[index]);
    });
    tile.addEventListener("pointerenter", () => onShow(shown[index]));
  });
  box.onkeydown = (event) => walkByKey(event, tiles, boxes);
  box.onpointerleave = () => onShow(null);
  return tiles[start];
}

/** The largest children; the others are one node that opens as a folder. */
function limitChildren(children, limit) {
  if (children.length <= limit) return children;
  const rest = children.slice(limit - 1);
  const bytes = rest.reduce((sum, child) => sum + child.bytes, 0);
  return [...children.slice(0, limit - 1), bundleNode(rest, bytes)];
}

function makeTile(child, [x, y, width, height], look) {
  const size = formatBytes(child.bytes);
  const tile = make("button", {
    type: "button",
    class: `tile c-${look.colourOf(child)}`,
    "aria-label": `${child.name}, ${size.replace("\u00a0", " ")}${child.children ? "" : ", a file"}`,
    style: place(x, y, width - GAP_PX, height - GAP_PX),
  });
  const hasHead = width > 40 && height > 24;
  if (hasHead) {
    tile.append(make("span", { class: "head" }, make("b", {}, shortName(child)), width > 130 ? make("i", {}, size) : null));
  }
  if (look.isHolder(child) && width > 34 && height > 34) {
    const top = hasHead ? HEAD_PX : 3;
    drawInner(tile, child, [3, top, width - GAP_PX - 6, height - GAP_PX - top - 3], look, 1);
  }
  return tile;
}

/** What is below a tile, a few levels deep: shapes only, with a name where there is room for one. */
function drawInner(holder, node, [x, y, width, height], look, depth) {
  const limit = Math.max(6, Math.min(INNER_LIMIT, Math.round((width * height) / 80)));
  const below = limitChildren(node.children.filter((child) => child.bytes > 0), limit);
  const boxes = squarify(below.map((child) => child.bytes), x, y, width, height);
  below.forEach((child, index) => {
    const [left, top, w, h] = boxes[index];
    if (w < 3 || h < 3) return;
    const hasName = w > 54 && h > 18 && !(below.length === 1 && look.isHolder(child));
    const isOpen = look.isHolder(child) && depth < DEPTH_LIMIT && w > 24 && h > 24;
    const shape = make("span", { class: `inner c-${look.colourOf(child)}${isOpen ? " holds" : ""}`, style: place(left, top, w - 1, h - 1) }, hasName ? shortName(child) : "");
    holder.append(shape);
    const head = hasName ? 17 : 2;
    if (isOpen) drawInner(shape, child, [2, head, w - 5, h - head - 3], look, depth + (below.length === 1 ? 0.5 : 1));
  });
  holder.classList.add("holds");
}

/** "wheel:numpy" → "numpy", "lib/python3.11/site-packages" → "site-packages": what fits into a tile. */
const shortName = (node) => (node.item ? node.name.replace(/^(wheel|deb):/, "") : node.name.split("/").pop());

function place(x, y, width, height) {
  const px = (number) => `${Math.max(0, number).toFixed(1)}px`;
  return { left: px(x), top: px(y), width: px(width), height: px(height) };
}

const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

function walkByKey(event, tiles, boxes) {
  if (event.altKey || event.ctrlKey || event.metaKey) return;
  const here = tiles.indexOf(document.activeElement);
  if (here < 0) return;
  let next = -1;
  if (event.key in STEPS) next = findNeighbour(boxes, here, ...STEPS[event.key]);
  else if (event.key === "Home") next = 0;
  else if (event.key === "End") next = tiles.length - 1;
  else return;
  event.preventDefault();
  if (next >= 0) tiles[next].focus();
}

/** The tile next to `here` in a direction: the nearest edge first, then the nearest middle. */
function findNeighbour(boxes, here, stepX, stepY) {
  const [x, y, width, height] = boxes[here];
  const [middleX, middleY] = [x + width / 2, y + height / 2];
  let best = -1;
  let bestCost = Infinity;
  boxes.forEach(([ox, oy, ow, oh], index) => {
    const ahead = stepX ? (stepX > 0 ? ox - (x + width) : x - (ox + ow)) : stepY > 0 ? oy - (y + height) : y - (oy + oh);
    if (index === here || ahead < -0.5) return;
    const beside = stepX ? distance(middleY, oy, oy + oh) : distance(middleX, ox, ox + ow);
    const cost = ahead + 4 * beside + 0.01 * Math.hypot(ox + ow / 2 - middleX, oy + oh / 2 - middleY);
    if (cost < bestCost) [best, bestCost] = [index, cost];
  });
  return best;
}

const distance = (point, low, high) => Math.max(0, low - point, point - high);
