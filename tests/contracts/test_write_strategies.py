"""The words of contracts for write strategies, and the strategies themselves, agree."""

from __future__ import annotations

from tidegate.contracts.ingestion import WRITE_STRATEGIES, default_strategy
from tidegate.project.strategies import CONTRACT_STRATEGIES, STRATEGIES


def test_every_word_of_contracts_is_a_strategy_with_the_same_traits() -> None:
    assert CONTRACT_STRATEGIES.keys() == WRITE_STRATEGIES.keys()
    for word, strategy in CONTRACT_STRATEGIES.items():
        assert STRATEGIES[strategy].keeps_versions == WRITE_STRATEGIES[word].keeps_versions
        assert STRATEGIES[strategy].replaces_partitions == WRITE_STRATEGIES[word].by_partition


def test_the_default_fits_the_key() -> None:
    assert WRITE_STRATEGIES[default_strategy(has_key=True)].needs_key
    assert not WRITE_STRATEGIES[default_strategy(has_key=False)].needs_key
