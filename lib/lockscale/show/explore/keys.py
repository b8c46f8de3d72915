# SPDX-License-Identifier: MIT
"""Keys that are pressed in the explorer stay there.

JupyterLab's command mode takes arrow keys (another cell) and letters (m: the cell becomes text, and what
it shows is gone) from whatever is no text box. It leaves alone an element with the attribute
data-lm-suppress-shortcuts (Lumino, CommandRegistry), which has to be the focused one: on one around it
it comes too late for the shortcuts of `:focus`. Keys with Ctrl, Alt or Meta stay JupyterLab's.
"""

import anywidget

EXPLORER, TIME = "lockscale-explorer", "lockscale-time"
"""CSS classes: of all of it, and of the sliders whose number is shown but cannot be typed."""
_SCRIPT = """
function render({ el }) {
  const isOurs = target => el.closest(".EXPLORER")?.contains(target);
  const onKey = event => {
    const forUs = !(event.ctrlKey || event.altKey || event.metaKey);
    if (!isOurs(event.target)) return;
    event.target.toggleAttribute("data-lm-suppress-shortcuts", forUs);
    const readouts = el.closest(".EXPLORER").querySelectorAll(".TIME .widget-readout");
    readouts.forEach(readout => { readout.tabIndex = -1; });
  };
  const onFocus = event => {
    const isReadout = event.target.matches?.(".TIME .widget-readout");
    if (isReadout && isOurs(event.target)) event.target.contentEditable = "false";
  };
  window.addEventListener("keydown", onKey, true);
  window.addEventListener("focusin", onFocus, true);
  return () => {
    window.removeEventListener("keydown", onKey, true);
    window.removeEventListener("focusin", onFocus, true);
  };
}
export default { render };
"""


class Keys(anywidget.AnyWidget):
    """Nothing to be seen; it has to be a child of the element with the class EXPLORER."""

    _esm = _SCRIPT.replace("EXPLORER", EXPLORER).replace("TIME", TIME)
