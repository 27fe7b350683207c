from dataclasses import dataclass


@dataclass
class Order:
    order_id: int
    amount: float
    country: str


def decode_order(value: bytes) -> Order:
    number, amount, country = value.split(b"|")
    return Order(int(number), float(amount), country.decode())


def decode_text(value: str) -> Order:
    return decode_order(value.encode())


def decode_number(value: bytes) -> int:
    return int(value)


def encode_order(row: Order) -> bytes:
    return f"{row.order_id}|{row.amount}|{row.country}".encode()
