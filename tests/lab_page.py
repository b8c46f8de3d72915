# SPDX-License-Identifier: MIT
"""Scripts for a page of JupyterLab, and how long it is waited for."""

READY = """() => {
  const context = window.jupyterapp?.shell.currentWidget?.sessionContext;
  return context?.isReady && context.session?.kernel?.status === 'idle'
    && context.session.kernel.connectionStatus === 'connected';
}"""
"""The cell indicator says idle before the kernel is up, and what is run then hangs."""
RUN_ALL = "() => { window.jupyterapp.commands.execute('notebook:run-all-cells'); }"
"""Not awaited: the command ends with the last cell."""
KINDS = "() => window.jupyterapp.shell.currentWidget.content.widgets.map(cell => cell.model.type)"
"""Of the notebook's cells, code or markdown."""
WAIT_MS = 300_000
"""No test is about seconds: on a busy machine a notebook takes minutes."""
IMPATIENT = "[anywidget] Failed to initialize model."
"""What anywidget says after two seconds without the module, which a busy machine needs longer for. The
module comes all the same: test_explorer_under_strain shows that such a page is drawn and takes every move."""
