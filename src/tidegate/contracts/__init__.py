"""What a model's table promises to those who read it, from the contract file beside the model."""

from tidegate.contracts.contract_files import read_contract
from tidegate.contracts.model_contract import ColumnRule, ContractTerm, ModelContract, TypeRule

__all__ = ["ColumnRule", "ContractTerm", "ModelContract", "TypeRule", "read_contract"]
