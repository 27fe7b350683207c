"""The generators of `seeds/*.py`: functions that produce test traffic for a topic.

    Record = tuple[str | None, dict[str, Any] | None]

    def storefront_events(random: Random, now: datetime) -> Iterator[Record]:
        '''Views and clicks of a thousand users.'''
        while True:
            yield f"user_{random.randrange(1000)}", {"type": "view", "timestamp": int(now.timestamp() * 1000)}
            now += timedelta(milliseconds=random.expovariate(1 / 50))

The function's name is the topic's, or `<source>__<topic>` if two sources have a topic of that name;
characters that a Python name can't have become `_`. It yields a record's key and value. A value of None is
a tombstone; bytes are sent as they are, and so is a text where values are rows. Its only source of
randomness is `random`, which is seeded, and `now` is the time of the first event, so that the same seed
gives the same traffic. Parameters with defaults may follow. Functions that start with `_` are helpers.
"""

import re
from collections.abc import Iterable, Iterator

from millstream.core.errors import Diagnostic
from millstream.core.text import FileText
from millstream.project.digests import FunctionDigests
from millstream.project.python_module import (
    Def,
    Module,
    check_plain,
    first_paragraph,
    is_generator,
    parse_module,
)
from millstream.project.type_hints import HintReader
from millstream.project.values import Generator

SIGNATURE = {"random": "random.Random", "now": "datetime.datetime"}


def read_generators(text: FileText) -> tuple[tuple[Generator, ...], list[Diagnostic]]:
    module, errors = parse_module(text)
    if module is None:
        return (), errors
    hints, digests = HintReader(module), FunctionDigests(module)
    generators: dict[str, Generator] = {}
    for node in module.functions():
        if node.name in generators:
            message = f"the generator '{node.name}' is defined twice in this file"
            errors.append(module.error(node, "MS322", message, "keep one generator for a topic."))
            continue
        errors += check_plain(module, node, "the generator")
        errors += _check(module, node, hints)
        generators[node.name] = Generator(
            name=node.name,
            path=text.path,
            location=module.location(node),
            topic=node.name,
            description=first_paragraph(node),
            digest=digests.of(node)[0],
        )
    return tuple(generators.values()), sorted(errors, key=lambda error: error.order)


def _check(module: Module, node: Def, hints: HintReader) -> Iterator[Diagnostic]:
    name = node.name
    if not is_generator(node):
        remedy = "yield a key and a value for each record, or start the name of a helper with `_`."
        yield module.error(node, "MS321", f"the generator '{name}' yields nothing", remedy)
        return
    arguments = node.args
    positional = [*arguments.posonlyargs, *arguments.args]
    required = positional[: len(positional) - len(arguments.defaults)]
    required += [a for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if d is None]
    remedy = f"write `def {name}(random: Random, now: datetime)`; further parameters need defaults."
    if [argument.arg for argument in positional[:2]] != [*SIGNATURE]:
        message = f"the generator '{name}' doesn't take (random, now)"
        yield module.error(node, "MS320", message, remedy)
    else:
        for argument in required[2:]:
            message = f"the parameter '{argument.arg}' of the generator '{name}' has no default"
            yield module.error(argument, "MS320", message, remedy)
        for argument in positional[:2]:
            hint, expected = argument.annotation, SIGNATURE[argument.arg]
            if hint is not None and module.qualified(hints.resolve(hint)) != expected:
                message = f"'{argument.arg}' of '{name}' must be a {expected}"
                yield module.error(hint, "MS320", message, remedy)
    if node.returns is not None and hints.rows(node.returns) is None:
        message = f"the generator '{name}' must return an iterator of keys and values"
        remedy = "write `-> Iterator[tuple[str | None, dict[str, Any] | None]]`."
        yield module.error(node.returns, "MS320", message, remedy)


def topics_of(generator: str, topics: Iterable[str]) -> tuple[str, ...]:
    """Return the ids `source.topic` that a generator's name can mean: none, one, or several."""
    by_name = [
        (_python_name(id_.partition(".")[2]), _python_name(id_.replace(".", "__", 1)), id_) for id_ in topics
    ]
    qualified = tuple(id_ for _, full, id_ in by_name if full == generator)
    return qualified or tuple(id_ for short, _, id_ in by_name if short == generator)


def _python_name(topic: str) -> str:
    return re.sub(r"\W", "_", topic)
