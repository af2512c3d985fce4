package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"go.yaml.in/yaml/v4"

	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/config/configloader"
	"github.com/siderolabs/talos/pkg/machinery/config/configpatcher"
	"github.com/siderolabs/talos/pkg/machinery/config/encoder"
	"github.com/siderolabs/talos/pkg/machinery/config/validation"
)

// runtimeMode is where a config is meant to run: metal, cloud or container.
type runtimeMode string

func (mode runtimeMode) String() string        { return string(mode) }
func (mode runtimeMode) RequiresInstall() bool { return mode == "metal" }
func (mode runtimeMode) InContainer() bool     { return mode == "container" }

type verdict struct {
	Warnings []string `json:"warnings"`
	Error    string   `json:"error"`
}

type validateRequest struct {
	Config string        `json:"config"`
	Modes  []runtimeMode `json:"modes"`
}

// validate loads the config and judges it as `talosctl validate --strict` does, once per mode.
func validate(request validateRequest) (any, error) {
	provider, err := configloader.NewFromBytes([]byte(request.Config))
	if err != nil {
		return nil, err
	}

	verdicts := map[runtimeMode]verdict{}

	for _, mode := range request.Modes {
		warnings, err := strictly(provider, mode)
		found := verdict{Warnings: warnings}

		if err != nil {
			found.Error = err.Error()
		}

		verdicts[mode] = found
	}

	return verdicts, nil
}

// strictly calls what talosctl calls; 1.14 has renamed it.
func strictly(provider config.Provider, mode runtimeMode) ([]string, error) {
	options := []validation.Option{validation.WithLocal(), validation.WithStrict()}

	switch judge := any(provider).(type) {
	case interface {
		ValidateAsClient(validation.RuntimeMode, ...validation.Option) ([]string, error)
	}:
		return judge.ValidateAsClient(mode, options...)
	case interface {
		Validate(validation.RuntimeMode, ...validation.Option) ([]string, error)
	}:
		return judge.Validate(mode, options...)
	}

	panic(fmt.Sprintf("%T cannot be validated", provider))
}

type configRequest struct {
	Config string `json:"config"`
}

// normalize gives the documents as the library understands and writes them.
func normalize(request configRequest) (any, error) {
	provider, err := configloader.NewFromBytes([]byte(request.Config))
	if err != nil {
		return nil, err
	}

	return written(provider)
}

// written are the documents of a config as plain data.
func written(provider config.Provider) ([]any, error) {
	// A config that was only read gives its own text back; a clone is written anew.
	text, err := provider.Clone().EncodeBytes(encoder.WithComments(encoder.CommentsDisabled))
	if err != nil {
		return nil, err
	}

	return plain(text)
}

func plain(text []byte) ([]any, error) {
	documents := []any{}
	decoder := yaml.NewDecoder(bytes.NewReader(text))

	for {
		var document any

		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			return documents, nil
		}

		if err != nil {
			return nil, err
		}

		documents = append(documents, document)
	}
}

type patchRequest struct {
	Config  string   `json:"config"`
	Patches []string `json:"patches"`
}

// patch applies patches as talosctl does and gives the documents of the result.
func patch(request patchRequest) (any, error) {
	provider, err := configloader.NewFromBytes([]byte(request.Config))
	if err != nil {
		panic(fmt.Sprintf("the config to be patched is not readable: %v", err))
	}

	patches := make([]configpatcher.Patch, 0, len(request.Patches))

	for _, text := range request.Patches {
		loaded, err := configpatcher.LoadPatch([]byte(text))
		if err != nil {
			return nil, err
		}

		patches = append(patches, loaded)
	}

	patched, err := configpatcher.Apply(configpatcher.WithConfig(provider), patches)
	if err != nil {
		return nil, err
	}

	result, err := patched.Config()
	if err != nil {
		return nil, err
	}

	// A deletion of a document that is not there stays behind, as a document that nobody can read.
	for _, document := range result.Documents() {
		if _, ok := document.(configloader.Selector); ok {
			return nil, fmt.Errorf("nothing to delete: %v", document)
		}
	}

	return written(result)
}
