"""What a run says of a table that is not what a full build gives."""

from __future__ import annotations

from tidegate.runs.build.verify import Verified


def test_at_most_three_rows_of_each_side_are_shown() -> None:
    found = Verified(False, 9, 6, 5, 1, tuple({"id": n} for n in range(5)), ({"id": 9},))
    assert found.message == (
        "verification failed: "
        'built from changes it has 5 rows that the other has not, such as {"id": 0}, {"id": 1}, {"id": 2}; '
        'built from all rows it has 1 row that the other has not, such as {"id": 9}; '
        "the full build was taken"
    )
