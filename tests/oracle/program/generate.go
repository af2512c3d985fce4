package main

import (
	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/config/configloader"
	"github.com/siderolabs/talos/pkg/machinery/config/generate"
	"github.com/siderolabs/talos/pkg/machinery/config/generate/secrets"
	"github.com/siderolabs/talos/pkg/machinery/config/machine"
)

type generateRequest struct {
	Cluster    string `json:"cluster"`
	Endpoint   string `json:"endpoint"`
	Kubernetes string `json:"kubernetes"`
	Contract   string `json:"contract"`
	Bundle     string `json:"bundle"`

	InstallDisk     string              `json:"install_disk"`
	InstallImage    string              `json:"install_image"`
	SANs            []string            `json:"sans"`
	DNSDomain       string              `json:"dns_domain"`
	PodSubnets      []string            `json:"pod_subnets"`
	ServiceSubnets  []string            `json:"service_subnets"`
	AllowScheduling bool                `json:"allow_scheduling"`
	Mirrors         map[string][]string `json:"mirrors"`
}

// generateConfigs is `talosctl gen config --with-secrets`: the documents of either machine type.
func generateConfigs(request generateRequest) (any, error) {
	contract, err := config.ParseContractFromVersion(request.Contract)
	if err != nil {
		return nil, err
	}

	bundle, err := readBundle(request.Bundle)
	if err != nil {
		return nil, err
	}

	options := append(
		optionsOf(request),
		generate.WithVersionContract(contract),
		generate.WithSecretsBundle(bundle),
	)

	input, err := generate.NewInput(request.Cluster, request.Endpoint, request.Kubernetes, options...)
	if err != nil {
		return nil, err
	}

	if len(request.PodSubnets) > 0 {
		input.PodNet = request.PodSubnets
	}

	if len(request.ServiceSubnets) > 0 {
		input.ServiceNet = request.ServiceSubnets
	}

	return bothConfigs(input)
}

func optionsOf(request generateRequest) []generate.Option {
	options := []generate.Option{
		generate.WithInstallDisk(request.InstallDisk),
		generate.WithInstallImage(request.InstallImage),
		generate.WithAdditionalSubjectAltNames(request.SANs),
		generate.WithAllowSchedulingOnControlPlanes(request.AllowScheduling),
	}

	if request.DNSDomain != "" {
		options = append(options, generate.WithDNSDomain(request.DNSDomain))
	}

	for host, endpoints := range request.Mirrors {
		options = append(options, generate.WithRegistryMirror(host, endpoints...))
	}

	return options
}

func bothConfigs(input *generate.Input) (any, error) {
	configs := map[string][]any{}

	for _, kind := range []machine.Type{machine.TypeControlPlane, machine.TypeWorker} {
		provider, err := input.Config(kind)
		if err != nil {
			return nil, err
		}

		configs[kind.String()], err = written(provider)
		if err != nil {
			return nil, err
		}
	}

	return configs, nil
}

// bundleFromConfig is `talosctl gen secrets --from-controlplane-config`.
func bundleFromConfig(request configRequest) (any, error) {
	provider, err := configloader.NewFromBytes([]byte(request.Config))
	if err != nil {
		return nil, err
	}

	// 1.14 may refuse.
	switch from := any(secrets.NewBundleFromConfig).(type) {
	case func(secrets.Clock, config.Config) *secrets.Bundle:
		return bundleText(from(secrets.NewClock(), provider))
	case func(secrets.Clock, config.Config) (*secrets.Bundle, error):
		bundle, err := from(secrets.NewClock(), provider)
		if err != nil {
			return nil, err
		}

		return bundleText(bundle)
	}

	panic("the library takes bundles from configs in a way not known here")
}
