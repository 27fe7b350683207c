"""`millstream fmt`."""

from cli.conftest import FILES, write

UGLY = "SELECT c.user_id,c.amount, upper(c.kind)   AS kind FROM {{ source('web', 'clicks') }} AS c\nwhere c.kind <> 'bot'\n"
NEAT = (
    "select c.user_id, c.amount, upper(c.kind) as kind\n"
    "from {{ source('web', 'clicks') }} as c\nwhere c.kind <> 'bot'\n"
)
STAGED = "models/staging/stg_clicks.sql"
TOTALS = "models/totals.sql"


def text(shop, path):
    return (shop / path).read_text(encoding="utf-8")


def test_formats_what_is_selected_and_nothing_else(run, shop):
    write(shop, {STAGED: UGLY})
    before = run("compile", "--select", "stg_clicks").out
    result = run("fmt", "stg_clicks")
    assert (result.code, text(shop, STAGED), text(shop, TOTALS)) == (0, NEAT, FILES[TOTALS])
    assert result.err == "1 file formatted, 0 unchanged\n"
    assert run("compile", "--select", "stg_clicks").out != before
    assert run("fmt", "models/staging", "--check") == (0, "", "0 files would be formatted, 1 unchanged\n")


def test_check_and_diff_write_nothing(run, shop):
    write(shop, {STAGED: UGLY})
    result = run("fmt", "--check")
    assert (result.code, result.out) == (1, f"{STAGED} would be formatted\n")
    result = run("fmt", STAGED, "--diff")
    assert (result.code, "+select c.user_id, c.amount" in result.out) == (0, True)
    assert text(shop, STAGED) == UGLY


def test_json(run, shop):
    write(shop, {STAGED: UGLY})
    result = run("fmt", "--check", "--output", "json")
    files = [{"path": STAGED, "changed": True}, {"path": TOTALS, "changed": False}]
    assert (result.code, result.json) == (1, {"diagnostics": [], "files": files})


def test_standard_input(run, shop):
    assert run("fmt", "-", input=UGLY) == (0, NEAT, "")
    assert run("fmt", "-", "--stdin-path", STAGED, input=UGLY) == (0, NEAT, "")
    assert run("fmt", "-", "--output", "json", input=UGLY).json["files"][0]["formatted"] == NEAT
    assert text(shop, STAGED) == FILES[STAGED]


def test_line_ends_stay(run, shop):
    (shop / STAGED).write_bytes(UGLY.replace("\n", "\r\n").encode())
    assert run("fmt", STAGED).code == 0
    assert (shop / STAGED).read_bytes() == NEAT.replace("\n", "\r\n").encode()


def test_a_project_that_does_not_compile_is_formatted_too(run, shop):
    write(shop, {"models/broken.sql": "SELECT nothing FROM {{ ref('stg_clicks') }}\n"})
    assert run("fmt", "broken").code == 0
    assert text(shop, "models/broken.sql") == "select nothing from {{ ref('stg_clicks') }}\n"


def test_settings(run, shop):
    settings = FILES["pyproject.toml"].replace('name = "shop"', 'name = "shop"\nline-length = 40\nindent = 3')
    write(shop, {"pyproject.toml": settings})
    assert run("fmt", STAGED).code == 0
    assert text(shop, STAGED).startswith("select\n   c.user_id,\n   c.amount,\n")
    write(shop, {"pyproject.toml": settings.replace("indent = 3", "indent = 30")})
    (diagnostic,) = run("compile", "--output", "json").json["diagnostics"]
    assert (diagnostic["code"], diagnostic["help"]) == ("MS107", "write indent = 2")
