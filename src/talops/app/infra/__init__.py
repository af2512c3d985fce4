"""`talops infra`: the layers one by one, through OpenTofu or Terraform."""
