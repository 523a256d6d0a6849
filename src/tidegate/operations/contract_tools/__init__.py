"""What commands and routes do with contracts besides building their tables: validate, scaffold, describe."""
