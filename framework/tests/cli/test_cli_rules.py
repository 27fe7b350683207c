"""The part of docs/optimizer.md that rules write themselves."""

from millstream.cli.reference import BEGIN, END, with_rules
from millstream.plan.optimizer.rules.merge_filters import merge_filters
from millstream.plan.optimizer.rules.push_filters import push_filters

PAGE = f"# Title\n\n{BEGIN}\nold\n{END}\n\nafter\n"


def test_rules_are_told_in_their_order_with_an_example():
    page = with_rules(PAGE, (push_filters, merge_filters))
    assert page.index("| `push_filters` | Rows are dropped as early as possible") < page.index(
        "| `merge_filters` |"
    )
    assert "`merge_filters`:\n```\nbefore: filter a > 1" in page
    assert "old" not in page


def test_the_rest_of_the_page_stays():
    page = with_rules(PAGE)
    assert page.startswith("# Title\n\n")
    assert page.endswith(f"{END}\n\nafter\n")


def test_writing_it_twice_changes_nothing():
    assert with_rules(with_rules(PAGE)) == with_rules(PAGE)
