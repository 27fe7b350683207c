def f(x) -> str:
    return x
