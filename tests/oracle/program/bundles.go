package main

import (
	"fmt"
	"os"
	"path/filepath"

	"go.yaml.in/yaml/v4"

	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/config/generate/secrets"
)

type contractRequest struct {
	Contract string `json:"contract"`
}

// newBundle is `talosctl gen secrets`: the text of a new secrets.yaml.
func newBundle(request contractRequest) (any, error) {
	contract, err := config.ParseContractFromVersion(request.Contract)
	if err != nil {
		return nil, err
	}

	bundle, err := secrets.NewBundle(secrets.NewClock(), contract)
	if err != nil {
		return nil, err
	}

	return bundleText(bundle)
}

func bundleText(bundle *secrets.Bundle) (any, error) {
	text, err := yaml.Marshal(bundle)

	return string(text), err
}

type bundleRequest struct {
	Contract string `json:"contract"`
	Bundle   string `json:"bundle"`
}

// loadBundle reads and validates somebody's secrets.yaml and writes it anew.
func loadBundle(request bundleRequest) (any, error) {
	contract, err := config.ParseContractFromVersion(request.Contract)
	if err != nil {
		return nil, err
	}

	bundle, err := readBundle(request.Bundle)
	if err != nil {
		return nil, err
	}

	if err = validBundle(bundle, contract); err != nil {
		return nil, err
	}

	return bundleText(bundle)
}

// readBundle takes the way of talosctl, which reads bundles from files only.
func readBundle(text string) (*secrets.Bundle, error) {
	folder, err := os.MkdirTemp("", "talos-oracle-")
	if err != nil {
		return nil, err
	}

	defer os.RemoveAll(folder) //nolint:errcheck

	path := filepath.Join(folder, "secrets.yaml")

	if err = os.WriteFile(path, []byte(text), 0o600); err != nil {
		return nil, err
	}

	return secrets.LoadBundle(path)
}

// validBundle lets the library judge; since 1.14 it wants to know the contract.
func validBundle(bundle *secrets.Bundle, contract *config.VersionContract) error {
	switch judge := any(bundle).(type) {
	case interface{ Validate() error }:
		return judge.Validate()
	case interface {
		Validate(*config.VersionContract) error
	}:
		return judge.Validate(contract)
	}

	panic(fmt.Sprintf("%T cannot be validated", bundle))
}
