"""What a model's table promises to those who read it, from the contract file beside the model."""

from tidegate.contracts.model_contract import ColumnRule, Fact, ModelContract
from tidegate.contracts.read import read_contract
from tidegate.contracts.type_rules import TypeRule

__all__ = ["ColumnRule", "Fact", "ModelContract", "TypeRule", "read_contract"]
