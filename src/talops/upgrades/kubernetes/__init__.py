"""One upgrade of Kubernetes: component by component, node by node, kubelets last."""
