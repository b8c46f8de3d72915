// SPDX-License-Identifier: MIT
// The view of a Plot of controls.py: draws what the model named by `of` holds, and draws it again when that changes.
//
// The figure is a model of @jupyter-widgets/base, not of this module: anywidget drops for ever what the kernel
// sends to a model whose module took over two seconds to load, as happens on a busy machine.

const LETTER_PX = 7.8, LINE_PX = 17; // of the letters of 13 pixels under a title

function library(source) {
  // As CommonJS: JupyterLab has an AMD loader, which would take the library away.
  if (!window.lockscalePlotly) {
    const module = { exports: {} };
    new Function("module", "exports", "define", source)(module, module.exports, undefined);
    window.lockscalePlotly = module.exports;
  }
  return window.lockscalePlotly;
}

// What stands under the title, on as many lines as the window's width needs, as SVG does not wrap; those that
// come in addition make the figure higher.
function wrapped(layout, width) {
  const text = layout.title?.text ?? "";
  const [, before, said, after] = text.match(/^(.*<span[^>]*>)(.*)(<\/span>)$/s) ?? [];
  if (!said) return layout;
  const letters = Math.floor(width / LETTER_PX), wanted = said.split("<br>"), lines = [];
  for (const line of wanted) {
    lines.push("");
    for (const word of line.split(" ")) {
      const last = lines.at(-1);
      if (last && last.length + 1 + word.length > letters) lines.push(word);
      else lines[lines.length - 1] = last ? `${last} ${word}` : word;
    }
  }
  const more = LINE_PX * (lines.length - wanted.length);
  const title = { ...layout.title, text: before + lines.join("<br>") + after };
  const margin = { ...layout.margin, t: layout.margin.t + more };
  return { ...layout, title, margin, height: layout.height + more };
}

async function render({ model, el }) {
  const held = await model.widget_manager.get_model(model.get("of"));
  const plotly = library(held.get("source"));
  const drawn = document.createElement("div");
  el.append(drawn);
  let asked = false;
  const draw = () => {
    asked = false;
    const { data, layout } = JSON.parse(held.get("figure"));
    const width = Math.min(layout.width, el.clientWidth || layout.width);
    plotly.react(drawn, data, { ...wrapped(layout, width), width }, held.get("config"));
  };
  const ask = () => {
    if (!asked) requestAnimationFrame(draw);
    asked = true;
  };
  const stand = ({ stand }) => {
    const models = Object.keys(stand ?? {}).map(id => model.widget_manager.get_model(id));
    Promise.all(models).then(found => {
      // What the hand has moved and the kernel has not yet heard of is newer than what it says.
      if (found.some(one => one._pending_msgs > 0 || one._msg_buffer !== null)) return;
      found.forEach(one => one.set_state(stand[one.model_id]));
    });
  };
  held.on("change:figure", ask);
  held.on("msg:custom", stand);
  const resized = new ResizeObserver(ask);
  resized.observe(el);
  draw();
  return () => {
    resized.disconnect();
    held.off("change:figure", ask);
    held.off("msg:custom", stand);
    plotly.purge(drawn);
  };
}
export default { render };
