"""The keys that the Open Data Contract Standard has, up to version 3.2, where a contract is looked at."""

from __future__ import annotations

__all__ = ["CONTRACT_KEYS", "OBJECT_KEYS", "PROPERTY_KEYS"]

CONTRACT_KEYS = frozenset(
    {
        "version",
        "kind",
        "apiVersion",
        "id",
        "name",
        "tenant",
        "tags",
        "status",
        "servers",
        "dataProduct",
        "description",
        "domain",
        "context",
        "schema",
        "support",
        "price",
        "team",
        "roles",
        "slaDefaultElement",
        "slaProperties",
        "authoritativeDefinitions",
        "customProperties",
        "contractCreatedTs",
    }
)

_ELEMENT_KEYS = frozenset(
    {
        "id",
        "name",
        "physicalType",
        "physicalName",
        "logicalType",
        "description",
        "businessName",
        "deprecated",
        "synonyms",
        "authoritativeDefinitions",
        "tags",
        "customProperties",
        "relationships",
        "quality",
        "properties",
    }
)

OBJECT_KEYS = _ELEMENT_KEYS | {"dataGranularityDescription", "context"}

PROPERTY_KEYS = _ELEMENT_KEYS | {
    "primaryKey",
    "primaryKeyPosition",
    "logicalTypeOptions",
    "required",
    "unique",
    "semanticType",
    "partitioned",
    "partitionKeyPosition",
    "classification",
    "encryptedName",
    "transformSourceObjects",
    "transformLogic",
    "transformDescription",
    "examples",
    "enum",
    "criticalDataElement",
    "items",
    "map",
}
