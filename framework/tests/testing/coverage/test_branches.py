from millstream.testing.coverage.branches import find_branches


def labels(sql):
    return [[branch.label for branch in branches] for branches in find_branches(sql)]


def test_branches_of_case_and_if():
    assert labels("case when a > 1 then 'x' when b in ('when', 'then') then c end") == [
        ["when a > 1", "when b in ('when', 'then')", "else of a > 1"]
    ]
    assert labels("case kind when 'a' then 1 else 2 end") == [["when kind = 'a'", "else of kind = 'a'"]]
    assert labels("sum(if(a = f(b, c), 1, 0)) + notif(x)") == [["when a = f(b, c)", "else of a = f(b, c)"]]


def test_a_case_within_another():
    inner, outer = labels("case when (case when a then b else c end) then 1 else case when d then 2 end end")[
        :2
    ]
    assert inner == ["when a", "else of a"]
    assert outer == ["when d", "else of d"]


def test_exactly_one_branch_holds():
    (branches,) = find_branches("case when a then 1 when b then 2 end")
    assert [branch.condition for branch in branches] == [
        "coalesce(a, false)",
        "not coalesce(a, false) and coalesce(b, false)",
        "not coalesce(a, false) and not coalesce(b, false)",
    ]


def test_what_is_in_a_comment_is_not_a_branch():
    assert labels("a -- case when x then 1 end\n + if(b, 1, /* if(c, 1, 2) */ 2)") == [
        ["when b", "else of b"]
    ]
