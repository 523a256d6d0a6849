"""What a table promises to those who read it, and what drives data from a source to it.

`read_contract` reads the contract beside a model. `OpenDataContractStandard` is an ODCS file as a Python object that
can be validated for each stage; it is imported only when it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tidegate.contracts.contract_files import read_contract
from tidegate.contracts.model_contract import ColumnRule, ContractTerm, ModelContract, RowRules, TypeRule
from tidegate.errors import ContractValidationError

if TYPE_CHECKING:
    from tidegate.contracts.open_data_contract import OpenDataContractStandard

__all__ = [
    "ColumnRule",
    "ContractTerm",
    "ContractValidationError",
    "ModelContract",
    "OpenDataContractStandard",
    "RowRules",
    "TypeRule",
    "read_contract",
]


def __getattr__(name: str) -> Any:
    if name != "OpenDataContractStandard":
        raise AttributeError(f"module 'tidegate.contracts' has no attribute '{name}'")
    from tidegate.contracts.open_data_contract import OpenDataContractStandard

    return OpenDataContractStandard
