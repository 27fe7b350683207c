const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");
const { serverOptions, terminalLine } = require("./server");

const LENS = "millstream.run";
const FILES = "**/*.{sql,yml,yaml,py,toml}";
let client;

async function activate(context) {
  context.subscriptions.push(
    vscode.commands.registerCommand("millstream.restart", async () => {
      await client?.stop();
      await start();
    }),
  );
  await start();
}

async function start() {
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath;
  const settings = vscode.workspace.getConfiguration("millstream");
  const command = settings.get("command");
  client = new LanguageClient("millstream", serverOptions(command, settings.get("target"), folder), {
    documentSelector: [{ scheme: "file", pattern: FILES }],
    middleware: {
      // A lens runs in a terminal, where its progress and colors show.
      executeCommand: (name, words, next) => (name === LENS ? run(command, words) : next(name, words)),
    },
  });
  await client.start();
}

function run(command, [folder, ...words]) {
  const name = "Millstream";
  const terminal =
    vscode.window.terminals.find((open) => open.name === name && open.exitStatus === undefined) ??
    vscode.window.createTerminal({ name, cwd: folder });
  terminal.show(true);
  terminal.sendText(terminalLine(command, words));
}

async function deactivate() {
  await client?.stop();
}

module.exports = { activate, deactivate };
