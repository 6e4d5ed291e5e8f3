// The script makes the desk more convenient. Without it, the fields and addresses have the same functions.
"use strict";

// Limits between bins can be dragged in the picture or moved with the arrow keys. Both change the text of the field below.
const SVG = "http://www.w3.org/2000/svg", WIDTH = 420, HEIGHT = 56, ROOM = 34;

function drawn(name, attributes, above) {
  const found = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) found.setAttribute(key, value);
  above.append(found);
  return found;
}

for (const group of document.querySelectorAll(".limited")) {
  const picture = group.querySelector("svg.limits"), field = group.querySelector("input");
  if (!picture || !field) continue;
  const places = picture.dataset.places.split(" ").map(Number), step = WIDTH / places.length;
  const nearest = value => places.reduce((best, each, at) => Math.abs(each - value) < Math.abs(places[best] - value) ? at : best, 1);
  const read = () => [...new Set(field.value.split(/[,;\s]+/).filter(Boolean).map(Number).filter(isFinite).map(nearest))].sort((a, b) => a - b);
  const rows = picture.querySelector(".rows"), name = field.getAttribute("aria-label");
  let limits = read();

  const draw = focused => {
    picture.querySelectorAll(".band, .limit, text, .handle").forEach(each => each.remove());
    const edges = [0, ...limits.map(at => at * step), WIDTH];
    for (let at = 1; at + 1 < edges.length; at += 2) {
      const band = drawn("rect", { class: "band", x: edges[at], width: edges[at + 1] - edges[at], height: HEIGHT }, picture);
      picture.insertBefore(band, rows);
    }
    let last = -ROOM;
    limits.forEach((at, number) => {
      const x = at * step, value = places[at];
      const handle = drawn("g", {
        class: "handle", tabindex: 0, role: "slider", "aria-label": `${name}: ${number + 1} of ${limits.length}`,
        "aria-valuenow": value, "aria-valuemin": places[(limits[number - 1] ?? 0) + 1], "aria-valuemax": places[(limits[number + 1] ?? places.length) - 1],
      }, picture);
      drawn("rect", { class: "reach", x: x - 8, width: 16, height: HEIGHT + 16 }, handle);
      drawn("path", { d: `M${x} 0V${HEIGHT}` }, handle);
      drawn("circle", { class: "grip", cx: x, cy: HEIGHT / 2, r: 5 }, handle);
      if (x - last >= ROOM) {
        drawn("text", { x: Math.min(Math.max(x, 10), WIDTH - 12), y: HEIGHT + 12 }, picture).textContent = value;
        last = x;
      }
      handle.addEventListener("pointerdown", () => { dragged = number; });
      handle.addEventListener("keydown", event => pressed(event, number));
    });
    picture.querySelectorAll(".handle")[focused]?.focus();
  };
  const write = () => { field.value = limits.map(at => places[at]).join(", "); field.dispatchEvent(new Event("change", { bubbles: true })); };
  const move = (number, at, focused) => {
    const kept = Math.min(Math.max(at, (limits[number - 1] ?? 0) + 1), (limits[number + 1] ?? places.length) - 1);
    if (kept === limits[number]) return;
    limits[number] = kept;
    write();
    draw(focused);
  };
  const pressed = (event, number) => {
    const by = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 }[event.key];
    if (by) move(number, limits[number] + by, number);
    else if (event.key === "Delete" && limits.length > 1) { limits.splice(number, 1); write(); draw(Math.min(number, limits.length - 1)); }
    else return;
    event.preventDefault();
  };
  const under = event => {
    const box = picture.getBoundingClientRect();
    return Math.round((event.clientX - box.left) / box.width * places.length);
  };
  let dragged = null;
  picture.setAttribute("role", "group");
  window.addEventListener("pointermove", event => { if (dragged !== null) move(dragged, under(event)); });
  for (const end of ["pointerup", "pointercancel"]) window.addEventListener(end, () => { dragged = null; });
  picture.addEventListener("dblclick", event => {
    const at = under(event);
    if (at < 1 || at >= places.length || limits.includes(at)) return;
    limits = [...limits, at].sort((a, b) => a - b);
    write();
    draw();
  });
  field.addEventListener("input", () => { limits = read(); draw(); });
  draw();
}

// What is typed goes to the desk at once, which keeps it until it is saved: it is there again after a reload.
const edit = document.getElementById("edit"), waiting = new Map();
let touched = false, sending = false;
async function keep() {
  if (sending || !waiting.size) return;
  const body = new URLSearchParams([["seen", document.body.dataset.seen], ["place", "typed"], ...waiting]);
  waiting.clear();
  sending = true;
  try { await fetch(location.pathname, { method: "POST", body, keepalive: body.toString().length < 60000 }); } catch { /* the desk was stopped */ }
  sending = false;
  keep();
}
for (const kind of ["input", "change"]) document.addEventListener(kind, event => {
  const field = event.target;
  if (!edit || field.form !== edit || !field.name) return;
  waiting.set(field.name, field.value);
  keep();
}, true);

// The page follows the files: where an editor or another window changed them, it is loaded anew, or says so while somebody types.
for (const kind of ["input", "change", "toggle"]) document.addEventListener(kind, () => { touched = true; }, true);
setInterval(async () => {
  if (document.hidden) return;
  try {
    const seen = await (await fetch("/seen")).text();
    if (!seen || seen === document.body.dataset.seen) return;
    if (touched) document.getElementById("moved").hidden = false;
    else location.replace(location.pathname + location.search);
  } catch { /* the desk was stopped */ }
}, 3000);
