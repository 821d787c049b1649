// What somebody asks for → the files that have it in their paths, as a list beside the map.

const FOUND_LIMIT = 60;

/** `focusKey` is the row that gets the focus. */
function drawFound(focusKey) {
  const query = document.getElementById("find").value.trim().toLowerCase();
  if (query.length < 2) return drawSide(findPlace());
  const found = findFiles(query);
  const shown = found.slice(0, FOUND_LIMIT);
  const start = Math.max(0, shown.findIndex(([, way]) => joinWay(way) === focusKey));
  const rows = shown.map(([node, way], index) => makeFoundRow(node, way, index === start));
  const note = found.length ? `${plural(found.length, "file")} found${found.length > shown.length ? `, the largest ${FOUND_LIMIT} shown` : ""}` : "No file of that name.";
  const side = document.getElementById("side");
  side.replaceChildren(make("p", { class: "note", role: "status" }, note), make("ul", { class: "rows", onkeydown: walkList }, rows));
  if (focusKey) side.querySelector("button.row[tabindex='0']").focus();
}

/** Files and the ways to them, the largest first. */
function findFiles(query) {
  const found = [];
  const search = (node, way) => {
    if (node.isFile && `/${node.path}`.toLowerCase().includes(query)) found.push([node, way]);
    else if (!node.isFile && node.children) node.children.forEach((child) => search(child, [...way, child.name]));
  };
  openTarget(state.target).children.forEach((owner) => search(owner, [owner.name]));
  return found.sort(([one], [other]) => other.bytes - one.bytes);
}

const joinWay = (way) => JSON.stringify(way);

function makeFoundRow(node, way, isStop) {
  const open = () => {
    const found = { from: state.path, query: document.getElementById("find").value, key: joinWay(way) };
    goTo(state.target, way);
    state.found = found;
    document.getElementById("find").value = found.query;
  };
  return make("li", {}, make("button", { type: "button", class: "row found", tabindex: isStop ? "0" : "-1", onclick: open },
    make("span", { class: `swatch c-${colourOf(node)}`, "aria-hidden": "true" }), make("span", { class: "name mono" }, breakPath(`/${node.path}`)), make("span", { class: "n" }, formatBytes(node.bytes))));
}

/** From a file that was found, back among what else was found; false where the place was reached in another way. */
function returnToFound() {
  const { found } = state;
  if (!found || found.key !== joinWay(state.path)) return false;
  goTo(state.target, found.from);
  document.getElementById("find").value = found.query;
  drawFound(found.key);
  return true;
}

/** In the field: Down goes to what was found; Escape empties it, and leaves it when it is empty. */
function leaveSearch(event) {
  const first = document.querySelector("#side button.row[tabindex='0']");
  if (event.key === "Escape" && event.target.value) {
    event.target.value = "";
    drawSide(findPlace());
  } else if (event.key === "Escape") {
    (document.querySelector("#map .tile[tabindex='0'], #map .single") || document.getElementById("map")).focus();
  } else if (event.key === "ArrowDown" && first) {
    first.focus();
  } else {
    return;
  }
  event.preventDefault();
}
