// What starts the language server, and what a code lens types into a terminal: without VS Code, so that tests can run it.

/** Return how the language server is started, from the settings of a user. */
function serverOptions(command, target, folder) {
  const [program, ...words] = command;
  const options = target ? ["--target", target] : [];
  return { command: program, args: [...words, "lsp", ...options], options: { cwd: folder } };
}

/** Return the line for a terminal that runs `millstream` with a code lens's arguments. */
function terminalLine(command, words) {
  return [...command, ...words].map(quoted).join(" ");
}

function quoted(word) {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

module.exports = { serverOptions, terminalLine };
