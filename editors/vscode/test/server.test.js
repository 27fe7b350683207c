const assert = require("node:assert");
const { test } = require("node:test");
const { serverOptions, terminalLine } = require("../src/server");

test("the server is started in the folder, with the target if there is one", () => {
  const options = serverOptions(["uv", "run", "millstream"], "prod", "/shop");
  assert.deepEqual(options, {
    command: "uv", args: ["run", "millstream", "lsp", "--target", "prod"], options: { cwd: "/shop" },
  });
  assert.deepEqual(serverOptions(["millstream"], "", "/shop").args, ["lsp"]);
});

test("what a shell would take apart is quoted", () => {
  assert.equal(terminalLine(["millstream"], ["show", "orders"]), "millstream show orders");
  assert.equal(terminalLine(["millstream"], ["test", "--select", "unit_test:it's $HOME"]),
    "millstream test --select 'unit_test:it'\\''s $HOME'");
});
