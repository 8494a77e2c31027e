"""Tables as TPC-C populates them, scaled down: most of its keys are of two and three columns of small integers.

The random parts that joins do not see (addresses, prices, dates) are shorter than the specification has them.
"""

from __future__ import annotations

import csv
import random
from collections.abc import Iterable
from itertools import product
from pathlib import Path
from string import ascii_lowercase

WAREHOUSES, DISTRICTS, CUSTOMERS, ITEMS = 3, 10, 300, 2_000
"""Districts of each warehouse; customers, and as many orders, of each district."""
DELIVERED = 0.7
REMOTE = 0.15
"""Share of the payments that are made in another district than the customer's."""
REMOTE_LINES = 0.01
"""Share of the order lines that another warehouse supplies."""

KEYS = (
    "district d_w_id warehouse w_id",
    "stock s_w_id warehouse w_id",
    "stock s_i_id item i_id",
    "customer c_d_id;c_w_id district d_id;d_w_id",
    "history h_c_id;h_c_d_id;h_c_w_id customer c_id;c_d_id;c_w_id",
    "history h_d_id;h_w_id district d_id;d_w_id",
    "orders o_c_id;o_d_id;o_w_id customer c_id;c_d_id;c_w_id",
    "new_order no_o_id;no_d_id;no_w_id orders o_id;o_d_id;o_w_id",
    "order_line ol_o_id;ol_d_id;ol_w_id orders o_id;o_d_id;o_w_id",
    "order_line ol_i_id;ol_supply_w_id stock s_i_id;s_w_id",
)


def write(folder: Path, seed: int = 7) -> None:
    """Write the nine tables."""
    dice = random.Random(seed)

    def word(least: int, most: int) -> str:
        return "".join(dice.choices(ascii_lowercase, k=dice.randint(least, most)))

    def day() -> str:
        return f"2024-0{dice.randint(1, 9)}-{dice.randint(10, 28)} {dice.randint(10, 23)}:{dice.randint(10, 59)}:00"

    def table(name: str, header: str, rows: Iterable[tuple[object, ...]]) -> None:
        with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as stream:
            csv.writer(stream).writerows([header.split(), *rows])

    homes = list(product(range(1, WAREHOUSES + 1), range(1, DISTRICTS + 1)))
    people = [(number, district, home) for home, district in homes for number in range(1, CUSTOMERS + 1)]
    items = range(1, ITEMS + 1)
    table(
        "warehouse",
        "w_id w_name w_city w_zip w_ytd",
        [
            (home, word(6, 10), word(10, 20), f"{dice.randint(0, 9999):04}11111", 300_000)
            for home in {w for w, _ in homes}
        ],
    )
    table(
        "district",
        "d_id d_w_id d_name d_city d_tax d_next_o_id",
        [(number, home, word(6, 10), word(10, 20), dice.randint(0, 20) / 100, CUSTOMERS + 1) for home, number in homes],
    )
    table(
        "item",
        "i_id i_im_id i_name i_price",
        [(item, dice.randint(1, 10_000), word(14, 24), dice.randint(100, 10_000) / 100) for item in items],
    )
    table(
        "stock",
        "s_i_id s_w_id s_quantity s_dist_01 s_ytd s_data",
        [(i, w, dice.randint(10, 100), word(24, 24), 0, word(26, 50)) for w in range(1, WAREHOUSES + 1) for i in items],
    )
    table(
        "customer",
        "c_id c_d_id c_w_id c_first c_middle c_last c_phone c_since c_discount c_balance c_payment_cnt",
        [
            (
                *one,
                word(8, 16),
                "OE",
                word(6, 12),
                dice.randint(10**9, 10**10),
                day(),
                dice.randint(0, 50) / 100,
                -10,
                1,
            )
            for one in people
        ],
    )
    paid = [dice.choice(homes) if dice.random() < REMOTE else (home, district) for _, district, home in people]
    table(
        "history",
        "h_c_id h_c_d_id h_c_w_id h_d_id h_w_id h_date h_amount",
        [(*one, district, home, day(), 10) for one, (home, district) in zip(people, paid, strict=True)],
    )
    orders: list[tuple[object, ...]] = []
    pending: list[tuple[object, ...]] = []
    lines: list[tuple[object, ...]] = []
    for home, district in homes:
        for order, customer in enumerate(dice.sample(range(1, CUSTOMERS + 1), CUSTOMERS), start=1):
            count, place = dice.randint(5, 15), (order, district, home)
            is_delivered = order <= DELIVERED * CUSTOMERS
            orders.append((*place, customer, day(), dice.randint(1, 10) if is_delivered else "", count, 1))
            pending += [] if is_delivered else [place]
            for number in range(1, count + 1):
                supplier = dice.randint(1, WAREHOUSES) if dice.random() < REMOTE_LINES else home
                lines.append((*place, number, dice.choice(items), supplier, 5, dice.randint(1, 999_999) / 100))
    table("orders", "o_id o_d_id o_w_id o_c_id o_entry_d o_carrier_id o_ol_cnt o_all_local", orders)
    table("new_order", "no_o_id no_d_id no_w_id", pending)
    header = "ol_o_id ol_d_id ol_w_id ol_number ol_i_id ol_supply_w_id ol_quantity ol_amount"
    table("order_line", header, lines)
