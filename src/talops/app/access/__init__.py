"""Who may reach the cluster: certificates, tokens, and the files that carry them."""
